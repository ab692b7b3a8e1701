import { describe, expect, it } from 'vitest';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { type History, remember } from '../../../src/dashboard/history.js';
import { append, type Point, pointOf, timeRange } from '../../../src/dashboard/series.js';
import { histogram, noCalls, snapshot } from './live.js';

function historyOf(...snapshots: readonly Partial<LiveSnapshot>[]): History {
  return snapshots.reduce<History>((history, one) => remember(history, snapshot(one)), []);
}

function pointAt(at: number): Point {
  const point = pointOf(historyOf({ at: at * 1000 }));
  if (point === null) throw new Error('no point');
  return point;
}

describe('pointOf()', () => {
  it('is null before anything has come', () => {
    expect(pointOf([])).toBeNull();
  });

  it('measures rates over the last 10 s, shares and quantiles over 30 s', () => {
    const history = historyOf(
      { uptime_ms: 100_000, calls: noCalls },
      {
        ...{ uptime_ms: 120_000, calls: { ...noCalls, ended: 100, ok: 90, saved: 10 }, attempts: [100, 0] },
        latency: { calls: histogram({ 10: 100 }), first_ended: histogram(), first_cut: histogram() },
      },
      {
        ...{
          uptime_ms: 130_000,
          calls: { ...noCalls, ended: 150, ok: 135, saved: 15, hedged: 26, hedges_won: 25 },
          attempts: [100, 50],
        },
        latency: {
          calls: histogram({ 10: 100, 100: 50 }),
          first_ended: histogram({ 100: 1 }),
          first_cut: histogram({ 100: 25 }),
        },
      },
    );
    expect(pointOf(history)).toMatchObject({
      callsPerSecond: 5,
      success: 90,
      successWithout: 80,
      attempts: 200 / 150,
      tokens: 10,
      threshold: 5,
      inFlight: 2,
    });
    expect(pointOf(history)?.p50).toBeCloseTo(8.75, 2);
    expect(pointOf(history)?.p99).toBeCloseTo(98.5, 1);
    // Half of the slow ones were cut short: it lies above what calls did take.
    expect(pointOf(history)?.p99Unhedged).toBeCloseTo(98.5, 1);
  });

  it('of a program that is younger than the span is measured from its start', () => {
    const young = historyOf({ uptime_ms: 4000, calls: { ...noCalls, ended: 8, ok: 8 } });
    expect(pointOf(young)).toMatchObject({ callsPerSecond: 2, success: 100 });
  });

  it('of an older one with a single snapshot says nothing of now', () => {
    const old = historyOf({ uptime_ms: 4_000_000, calls: { ...noCalls, ended: 8_000_000, ok: 8 } });
    expect(pointOf(old)).toMatchObject({ callsPerSecond: null, success: null, p50: null, attempts: null, inFlight: 2 });
  });

  it('without calls has no shares and no latency; without a throttle no tokens', () => {
    const idle = historyOf({ uptime_ms: 5000, throttle: null });
    expect(pointOf(idle)).toMatchObject({
      ...{ callsPerSecond: 0, success: null, successWithout: null, p50: null, p99: null, p99Unhedged: null },
      ...{ attempts: null, tokens: null, threshold: null },
    });
  });
});

describe('timeRange()', () => {
  it('is from the first point to the last, a minute at least', () => {
    expect(timeRange([pointAt(100), pointAt(101), pointAt(400)], 500)).toEqual([100, 400]);
    expect(timeRange([pointAt(100)], 500)).toEqual([40, 100]);
    expect(timeRange([], 500)).toEqual([440, 500]);
  });
});

describe('append()', () => {
  it('keeps ten minutes, in order, and one point a moment', () => {
    const points = [pointAt(100), pointAt(101), pointAt(650)];
    const times = (list: readonly Point[]) => list.map(({ at }) => at);
    expect(times(append(points, pointAt(700.5)))).toEqual([101, 650, 700.5]);
    expect(times(append(points, pointAt(650)))).toEqual([100, 101, 650]);
  });
});
