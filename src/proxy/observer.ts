import type { Pushback } from '../grpc/attempt-facts.js';
import type { BackendId, TargetName } from '../grpc/backend-id.js';
import type { StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { AttemptCause, CommitCause } from '../policy/types.js';
import type { HedgeTrigger } from './meters.js';

/** One attempt of a call that has ended. Times are clock milliseconds. */
export interface AttemptRecord {
  /** Null where no backend was reached. */
  readonly backend: BackendId | null;
  readonly cause: AttemptCause;
  readonly startedAt: number;
  /** When its HEADERS were handed to the wire; null: they never were. */
  readonly sentAt: number | null;
  readonly endedAt: number;
  /** grpc-previous-rpc-attempts of our own counting. */
  readonly previous: number;
  /** Null: no hedge. */
  readonly trigger: HedgeTrigger | null;
  /** What its end said of a further attempt. */
  readonly pushback: Pushback;
  /** Its end is what the client was told. */
  readonly told: boolean;
  /** `cancelled`: ended by us; `lost`: its connection went; otherwise what its status says. */
  readonly result: 'ok' | 'failed' | 'lost' | 'cancelled' | 'unplaced';
  readonly code: StatusCode;
  /** Percent-decoded grpc-message, for people. */
  readonly message: string;
}

/** One call that has ended: what the log, the metrics, the dashboard and the demo are made of. */
export interface CallRecord {
  readonly id: string;
  /** `:path`, as the client sent it. */
  readonly method: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly code: StatusCode;
  readonly message: string;
  readonly reason: StopReason;
  readonly origin: 'backend' | 'proxy';
  /** `no`: no attempt can have reached application code. */
  readonly processed: 'no' | 'unknown';
  /** The backend that the client named, and whether that binds every attempt; null where it named none. */
  readonly pin: { readonly target: TargetName; readonly strict: boolean } | null;
  /** The key of the call's session, a hash of its id (D31); null where it is of none. */
  readonly session: string | null;
  readonly attempts: readonly AttemptRecord[];
  /** Policy attempts beyond the first, hedges included. */
  readonly retries: number;
  readonly commit: CommitCause | null;
  /** Bytes; the most that the replay buffer held for this call. */
  readonly replayPeak: number;
  readonly deadlineAt: number | null;
}

/** Implemented by telemetry, the demo and tests; called once per call, at its end, in its turn. */
export interface CallObserver {
  /**
   * Whether a call that ended so is worth a record: most are not, and a record costs more than the rest of an end. Changes
   * nothing.
   *
   * @param now when it ended (clock ms)
   */
  wants(code: StatusCode, attempts: number, now: number): boolean;
  onCallEnded(record: CallRecord): void;
}
