import type { HealthChange } from '../balance/health-types.js';
import type { SessionStats } from '../balance/sessions.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { ThrottleLimits } from '../policy/throttle.js';
import type { AttemptCause, CommitCause, Placement } from '../policy/types.js';
import type { BackendChange } from '../upstream/types.js';
import type { LiveNumbers } from './live-numbers.js';
import type { LossRecord } from './losses.js';

/** A method among those that are counted by name; 0: all others. Opaque: from `Meters.method`. */
export type MethodIndex = number;

/** What sent a hedge on its way: its delay, a non-fatal failure (A6, Hedging), or the end of a pushback. */
export const hedgeTriggers = ['delay', 'nonfatal', 'pushback'] as const;
export type HedgeTrigger = (typeof hedgeTriggers)[number];

/** Why a client, or what it asked, was turned away before a call began: the limits of design §5, each a label's value. */
export const clientRefusals = [
  'max_connections',
  'max_total_streams',
  'not_http2',
  'silent',
  'tls',
  'protocol_error',
  'flood',
  'memory',
] as const;
export type ClientRefusal = (typeof clientRefusals)[number];

/** What is read again while the proxy runs, and what came of it. */
export const reloadedThings = ['service_config', 'endpoints', 'client_tls', 'backend_tls'] as const;
export type ReloadedThing = (typeof reloadedThings)[number];
export const reloadOutcomes = ['applied', 'unchanged', 'rejected'] as const;
export type ReloadOutcome = (typeof reloadOutcomes)[number];

/** What a look-up of a backend's name came to: other members, the same ones, or none. */
export const resolutionOutcomes = ['changed', 'unchanged', 'failed'] as const;
export type ResolutionOutcome = (typeof resolutionOutcomes)[number];

/** How a backend is in one word (D23). */
export const backendStates = ['ready', 'connecting', 'parked', 'rate_limited', 'draining', 'down'] as const;
export type MeteredState = (typeof backendStates)[number];

/** An attempt that is over, as it is counted. Times are clock milliseconds. */
export interface MeteredAttempt {
  readonly cause: AttemptCause;
  /** See story.ts: policy attempts before it. */
  readonly previous: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The configured name; null where it came to none. */
  readonly backend: { readonly id: BackendId; readonly name: string } | null;
  /** Null: ended by us. */
  readonly end: AttemptEnd | null;
  /** Ended by us because the call's deadline had passed. */
  readonly expired: boolean;
  /** Null: no hedge of its own. */
  readonly trigger: HedgeTrigger | null;
  /** Bytes of its messages without their prefixes (A66: compressed, no framing). */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** A call that is over, as it is counted. */
export interface MeteredCall {
  readonly method: MethodIndex;
  readonly request: { readonly path: string };
  /** A retry or hedging policy was in force. */
  readonly guarded: boolean;
  readonly startedAt: number;
  readonly attempts: readonly MeteredAttempt[];
  readonly winner: MeteredAttempt | null;
  readonly placement: Placement;
  readonly seat: { readonly backend: BackendId | null } | null;
  /** Bytes; the most that was kept of its request. */
  readonly relay: { readonly peakHeld: number };
}

/** What is read off the program when somebody asks for the metrics. Bytes, counts and milliseconds. */
export interface Readings {
  /** Clock milliseconds. */
  readonly now: number;
  readonly callsInFlight: number;
  readonly clientConnections: number;
  readonly replayHeld: number;
  readonly replayPeak: number;
  readonly relayWaiting: number;
  readonly relayExceeded: number;
  /** Null where nothing throttles. */
  readonly throttle: { readonly milliTokens: number; readonly limits: ThrottleLimits } | null;
  readonly sessions: Pick<SessionStats, 'size' | 'outcomes'>;
  readonly draining: boolean;
  readonly backends: readonly BackendReading[];
  readonly wire: { readonly client: WireReading; readonly backend: WireReading };
}

/** What all connections of one side have read and written. */
export interface WireReading {
  readonly received: DirectionReading;
  readonly sent: DirectionReading;
}

export interface DirectionReading {
  readonly bytes: number;
  /** By type. */
  readonly frames: Readonly<Record<string, number>>;
}

export interface BackendReading {
  /** The configured name, which members of a group share. */
  readonly name: string;
  readonly state: MeteredState;
  readonly inFlight: number;
  readonly queued: number;
  readonly connections: number;
}

/**
 * Counts what happens to calls (A66, A96, D23). Owned by the proxy, implemented by telemetry. The first five are on the hot
 * path: they add to plain numbers. None throws, none keeps what it is given.
 */
export interface Meters {
  /** @param named the config names this very method, so that its name is no client's text */
  method(path: string, named: boolean): MethodIndex;
  attemptStarted(method: MethodIndex): void;
  /** Once for each attempt that started, cancelled ones too. @param path of its call */
  attemptEnded(method: MethodIndex, path: string, attempt: MeteredAttempt): void;
  /** @param now clock milliseconds */
  callEnded(call: MeteredCall, code: StatusCode, reason: StopReason, now: number): void;
  committed(cause: CommitCause): void;
  /** A request that was answered by us before a call began. */
  callRefused(code: StatusCode, reason: StopReason): void;
  /** The token bucket held a call's next attempt back; once a call. */
  throttled(): void;
  clientConnected(): void;
  clientRefused(kind: ClientRefusal): void;
  backendChanged(change: BackendChange): void;
  /** @param now clock milliseconds */
  healthChanged(change: HealthChange, now: number): void;
  lost(loss: LossRecord): void;
  resolved(outcome: ResolutionOutcome): void;
  reloaded(what: ReloadedThing, outcome: ReloadOutcome): void;
  /** Totals of calls, for the live pages. */
  live(): LiveNumbers;
  /**
   * Prometheus text in pieces, each made when it is asked for; some are empty. Each is a few milliseconds' work, and the
   * event loop may turn between two.
   */
  render(readings: Readings): Iterable<string>;
}
