import { describe, expect, it } from 'vitest';
import type { LiveThrottle } from '../../../src/admin/live.js';
import { mergeThrottle } from '../../../src/workers/merge-throttle.js';

function bucket(rest: Partial<LiveThrottle> = {}): LiveThrottle {
  return { tokens: 9.7, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 3, ...rest };
}

describe('the buckets of several workers', () => {
  it('WRK-11: are told as one, and one by one', () => {
    const second = bucket({ tokens: 0.1, shut: true, suppressed: 5 });
    expect(
      mergeThrottle([
        { worker: 1, throttle: bucket({ tokens: 0.2 }) },
        { worker: 4, throttle: second },
      ]),
    ).toEqual({
      throttle: { tokens: 0.3, max_tokens: 20, threshold: 10, token_ratio: 0.1, shut: false, suppressed: 8 },
      workers: [
        { worker: 1, ...bucket({ tokens: 0.2 }) },
        { worker: 4, ...second },
      ],
    });
  });

  it('WRK-11: are shut only where all are', () => {
    const shut = bucket({ shut: true });
    const of = (...buckets: readonly LiveThrottle[]): boolean | undefined =>
      mergeThrottle(buckets.map((throttle, worker) => ({ worker, throttle }))).throttle?.shut;
    expect([of(shut, bucket()), of(bucket(), shut), of(shut, shut)]).toEqual([false, false, true]);
  });

  it('WRK-11: without retryThrottling there is none', () => {
    expect(mergeThrottle([{ worker: 1, throttle: null }])).toEqual({ throttle: null, workers: [] });
    expect(mergeThrottle([])).toEqual({ throttle: null, workers: [] });
  });

  it('WRK-12: what a worker that is gone had held back stays counted', () => {
    expect(mergeThrottle([{ worker: 2, throttle: bucket() }], 4).throttle?.suppressed).toBe(7);
  });
});
