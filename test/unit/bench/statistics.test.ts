import { describe, expect, it } from 'vitest';
import { median, quantile, ratios, spread } from '../../../bench/figures/statistics.mjs';

describe('the statistics of the bench', () => {
  it('takes the median of odd and even counts, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 6])).toBe(5.5);
    expect(median([])).toBeNaN();
  });

  it('orders numbers as numbers, and leaves what it is given as it was', () => {
    const rounds = [10, 9, 100];
    expect(median(rounds)).toBe(10);
    expect(rounds).toEqual([10, 9, 100]);
  });

  it('interpolates between ranks', () => {
    expect(quantile([0, 10, 20, 30], 0)).toBe(0);
    expect(quantile([0, 10, 20, 30], 0.9)).toBeCloseTo(27);
    expect(quantile([0, 10, 20, 30], 1)).toBe(30);
  });

  it('gives the median with the least and the most', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3, rounds: 3 });
    expect(spread([]).rounds).toBe(0);
  });

  it('compares round by round: a disturbance of both cancels out', () => {
    expect(ratios([10, 20, 40], [5, 10, 20])).toEqual({ median: 2, low: 2, high: 2, rounds: 3 });
    expect(ratios([10, 20], [5]).rounds).toBe(1);
  });
});
