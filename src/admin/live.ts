import type { CallDescription } from '../proxy/call-description.js';
import type { LiveNumbers } from '../proxy/live-numbers.js';
import type { BackendRow } from './backend-state.js';

/*
 * What the dashboard and `hedgerow top` are fed with. Counts and histograms are totals since the start: whoever reads them
 * takes differences over a span of its own, and begins anew when `instance` changes.
 */

export type { LiveCalls, LiveHistogram } from '../proxy/live-numbers.js';

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

/** How things are, at one moment. Field names are stable. Of its methods there are 50 at most. */
export interface LiveSnapshot extends LiveNumbers {
  /** Differs from one run of the program to the next. */
  readonly instance: string;
  /** Wall clock (ms since 1970), and how long the program has run (ms). */
  readonly at: number;
  readonly uptime_ms: number;
  readonly draining: boolean;
  /** The drain is over: the program stays until a signal ends it. */
  readonly drained: boolean;
  /** As `/readyz` has it. */
  readonly ready: boolean;
  readonly config: { readonly path: string | null; readonly version: string; readonly rejected: boolean };
  readonly in_flight: number;
  readonly clients: number;
  /** Null: no retryThrottling is configured. */
  readonly throttle: LiveThrottle | null;
  readonly replay: { readonly held: number; readonly limit: number };
  readonly backends: readonly BackendRow[];
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
