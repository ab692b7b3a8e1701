import type { BackendId } from '../grpc/backend-id.js';
import type { Verdict } from './blame.js';
import type { HealthView, Standing } from './types.js';

/** D20. Durations and ages in milliseconds; a window or park that began at t is over at t + its length exactly. */
export interface HealthSettings {
  /** Hard failures in a row from which a backend is breached, and may be parked. */
  readonly hardFailures: number;
  /** Without a success for so long it is parked whatever its failure rate. */
  readonly aliveWindow: number;
  /** Weight of one end in the failure rate. */
  readonly rateAlpha: number;
  /** The failure rate from which it is parked although it answered within the alive window. */
  readonly rateFloor: number;
  /** Each park without a success since the last is twice as long, up to the maximum. */
  readonly parkFirst: number;
  readonly parkMax: number;
  /** How long a failure steers retries and hedges away; how long a breach lasts after its last failure. */
  readonly recentWindow: number;
  /** How long a lapsed backend waits for a call with a policy as its probe. */
  readonly probeGrace: number;
  /** A probe that is under way for so long, as a stream may be, makes room for another. */
  readonly probeTimeout: number;
  /** Rate limits (`--health-rate-limit`) without a delay of the server's: doubled up to the cap, which holds for the server's too. */
  readonly limitFirst: number;
  readonly limitMax: number;
  /** Without a rate limit for so long the next one is a first one. */
  readonly limitForget: number;
  readonly latencyAlpha: number;
  /** Samples from which the average counts; before, the prior does. */
  readonly latencySamples: number;
  readonly latencyPrior: number;
  /** An average whose last sample is so old is thrown away. */
  readonly latencyMaxAge: number;
  /** A failure other than by deadline is a sample of latency from here on: an instant refusal says nothing about speed. */
  readonly latencySlowFailure: number;
}

export const defaultHealth: HealthSettings = {
  hardFailures: 3,
  aliveWindow: 60_000,
  rateAlpha: 0.1,
  rateFloor: 0.5,
  parkFirst: 30_000,
  parkMax: 120_000,
  recentWindow: 30_000,
  probeGrace: 30_000,
  probeTimeout: 30_000,
  limitFirst: 10_000,
  limitMax: 60_000,
  limitForget: 120_000,
  latencyAlpha: 0.3,
  latencySamples: 3,
  latencyPrior: 1000,
  latencyMaxAge: 300_000,
  latencySlowFailure: 2000,
};

/** Why a backend is parked: a closed set, and a metric's label. */
export type ParkReason = 'consecutive_failures' | 'rate_limited' | 'operator' | 'not_serving';

/** What ended a park before its time, or the lapsed one: a closed set, and a metric's label. */
export type ReleaseRoute =
  /** An answer to a call that was no probe. */
  | 'success'
  | 'lapsed_probe'
  /** A new connection, where all failures had been of the transport (D8). */
  | 'connected'
  /** Its health check says SERVING. */
  | 'serving'
  | 'operator'
  /** It left the set of backends. */
  | 'removed';

/** For the log and the metrics. A park that lapses is no change: its probe decides. */
export type HealthChange =
  | {
      readonly kind: 'parked';
      readonly id: BackendId;
      readonly reason: ParkReason;
      /** From now; null: until it is released. */
      readonly parkMs: number | null;
      /** As the how many-th without a success between, from 1; of a park by hand or by a health check 0. */
      readonly streak: number;
      /** Hard failures in a row. */
      readonly failures: number;
      /** All of those were of the transport: a new connection ends a park that they are the reason of (D8). */
      readonly transport: boolean;
    }
  | {
      readonly kind: 'released';
      readonly id: BackendId;
      readonly reason: ParkReason;
      readonly route: ReleaseRoute;
      /** What was left of the park, 0 for one that had lapsed; null: it had no end. */
      readonly parkMs: number | null;
    };

