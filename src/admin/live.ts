import type { StopReason } from '../grpc/stop-reason.js';
import type { CallDescription } from '../proxy/call-description.js';
import type { BackendRow } from './backend-state.js';

/*
 * What the dashboard and `hedgerow top` are fed with. Counts and histograms are totals since the start: whoever reads them
 * takes differences over a span of its own, and begins anew when `instance` changes.
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

/** The token bucket (A6, Throttling). Tokens, to a thousandth. */
export interface LiveThrottle {
  readonly tokens: number;
  readonly max_tokens: number;
  /** At or below it nothing is retried: half of `max_tokens`. */
  readonly threshold: number;
  readonly token_ratio: number;
  /** Nothing is retried just now. */
  readonly shut: boolean;
  /** Calls whose next attempt was held back, since the start. */
  readonly suppressed: number;
}

/** How things are, at one moment. Field names are stable. */
export interface LiveSnapshot {
  /** Differs from one run of the program to the next. */
  readonly instance: string;
  readonly version: string;
  /** Wall clock (ms since 1970), and how long the program has run (ms). */
  readonly at: number;
  readonly uptime_ms: number;
  readonly draining: boolean;
  /** As `/readyz` has it. */
  readonly ready: boolean;
  readonly config: { readonly path: string | null; readonly version: string; readonly rejected: boolean };
  readonly in_flight: number;
  readonly clients: number;
  readonly calls: LiveCalls;
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
  /** Null: no retryThrottling is configured. */
  readonly throttle: LiveThrottle | null;
  readonly replay: { readonly held: number; readonly limit: number };
  readonly backends: readonly BackendRow[];
  /** Those with most calls first, at most 50. */
  readonly methods: readonly LiveMethod[];
}

/** A call of the ring of `/calls`, newest first there. */
export interface RecentCall extends CallDescription {
  /** Counts up by one with each call that is kept; begins anew with `instance`. */
  readonly seq: number;
  /** Wall clock at the call's start (ms since 1970). */
  readonly started: number;
  /** Attempts between those that are told: at most 32 are. Absent: all are told. */
  readonly attempts_left_out?: number | undefined;
  /** Why it ended so, in words (grpc/reason-words.ts), and what to do about it; null: nothing is wrong. */
  readonly why: string;
  readonly remedy: string | null;
  /** Where docs/troubleshooting.md says more, as a path of the admin listener: `/troubleshooting#throttled`. */
  readonly help: string;
}
