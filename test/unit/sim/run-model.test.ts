import { describe, expect, it } from 'vitest';
import { Status } from '../../../src/grpc/status.js';
import { failures, hedge, latency, none, oks, outage, play, retry, slowness, times } from './model-world.js';

const throttle = { maxMilliTokens: 10_000, milliTokensPerSuccess: 100 };

describe('a simulation', () => {
  it('SIM-01: without a policy and with one latency its numbers are exact', () => {
    const run = play(none);
    expect(run.calls.length).toBe(1000);
    expect(new Set(times(run).map((time) => time.toFixed(6)))).toEqual(new Set(['20.000000']));
    expect(run.calls.map(({ startedAt }) => Math.round(startedAt))).toEqual(run.calls.map((_, index) => index * 10));
    expect([oks(run), run.sends.length, run.peakInFlight]).toEqual([1000, 1000, 1]);
  });

  it('SIM-02: the same seed and terms give the same run, another seed another', () => {
    const terms = {
      latency: latency('lognormal(median=20ms,p99=200ms)'),
      failures: failures('5%:UNAVAILABLE'),
      arrivals: 'poisson',
    } as const;
    expect(play(retry(), terms)).toEqual(play(retry(), terms));
    expect(play(retry(), { ...terms, seed: 2 })).not.toEqual(play(retry(), terms));
  });

  it('SIM-03: each call meets the same luck at its first attempt, with a policy and without', () => {
    const terms = { latency: latency('exponential(mean=20ms)'), failures: failures('5%:UNAVAILABLE') };
    const [bare, kept] = [play(none, terms), play(retry(), terms)];
    expect(kept.calls.map(({ startedAt }) => startedAt)).toEqual(bare.calls.map(({ startedAt }) => startedAt));
    const firstTry = kept.calls.filter(({ retries }) => retries === 0);
    expect(firstTry.length).toBeGreaterThan(900);
    for (const fact of firstTry) expect(bare.calls).toContainEqual(fact);
    expect(bare.calls.filter(({ code }) => code !== Status.OK).length).toBe(1000 - firstTry.length);
  });

  it.each([1, 2, 3])('SIM-04: retries succeed as often as 1 - p^n says, seed %i', (seed) => {
    const share = 0.3;
    for (const maxAttempts of [2, 3, 4]) {
      const run = play(retry({ maxAttempts }), { calls: 20_000, failures: failures('30%:UNAVAILABLE'), seed });
      const expected = 1 - share ** maxAttempts;
      // Five standard deviations.
      const tolerance = 5 * Math.sqrt((expected * (1 - expected)) / 20_000);
      expect(Math.abs(oks(run) / 20_000 - expected)).toBeLessThan(tolerance);
      const attempts = (1 - share ** maxAttempts) / (1 - share);
      expect(Math.abs(run.sends.length / 20_000 - attempts)).toBeLessThan(0.03);
    }
  });

  it('SIM-05: hedges cut the tail that one attempt in a hundred makes', () => {
    const terms = { calls: 10_000, latency: latency('99%:20ms,1%:1s') };
    const slow = (run: ReturnType<typeof play>) => times(run).filter((time) => time > 100).length;
    const [bare, hedged] = [play(none, terms), play(hedge(50), terms)];
    expect(slow(bare)).toBeGreaterThan(60);
    expect(slow(hedged)).toBeLessThan(5);
    const sent = hedged.calls.reduce((sum, { hedges }) => sum + hedges, 0);
    expect(sent).toBe(slow(bare));
    expect(hedged.sends.length).toBe(10_000 + sent);
    expect(hedged.calls.filter(({ byHedge }) => byHedge).length).toBeGreaterThan(sent - 5);
  });

  it('SIM-06: in an outage the throttle shuts, holds retries back, and opens again after it', () => {
    const terms = { calls: 6000, outages: [outage('10s-20s')] };
    const bucket = { maxMilliTokens: 10_000, milliTokensPerSuccess: 100 };
    const [free, held] = [play(retry(), terms), play(retry(), terms, { throttle: bucket })];
    const during = (run: ReturnType<typeof play>) => run.sends.filter((at) => at >= 10_000 && at < 20_000).length;
    expect(during(free)).toBeGreaterThan(2900);
    expect(during(held)).toBeLessThan(1100);
    expect(held.suppressed).toBeGreaterThan(900);
    const [shut, ...more] = held.tokens?.shut ?? [];
    expect(more).toEqual([]);
    expect(shut?.from).toBeGreaterThan(10_000);
    expect(shut?.from).toBeLessThan(10_200);
    expect(shut?.to).toBeGreaterThan(20_000);
    expect(held.tokens?.lowest).toBe(0);
  });

  it('SIM-07: what one backend suffers stays there: retries go elsewhere, and picks leave it alone', () => {
    const terms = { outages: [outage('1s-5s:backend=b2')] };
    const run = play(retry(), terms);
    expect([oks(run), run.parks]).toEqual([1000, []]);
    // Three hard failures breach it, as in the proxy.
    expect(oks(play(none, terms))).toBe(997);
    const all = play(none, { outages: [outage('1s-5s')] });
    expect(all.parks.map(({ backend, reason }) => `${backend} ${reason}`).toSorted()).toEqual([
      'b1 consecutive_failures',
      'b2 consecutive_failures',
      'b3 consecutive_failures',
    ]);
  });

  it('SIM-07: a retry goes where its call has not been, whatever the order of picks', () => {
    const aborted = retry({ retryable: new Set([Status.ABORTED]) });
    const terms = {
      balancing: { kind: 'pick_first', shuffle: false },
      outages: [outage('0s-100s:backend=b1:ABORTED')],
    } as const;
    expect(oks(play(aborted, terms))).toBe(1000);
    expect(oks(play(none, terms))).toBe(0);
  });

  it('SIM-07: a backend that keeps silent past deadlines is parked', () => {
    const run = play(none, { outages: [outage('1s-9s:backend=b1:silent')] }, { deadline: 1500 });
    expect(run.parks.map(({ backend }) => backend)).toContain('b1');
  });

  it('SIM-07: a park that is over is probed by calls with a policy at once, by others after a grace', () => {
    const terms = { rate: 10, outages: [outage('1s-3s'), outage('3s-100s:backend=b2')] };
    const second = (run: ReturnType<typeof play>) => run.parks.filter(({ backend }) => backend === 'b2')[1]?.from ?? 0;
    const [guarded, bare] = [second(play(retry(), terms)), second(play(none, terms))];
    expect(guarded).toBeGreaterThan(31_000);
    expect(guarded).toBeLessThan(35_000);
    expect(bare).toBeGreaterThan(61_000);
  });

  it('SIM-07: half an outage befalls half of the attempts', () => {
    const run = play(none, { outages: [outage('0s-100s:rate=50%:ABORTED')] });
    expect(Math.abs(oks(run) - 500)).toBeLessThan(80);
  });

  it('SIM-06: a call is held back once, however often the throttle is asked for it', () => {
    const plan = hedge(10, { maxAttempts: 3, nonFatal: new Set([Status.UNAVAILABLE]) });
    const run = play(plan, { failures: failures('100%:UNAVAILABLE') }, { throttle });
    expect(run.suppressed).toBeGreaterThan(900);
    expect(run.suppressed).toBeLessThanOrEqual(1000);
  });

  it('SIM-08: what is down gets no attempt; what was there is lost', () => {
    const terms = { latency: latency('200ms'), outages: [outage('1s-5s:backend=b1:down')] };
    const bare = play(none, terms);
    const lost = bare.calls.filter(({ code }) => code !== Status.OK);
    expect(lost.length).toBeGreaterThan(0);
    for (const { endedAt, startedAt, code } of lost) {
      expect([endedAt, code]).toEqual([1000, Status.UNAVAILABLE]);
      expect(startedAt).toBeLessThanOrEqual(1000);
    }
    expect(oks(play(retry(), terms))).toBe(1000);
  });

  it('SIM-09: where every backend is down a call ends without one, or waits with waitForReady', () => {
    const terms = { calls: 100, outages: [outage('500ms-2s:down')] };
    const bare = play(none, terms);
    expect(bare.calls.filter(({ reason }) => reason === 'no_backend').length).toBeGreaterThan(40);
    const patient = play(none, terms, { waitForReady: true, deadline: 5000 });
    const waited = patient.calls.filter(({ startedAt }) => startedAt > 500);
    expect(waited.length).toBeGreaterThan(40);
    for (const { code, endedAt } of waited) expect([code, endedAt]).toEqual([Status.OK, 2020]);
    const impatient = play(none, terms, { waitForReady: true, deadline: 100 });
    expect(impatient.calls.some(({ reason }) => reason === 'deadline_exceeded')).toBe(true);
    // Who has given up is not served when they are up.
    expect(impatient.sends.filter((at) => at > 500)).toEqual([]);
    expect(impatient.left).toEqual({ calls: 0, attempts: 0, bytes: 0 });
  });

  it('SIM-10: over its capacity a backend lets attempts wait', () => {
    const run = play(none, { calls: 3, rate: 1000, backends: 1, capacity: 1 });
    expect(times(run).map(Math.round)).toEqual([20, 39, 58]);
    expect(run.peakInFlight).toBe(3);
  });

  it('SIM-11: work for a cancelled attempt stops, or goes on where that is asked for', () => {
    const terms = { calls: 2, rate: 10, backends: 1, capacity: 1, latency: latency('150ms') };
    const stops = play(none, terms, { deadline: 160 });
    const long = { ...terms, latency: latency('190ms') };
    expect(stops.calls.map(({ code }) => code)).toEqual([Status.OK, Status.DEADLINE_EXCEEDED]);
    // The first is given up at 50 ms and its place is free when the second comes, at 100 ms.
    const free = play(
      none,
      { ...long, latency: latency('40ms'), slownesses: [slowness('0ms-50ms:x10')] },
      { deadline: 50 },
    );
    expect(free.calls.map(({ code }) => code)).toEqual([Status.DEADLINE_EXCEEDED, Status.OK]);
    const busy = play(
      none,
      { ...long, latency: latency('40ms'), slownesses: [slowness('0ms-50ms:x10')], cancelledWork: 'goes on' },
      { deadline: 50 },
    );
    expect(busy.calls.map(({ code }) => code)).toEqual([Status.DEADLINE_EXCEEDED, Status.DEADLINE_EXCEEDED]);
  });

  it('SIM-12: a request over its buffer limit commits its call: no retry', () => {
    const terms = { failures: failures('20%:UNAVAILABLE'), requestBytes: 300 * 1024 };
    const run = play(retry(), terms);
    expect(run.sends.length).toBe(1000);
    expect(new Set(run.calls.map(({ reason }) => reason))).toEqual(new Set(['ok', 'buffer_exceeded']));
    const shared = play(retry(), {
      ...terms,
      rate: 100_000,
      bufferLimit: 3 * 1024 * 1024,
      perCallBufferLimit: 1024 * 1024,
    });
    const reasons = new Set(shared.calls.map(({ reason }) => reason));
    expect(reasons).toContain('buffer_exceeded');
    expect(shared.calls.some(({ retries }) => retries > 0)).toBe(true);
  });

  it('SIM-13: a pushback of the backends is obeyed', () => {
    const terms = { calls: 10, rate: 1, outages: [outage('0s-500ms:UNAVAILABLE@1ms')], pushback: '600' };
    const [first] = play(retry(), terms).calls;
    expect([first?.endedAt, first?.retries]).toEqual([621, 1]);
    const [never] = play(retry(), { ...terms, pushback: '-1' }).calls;
    expect([never?.reason, never?.retries]).toEqual(['pushback', 0]);
  });

  it.each([
    ['retries', retry(), {}],
    ['retries under a throttle', retry(), { throttle }],
    ['hedges', hedge(10, { maxAttempts: 3, nonFatal: new Set([Status.UNAVAILABLE]) }), { throttle }],
    ['hedges all at once', hedge(0), {}],
    ['no policy', none, {}],
  ])('SIM-14: with %s every call has one end, and nothing is left', (_name, plan, change) => {
    for (const cancelledWork of ['stops', 'goes on'] as const) {
      const run = play(
        plan,
        {
          arrivals: 'poisson',
          latency: latency('lognormal(median=20ms,p99=200ms)'),
          failures: failures('10%:UNAVAILABLE,1%:INTERNAL@1ms'),
          outages: [outage('1s-3s:backend=b1:silent'), outage('2s-4s:rate=50%:UNAVAILABLE@1ms'), outage('5s-6s:down')],
          slownesses: [slowness('6s-7s:backend=b3:x10')],
          capacity: 2,
          cancelledWork,
          balancing: { kind: 'least_request', choiceCount: 2 },
        },
        { deadline: 500, ...change },
      );
      expect(run.calls.length).toBe(1000);
      expect(run.left).toEqual({ calls: 0, attempts: 0, bytes: 0 });
      for (const { startedAt, endedAt } of run.calls) expect(endedAt - startedAt).toBeLessThanOrEqual(500.000001);
      expect(run.sends.length).toBe(run.calls.reduce((sum, { sent }) => sum + sent, 0));
    }
  });
});
