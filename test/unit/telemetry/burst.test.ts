import { describe, expect, it } from 'vitest';
import { createBurst } from '../../../src/telemetry/burst.js';

describe('createBurst', () => {
  it('lets the first ones of a window pass and counts what it holds back', () => {
    const burst = createBurst(2, 1000);
    expect([0, 1, 2, 999].map((now) => burst.take(now))).toEqual([0, 0, null, null]);
    expect(burst.take(1000)).toBe(2);
    expect(burst.take(1001)).toBe(0);
    expect(burst.take(1002)).toBe(null);
  });

  it('begins a window with its first taker, however long the pause before', () => {
    const burst = createBurst(1, 1000);
    expect(burst.take(50_000)).toBe(0);
    expect(burst.take(50_999)).toBe(null);
    expect(burst.take(51_000)).toBe(1);
  });
});
