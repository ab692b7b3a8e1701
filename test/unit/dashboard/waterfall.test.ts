import { describe, expect, it } from 'vitest';
import { waterfallOf } from '../../../src/dashboard/waterfall.js';
import { attempt, call, hedgedCall } from './live.js';

describe('waterfallOf()', () => {
  it('places each attempt on one axis, and a backoff between two of them', () => {
    const { ms, lanes } = waterfallOf(call());
    expect(ms).toBe(80);
    expect(lanes).toMatchObject([
      { number: 1, backend: 'oak', bar: { from: 0, length: 10 / 80, kind: 'failed' }, gap: null, told: false },
      {
        ...{ number: 2, backend: 'elm', bar: { from: 60 / 80, length: 20 / 80, kind: 'ok' }, told: true },
        gap: { kind: 'backoff', ms: 50, from: 10 / 80, length: 50 / 80 },
      },
    ]);
  });

  it('measures what a hedge waited for from the start of the attempt before it', () => {
    const { lanes } = waterfallOf(hedgedCall());
    expect(lanes.map(({ gap }) => gap?.kind)).toEqual([undefined, 'hedge', 'hedge']);
    expect(lanes[1]?.gap).toMatchObject({ ms: 61, from: 0 });
    expect(lanes[2]?.gap).toMatchObject({ ms: 66, from: 61 / 133 });
    expect(lanes.map(({ bar }) => bar.kind)).toEqual(['cancelled', 'cancelled', 'ok']);
  });

  it('a gap that is too short to see is none', () => {
    const attempts = [attempt({ ms: 10, result: 'lost' }), attempt({ cause: 'transparent', at: 10.5, ms: 80 })];
    expect(waterfallOf({ ms: 91, attempts }).lanes[1]?.gap).toBeNull();
  });

  it('the shortest bar is still seen, and stays within the axis', () => {
    const attempts = [attempt({ at: 0, ms: 0 }), attempt({ at: 100, ms: 0 })];
    const [first, last] = waterfallOf({ ms: 100, attempts }).lanes;
    expect(first?.bar.length).toBeGreaterThan(0.005);
    expect((last?.bar.from ?? 0) + (last?.bar.length ?? 0)).toBeLessThanOrEqual(1);
  });

  it('an attempt that outlives its call lengthens the axis; a call without time or attempts has one still', () => {
    expect(waterfallOf({ ms: 10, attempts: [attempt({ at: 5, ms: 20 })] }).ms).toBe(25);
    const { ms, lanes, ticks } = waterfallOf({ ms: 0, attempts: [] });
    expect(ms).toBeGreaterThan(0);
    expect(lanes).toEqual([]);
    expect(ticks.length).toBeGreaterThan(0);
  });

  it.each([
    [80, [0, 20, 40, 60, 80]],
    [133, [0, 50, 100]],
    [12, [0, 5, 10]],
    [1000, [0, 500, 1000]],
    [209, [0, 100, 200]],
    [0.7, [0, 0.2, 0.4, 0.6]],
  ])('an axis of %s ms has round marks', (ms, marks) => {
    const { ticks } = waterfallOf({ ms, attempts: [] });
    expect(ticks.map((tick) => Number(tick.ms.toFixed(6)))).toEqual(marks);
    for (const { at, ms: mark } of ticks) expect(at).toBeCloseTo(mark / ms, 6);
  });

  it.each([
    ['ok', 'OK', 'OK'],
    ['failed', 'UNAVAILABLE', 'UNAVAILABLE'],
    ['lost', 'UNAVAILABLE', 'connection lost'],
    ['cancelled', 'CANCELLED', 'cancelled'],
    ['unplaced', 'UNAVAILABLE', 'no connection'],
  ] as const)('%s is told as %s', (result, code, words) => {
    expect(waterfallOf({ ms: 10, attempts: [attempt({ result, code })] }).lanes[0]?.outcome).toBe(words);
  });
});
