import { describe, expect, it } from 'vitest';
import { figure, markdown, ranged, reaches } from '../../../bench/figures/table.mjs';

describe('the tables of the bench', () => {
  it('shows three digits that count', () => {
    expect([0.12345, 1.2345, 12.345, 123.45, 12_345.6, 1_234_567].map(figure)).toEqual([
      '0.123',
      '1.23',
      '12.3',
      '123',
      '12 346',
      '1 234 567',
    ]);
    expect(figure(Number.NaN)).toBe('–');
    expect(figure(0)).toBe('0.00');
  });

  it('shows the range of the rounds beside the median', () => {
    expect(ranged({ median: 2, low: 1, high: 3, rounds: 3 })).toBe('2.00 (1.00–3.00)');
    expect(ranged({ median: 2, low: 2, high: 2, rounds: 1 })).toBe('2.00');
    expect(ranged({ median: Number.NaN, low: Number.NaN, high: Number.NaN, rounds: 0 })).toBe('–');
  });

  it('writes Markdown that no cell breaks', () => {
    expect(markdown(['a', 'b'], [['x|y', 'two\nlines']])).toBe('| a | b |\n|---|---|\n| x\\|y | two lines |');
  });

  it('holds a figure against its bound, and says nothing without a figure', () => {
    expect(reaches(1, { atMost: 1 })).toBe(true);
    expect(reaches(1.01, { atMost: 1 })).toBe(false);
    expect(reaches(1, { atLeast: 1 })).toBe(true);
    expect(reaches(0.99, { atLeast: 1 })).toBe(false);
    expect(reaches(Number.NaN, { atMost: 1 })).toBeNull();
  });
});