/** What `/backends` tells (E17). Its names are the endpoint's. */
export interface HealthStats {
  readonly calls: number;
  readonly successes: number;
  readonly failures: number;
  readonly timeouts: number;
  readonly rate_limited: number;
  /** 0 to 1, three decimals. */
  readonly failure_rate: number;
  /** Of any kind, rate limits too. */
  readonly consecutive_failures: number;
  readonly consecutive_hard_failures: number;
  /** D33. */
  readonly threshold_breached: boolean;
  /** 0: not parked; null: until it is released. Rate limits are told apart. */
  readonly parked_for_ms: number | null;
  readonly park_reason: ParkReason | null;
  readonly park_streak: number;
  readonly rate_limited_for_ms: number;
  readonly recent_failure: boolean;
  readonly standing: Standing;
  /** One decimal; null while there is no sample that is not too old. */
  readonly ewma_ms: number | null;
  readonly samples: number;
}

/** What an attempt was to its backend when it began; opaque. */
export type Mark = number;

/** One backend's health. The proxy keeps it for an attempt's life, past the backend's own removal too. */
export interface BackendHealth {
  /**
   * An attempt's HEADERS are handed over; on a lapsed backend without a probe this attempt is the probe.
   *
   * @param now clock milliseconds, as everywhere here
   */
  began(now: number): Mark;
  /**
   * Response headers have come. Only a probe's mean something: they end the park, since a stream may go on for hours. Its
   * backend stays one failure short of the next park until something ends well.
   */
  answered(mark: Mark, now: number): HealthChange | null;
  /**
   * An attempt that began is over; once for each.
   *
   * @param silentMs from HEADERS handed over to response headers, else to the end
   */
  ended(mark: Mark, verdict: Verdict, now: number, silentMs: number): HealthChange | null;
  /** A new connection has completed its SETTINGS exchange: ends a park whose failures were all of the transport (D8). */
  connected(now: number): HealthChange | null;
  /** No connection is up. Told as often as one likes. @param since clock milliseconds, at most `now` */
  disconnected(since: number, now: number): void;
  /**
   * Since when it is parked or without a connection, without a break between one and the other (D15); parks by failures with
   * no answer between are one. Null: it is of use, or its park has lapsed.
   */
  absentSince(now: number): number | null;
  /**
   * Another worker has parked this backend or released it (D31). A park holds here for the same time and as the same one in its
   * row; it shortens none, and failures of attempts that began before it make none longer. A release ends the park here too.
   * Each worker sends a probe of its own once the park has lapsed here.
   *
   * @param change one that is `sharedWithWorkers`; another one changes nothing
   * @returns what it changed here: for this worker's log alone. It is told to nobody and counted by nobody a second time
   */
  heard(change: HealthChange, now: number): HealthChange | null;
  /** A health check says so: not serving parks until it says otherwise; serving ends a park by failures too (D8). */
  checked(serving: boolean, now: number): HealthChange | null;
  /** Whoever said that it does not serve is asked no more: ends that park alone. */
  unchecked(): HealthChange | null;
  /** Parks by hand: it ends by `unpark` or its time alone. @param ms null: without an end */
  park(ms: number | null, now: number): HealthChange;
  /** Ends every park there is, whatever its reason. Null: there was none. */
  unpark(now: number): HealthChange | null;
  standing(now: number): Standing;
  /** The average time to response headers where it can be trusted, else the prior. Milliseconds. */
  latency(now: number): number;
  stats(now: number): HealthStats;
}

/** The health of all backends (D20, D21, D32, D33). */
export interface Health extends HealthView {
  /** Made when first asked for. */
  of(id: BackendId): BackendHealth;
  /** See BackendHealth.absentSince. */
  absentSince(id: BackendId, now: number): number | null;
  /** A backend left the set for good: its attempts may end still, and count for nobody. */
  forget(id: BackendId, now: number): HealthChange | null;
}
