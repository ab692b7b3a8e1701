import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { backoffDelay } from '../../../src/policy/backoff.js';

function plan(initial: number, max: number, multiplier: number) {
  return { initialBackoff: millis(initial), maxBackoff: millis(max), multiplier };
}

/** The bases of the first `count` waits: random 0.5 is jitter 1. */
function bases(of: ReturnType<typeof plan>, count: number): number[] {
  return Array.from({ length: count }, (_, i) => backoffDelay(of, i + 1, 0.5));
}

describe('backoffDelay', () => {
  it('SM-01: begins with initialBackoff and grows by the multiplier up to maxBackoff', () => {
    expect(bases(plan(100, 1000, 2), 5)).toEqual([100, 200, 400, 800, 1000]);
  });

  it.each([
    [0, 80],
    [0.25, 90],
    [0.5, 100],
    [0.75, 110],
    [1 - 2 ** -53, 120],
  ])('jitters from 0.8 to 1.2: random %f makes 100 ms into %f ms', (random, delay) => {
    expect(backoffDelay(plan(100, 1000, 2), 1, random)).toBeCloseTo(delay, 10);
  });

  it('SM-17: jitter may carry a wait at its maximum a fifth over it', () => {
    expect(backoffDelay(plan(100, 1000, 2), 9, 0.9999)).toBeCloseTo(1199.96, 6);
  });

  it('CFG-45: a maxBackoff under initialBackoff caps the first wait too', () => {
    expect(bases(plan(1000, 200, 2), 3)).toEqual([200, 200, 200]);
  });

  it('CFG-47: a multiplier under 1 makes the waits shrink', () => {
    expect(bases(plan(100, 1000, 0.5), 3)).toEqual([100, 50, 25]);
  });

  it('CFG-49: a growth beyond all numbers is maxBackoff, not NaN and not at once', () => {
    expect(bases(plan(100, 1000, 1e308), 5)).toEqual([100, 1000, 1000, 1000, 1000]);
  });

  it('is finite, never negative, and within a fifth of the capped base, for every plan that can be written', () => {
    const positive = fc.oneof(fc.double({ min: 1e-6, max: 3.2e14, noNaN: true }), fc.constantFrom(1e-6, 1, 3.15576e14));
    const multiplier = fc.oneof(
      fc.double({ min: Number.MIN_VALUE, max: Number.MAX_VALUE, noNaN: true }),
      fc.double({ min: 0.1, max: 10, noNaN: true }),
      fc.constantFrom(Number.MIN_VALUE, 1, Number.MAX_VALUE),
    );
    fc.assert(
      fc.property(
        positive,
        positive,
        multiplier,
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (initial, max, factor, n, random) => {
          const delay = backoffDelay(plan(initial, max, factor), n, random);
          expect(Number.isFinite(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(max * 1.2);
          if (factor >= 1) expect(delay).toBeGreaterThanOrEqual(Math.min(initial, max) * 0.8 * (1 - 1e-12));
        },
      ),
    );
  });
});
