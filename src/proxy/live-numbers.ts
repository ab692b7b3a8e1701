import type { StopReason } from '../grpc/stop-reason.js';

/*
 * What the meters have counted, as the live pages take it: totals since the start. Field names are those of the JSON that is
 * told (admin/live.ts).
 */

/** Buckets of time. */
export interface LiveHistogram {
  /** Upper bounds (ms), ascending; one bucket more, without a bound, follows. */
  readonly bounds_ms: readonly number[];
  /** How many fell into each bucket; one longer than `bounds_ms`. */
  readonly counts: readonly number[];
}

/** Calls of one method, or of all. */
export interface LiveCalls {
  readonly ended: number;
  readonly ok: number;
  /** Calls that their client gave up: they judge nobody. */
  readonly cancelled: number;
  /** Calls that ended OK and would have failed without their policy: the first attempt failed, a later one answered. */
  readonly saved: number;
  /** Calls with a retry among their attempts. */
  readonly retried: number;
  /** Calls with a hedge among their attempts, and those that a hedge answered. */
  readonly hedged: number;
  readonly hedges_won: number;
}

export interface LiveMethod extends LiveCalls {
  /** As in the metrics; `other` for those that are not counted by name. */
  readonly method: string;
}

export interface LiveNumbers {
  /** The program's; empty: unknown. */
  readonly version: string;
  readonly calls: LiveCalls;
  /** By the name of the status that they ended with, as in the metrics; those that are zero are absent. */
  readonly codes: Readonly<Partial<Record<string, number>>>;
  /** By stop reason; those that are zero are absent. */
  readonly reasons: Readonly<Partial<Record<StopReason, number>>>;
  /** How many calls took one attempt, two, …; the last is for that many or more. */
  readonly attempts: readonly number[];
  readonly latency: {
    /** Of calls, as their clients felt it. */
    readonly calls: LiveHistogram;
    /**
     * Of the first attempts of hedged calls: those that ran to their end, and those that were cut when a hedge had answered.
     * From both together follows how long calls would have taken without hedges (Kaplan and Meier's estimator).
     */
    readonly first_ended: LiveHistogram;
    readonly first_cut: LiveHistogram;
  };
  /** Those with most calls first. */
  readonly methods: readonly LiveMethod[];
}
