import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { bucketsOf, bucketWidth } from '../../../src/sim/buckets.js';
import { compare, quantile, summarize } from '../../../src/sim/summary.js';
import { failures, hedge, latency, none, outage, play, retry } from './model-world.js';

describe('quantile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  it.each([
    [hundred, 0.5, 50],
    [hundred, 0.99, 99],
    [hundred, 0.999, 100],
    [hundred, 1, 100],
    [[7], 0.5, 7],
    [[1, 2], 0.5, 1],
    [[1, 2, 3], 0.5, 2],
    [Array.from({ length: 1000 }, (_, index) => index + 1), 0.999, 999],
    [Array.from({ length: 10_000 }, (_, index) => index + 1), 0.9, 9000],
  ])('is the least value that so many are at or under', (sorted, share, value) => {
    expect(quantile(sorted, share)).toBe(value);
  });
});

describe('summarize', () => {
  it('counts calls by code and reason, and times all of them', () => {
    const summary = summarize(play(retry({ maxAttempts: 2 }), { outages: [outage('0-100ms:INTERNAL@5ms')] }));
    expect(summary).toMatchObject({
      calls: 1000,
      ok: 990,
      codes: [
        { code: Status.OK, calls: 990 },
        { code: Status.INTERNAL, calls: 10 },
      ],
      reasons: [{ reason: 'fatal_status', calls: 10 }],
      attempts: 1000,
      retries: 0,
      peakPerSecond: 100,
    });
    expect(summary.times).toEqual({ p50: 20, p90: 20, p99: 20, p999: 20, max: 20, mean: 19.85 });
    expect(summary.okTimes?.mean).toBe(20);
  });

  it('counts hedges, and those that answered first', () => {
    const summary = summarize(play(hedge(50), { latency: latency('90%:20ms,10%:1s') }));
    expect(summary.hedges).toBeGreaterThan(50);
    expect(summary.hedgesWon).toBeGreaterThan(0);
    expect(summary.hedgesWon).toBeLessThan(summary.hedges);
    expect(summary.attempts).toBe(1000 + summary.hedges);
  });

  it('has no times of answers where there is none', () => {
    const summary = summarize(play(none, { calls: 5, failures: failures('100%:ABORTED') }));
    expect([summary.ok, summary.okTimes]).toEqual([0, null]);
  });

  it('finds the worst second, wherever it begins', () => {
    const storm = summarize(play(retry({ maxAttempts: 4 }), { outages: [outage('2.5s-3.5s:UNAVAILABLE@1ms')] }));
    expect(storm.peakPerSecond).toBeGreaterThan(300);
  });
});

describe('compare', () => {
  it('counts calls that one run saves, and those that it spoils', () => {
    const terms = { failures: failures('10%:UNAVAILABLE') };
    const [bare, kept] = [play(none, terms), play(retry(), terms)];
    const failed = bare.calls.filter(({ code }) => code !== Status.OK).length;
    const still = kept.calls.filter(({ code }) => code !== Status.OK).length;
    expect(compare(bare, kept)).toEqual({ saved: failed - still, spoilt: 0 });
    expect(compare(kept, bare)).toEqual({ saved: 0, spoilt: failed - still });
  });
});

describe('buckets', () => {
  it.each([
    [100_000, 5000],
    [99_999, 5000],
    [100_001, 10_000],
    [10_000, 500],
    [20, 1],
    [1, 1],
  ])('of a span of %d ms are %d ms wide: at most twenty', (span, width) => {
    expect(bucketWidth(span)).toBe(width);
  });

  it('have the calls that start in them, the attempts that are sent in them, and the lowest level', () => {
    const throttle = { maxMilliTokens: 10_000, milliTokensPerSuccess: 1000 };
    const run = play(retry(), { calls: 400, outages: [outage('1s-2s:UNAVAILABLE@1ms')] }, { throttle });
    const buckets = bucketsOf(run, millis(1000));
    expect(buckets.map(({ from, calls }) => [from, calls])).toEqual([
      [0, 100],
      [1000, 100],
      [2000, 100],
      [3000, 100],
    ]);
    expect(buckets.map(({ ok }) => ok)).toEqual([100, 0, 100, 100]);
    expect(buckets.map(({ lowestMilliTokens }) => lowestMilliTokens)).toEqual([10_000, 0, 0, 10_000]);
    const [first, second, third] = buckets.map(({ attempts }) => attempts);
    expect([first, third]).toEqual([100, 100]);
    expect(second).toBeGreaterThan(100);
    const total = buckets.reduce((sum, { attempts }) => sum + attempts, 0);
    expect(total).toBe(run.sends.length);
    expect(bucketsOf(play(none), millis(1000))[0]?.lowestMilliTokens).toBeNull();
  });
});
