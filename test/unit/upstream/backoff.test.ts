import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectDelay } from '../../../src/upstream/backoff.js';

describe('the wait before a connect', () => {
  it('is 250 ms × 1.6 for each failure before, with no jitter in the middle', () => {
    expect([0, 1, 2, 3].map((failures) => Math.round(connectDelay(failures, 60_000, 0.5)))).toEqual([
      250, 400, 640, 1024,
    ]);
  });

  it('spreads by 20 % to either side', () => {
    expect(connectDelay(0, 5000, 0)).toBeCloseTo(200);
    expect(connectDelay(0, 5000, 1)).toBeCloseTo(300);
  });

  it('is never over the maximum, spreads there too, and is never nothing', () => {
    fc.assert(
      fc.property(
        fc.nat(5000),
        fc.integer({ min: 1, max: 3_600_000 }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (failures, max, random) => {
          const delay = connectDelay(failures, max, random);
          expect(delay).toBeGreaterThan(0);
          expect(delay).toBeLessThanOrEqual(max);
        },
      ),
    );
    expect(connectDelay(100, 5000, 0) / connectDelay(100, 5000, 1)).toBeCloseTo(0.8 / 1.2);
  });
});
