import { describe, expect, it } from 'vitest';
import { parseDistribution } from '../../../src/sim/distribution.js';
import { normalQuantile } from '../../../src/sim/normal-quantile.js';
import { seededRandom } from '../../../src/sim/seeded-random.js';
import { latency } from './model-world.js';

function problem(text: string): string {
  const read = parseDistribution(text);
  return read.ok ? 'none' : read.problem;
}

/** Sorted draws. */
function draws(text: string, count = 20_000): number[] {
  const of = latency(text);
  const random = seededRandom(7);
  return Array.from({ length: count }, () => of.draw(random)).toSorted((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

describe('the language of distributions', () => {
  it.each([
    ['20ms', 20],
    ['20', 20],
    ['constant(1.5s)', 1500],
    ['CONSTANT( 20ms )', 20],
    ['uniform(10ms,30ms)', 20],
    ['lognormal(median=20ms,p99=200ms)', 20],
    ['percentiles(p50=20ms,p99=80ms)', 20],
    ['50%:20ms,50%:1s', 20],
    ['100%:20ms', 20],
    [' 20ms ', 20],
  ])('%s: its middle is %d ms', (text, middle) => {
    // Half of a mixture is its first part up to the middle.
    const half = text.includes(',50%') ? 0.4 : 0.5;
    expect(at(draws(text), half)).toBeCloseTo(middle, middle === 1500 ? 5 : -0.5);
  });

  it('lognormal keeps to its median and its p99', () => {
    const sorted = draws('lognormal(median=20ms,p99=200ms)');
    expect(Math.abs(at(sorted, 0.5) / 20 - 1)).toBeLessThan(0.05);
    expect(Math.abs(at(sorted, 0.99) / 200 - 1)).toBeLessThan(0.15);
  });

  it('exponential has its mean, uniform its ends', () => {
    const sorted = draws('exponential(mean=20ms)');
    expect(Math.abs(sorted.reduce((sum, time) => sum + time, 0) / sorted.length / 20 - 1)).toBeLessThan(0.05);
    const even = draws('uniform(10ms,30ms)');
    expect(even[0]).toBeGreaterThanOrEqual(10);
    expect(even[0]).toBeLessThan(10.1);
    expect(even.at(-1)).toBeLessThan(30);
    expect(even.at(-1)).toBeGreaterThan(29.9);
  });

  it('percentiles go through each point, from half of the first to the last, or from min to max', () => {
    const sorted = draws('percentiles(p50=20ms,p90=45ms,p99=200ms)');
    for (const [share, time] of [
      [0.5, 20],
      [0.9, 45],
      [0.985, 184],
    ] as const)
      expect(Math.abs(at(sorted, share) / time - 1)).toBeLessThan(0.1);
    expect(sorted[0]).toBeGreaterThanOrEqual(10);
    expect(sorted.at(-1)).toBeLessThanOrEqual(200);
    const bounded = draws('percentiles(min=19ms,p50=20ms,p99=200ms,max=2s)');
    expect(bounded[0]).toBeGreaterThanOrEqual(19);
    expect(bounded.at(-1)).toBeGreaterThan(1000);
    expect(bounded.at(-1)).toBeLessThanOrEqual(2000);
  });

  it.each(['99%:20ms,1%:1s', '1%:1s,20ms', '20ms,1%:1s'])('%s: one in a hundred takes a second', (text) => {
    const slow = draws(text).filter((time) => time === 1000).length;
    expect(Math.abs(slow - 200)).toBeLessThan(60);
  });

  it('a part of a mixture may be any distribution', () => {
    const sorted = draws('90%:uniform(10ms,20ms),10%:lognormal(median=1s,p99=2s)');
    expect(at(sorted, 0.89)).toBeLessThan(20);
    expect(at(sorted, 0.91)).toBeGreaterThan(300);
  });

  it.each([
    ['', 'at character 1: an item is missing'],
    ['20ms,', 'at character 6: an item is missing'],
    ['20 ms', 'at character 1, "20 ms": "20 ms" is no time; write 10ms, 1.5s, or 10 for milliseconds'],
    [
      'lognormul(median=20ms,p99=2s)',
      'at character 1, "lognormul(median=20ms,p99=2s)": "lognormul" is no distribution; did you mean lognormal?',
    ],
    [
      '90%:20ms, 10%:lognorml(3)',
      'at character 11, "10%:lognorml(3)": "lognorml" is no distribution; did you mean lognormal?',
    ],
    [
      'weibull(3)',
      'at character 1, "weibull(3)": "weibull" is no distribution; there are constant, uniform, exponential, lognormal, percentiles',
    ],
    ['lognormal', 'at character 1, "lognormal": write it as lognormal(…), or a time like 20ms'],
    [
      'lognormal(median=20ms)',
      'at character 1, "lognormal(median=20ms)": p99 is missing; write lognormal(median=TIME,p99=TIME)',
    ],
    [
      'lognormal(median=20ms,p99=10ms)',
      'at character 1, "lognormal(median=20ms,p99=10ms)": the median is more than 0, and p99 is not below it',
    ],
    ['uniform(10ms)', 'at character 1, "uniform(10ms)": uniform(FROM,TO) has two times'],
    ['uniform(1,2,3)', 'at character 1, "uniform(1,2,3)": uniform(FROM,TO) has two times'],
    ['uniform(2,1)', 'at character 1, "uniform(2,1)": the first time of uniform(FROM,TO) is the longer one'],
    ['constant(1,2)', 'at character 1, "constant(1,2)": constant(TIME) has one time'],
    [
      'percentiles(p50=2,p40=3)',
      'at character 1, "percentiles(p50=2,p40=3)": percentiles must rise, and their times must not fall',
    ],
    [
      'percentiles(p50=2,p99=1)',
      'at character 1, "percentiles(p50=2,p99=1)": percentiles must rise, and their times must not fall',
    ],
    [
      'percentiles(q50=2)',
      'at character 1, "percentiles(q50=2)": "q50" is no percentile; write p50, p99.9, min or max',
    ],
    ['percentiles(p50=0)', 'at character 1, "percentiles(p50=0)": p50 must be more than 0'],
    ['90%:20ms,5%:1s', 'the shares are 95 % together and must be 100 %; an item without a share takes the rest'],
    ['90%:20ms,15%:1s', 'the shares are 105 % together and must be 100 %; an item without a share takes the rest'],
    ['90%:20ms,15%:1s,2s', 'the shares are 105 % together and must be 100 %; an item without a share takes the rest'],
    ['20ms,1s', 'of several items each but one needs its share, like 99%:20ms,1%:1s'],
    ['150%:20ms', 'at character 1, "150%:20ms": "150%" is no share; write 5% or 0.1%, up to 100%'],
  ])('%s: %s', (text, expected) => {
    expect(problem(text)).toBe(expected);
  });
});

describe('normalQuantile', () => {
  it.each([
    [0.5, 0],
    [0.9, 1.2815515655446004],
    [0.99, 2.3263478740408408],
    [0.999, 3.090232306167813],
    [0.01, -2.3263478740408408],
    [0.3, -0.5244005127080407],
  ])('of %d is %d', (share, value) => {
    expect(normalQuantile(share)).toBeCloseTo(value, 7);
  });

  it('has an answer at the ends', () => {
    expect(normalQuantile(0)).toBeLessThan(-6);
    expect(normalQuantile(0)).toBe(-normalQuantile(1));
  });
});
