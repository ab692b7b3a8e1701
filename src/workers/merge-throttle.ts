import type { LiveThrottle } from '../admin/live.js';
import { round, sumOf } from './merge-counts.js';

/** The body of `/throttle` with workers. */
export interface ThrottleBody {
  /** Over all workers; null: no retryThrottling is configured. */
  readonly throttle: LiveThrottle | null;
  /** Each worker's own bucket (D31). */
  readonly workers: readonly ({ readonly worker: number } & LiveThrottle)[];
}

/** @param retiredSuppressed what workers that are gone had counted */
export function mergeThrottle(
  perWorker: readonly { readonly worker: number; readonly throttle: LiveThrottle | null }[],
  retiredSuppressed = 0,
): ThrottleBody {
  const workers = perWorker.flatMap(({ worker, throttle }) => (throttle === null ? [] : [{ worker, ...throttle }]));
  return { throttle: sumThrottles(workers, retiredSuppressed), workers };
}

/** All buckets as one. Null where there is none. */
export function sumThrottles(buckets: readonly LiveThrottle[], retiredSuppressed = 0): LiveThrottle | null {
  const [first] = buckets;
  if (first === undefined) return null;
  return {
    // They are told to a thousandth.
    tokens: round(
      sumOf(buckets, ({ tokens }) => tokens),
      3,
    ),
    max_tokens: sumOf(buckets, ({ max_tokens }) => max_tokens),
    threshold: sumOf(buckets, ({ threshold }) => threshold),
    token_ratio: first.token_ratio,
    // While one is open the calls of its worker are retried: it would be wrong to say that nothing is. Each worker's own stands
    // in the list of /throttle.
    shut: buckets.every(({ shut }) => shut),
    suppressed: sumOf(buckets, ({ suppressed }) => suppressed) + retiredSuppressed,
  };
}
