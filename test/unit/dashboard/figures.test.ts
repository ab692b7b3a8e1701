import { describe, expect, it } from 'vitest';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { spanOf } from '../../../src/admin/live-math.js';
import { causesOf, endsOf, feltOf, methodRows, periodWords } from '../../../src/dashboard/figures.js';
import { quantileWords } from '../../../src/text/words.js';
import { attempt, call, hedgedCall, histogram, noCalls, snapshot, throttledCall } from './live.js';

function period(rest: Partial<LiveSnapshot>) {
  return spanOf(snapshot(rest), null);
}

describe('feltOf()', () => {
  it('tells what clients got, and what they would have had without the policy', () => {
    const felt = feltOf(
      period({
        calls: { ended: 1000, ok: 990, cancelled: 0, saved: 40, retried: 45, hedged: 20, hedges_won: 12 },
        latency: {
          calls: histogram({ 10: 980, 50: 20 }),
          first_ended: histogram({ 100: 8 }),
          first_cut: histogram({ 50: 12 }),
        },
      }),
    );
    expect(felt.success).toEqual({ value: '99 %', note: '10 calls ended otherwise' });
    expect(felt.successWithout).toEqual({ value: '95 %', note: '40 calls saved by a further attempt' });
    expect(felt.p99).toEqual({ value: '38 ms', note: 'p50 7.6 ms' });
    // Of the twenty slow calls twelve were cut short.
    expect(felt.p99Without).toEqual({ value: '47 ms', note: '20 hedged calls; 12 won by the hedge' });
  });

  it('counts no call that its client cancelled as failed', () => {
    const felt = feltOf(period({ calls: { ...noCalls, ended: 10, ok: 8, cancelled: 2 } }));
    expect(felt.success).toEqual({ value: '100 %', note: 'all of them' });
    expect(felt.successWithout.note).toBe('nothing had to be saved');
  });

  it('says so where there was no call, and where none was hedged', () => {
    expect(feltOf(null).success).toEqual({ value: '–', note: 'no calls yet' });
    expect(feltOf(period({})).p99).toEqual({ value: '–', note: 'no calls yet' });
    const felt = feltOf(period({ calls: { ...noCalls, ended: 1, ok: 1 } }));
    expect(felt.p99Without).toEqual({ value: '–', note: 'no call was hedged' });
  });
});

describe('words', () => {
  it('of a quantile', () => {
    expect(quantileWords({ kind: 'known', ms: 71 })).toBe('71 ms');
    expect(quantileWords({ kind: 'above', ms: 1000 })).toBe('over 1 s');
    expect(quantileWords({ kind: 'none' })).toBe('–');
  });

  it('of a period', () => {
    expect(periodWords(null, true)).toBe('');
    expect(periodWords(period({ uptime_ms: 42_000 }), true)).toBe('since the start, 42 s ago');
    expect(periodWords(period({ uptime_ms: 300_000 }), false)).toBe('over the last 5 min');
  });
});

describe('endsOf()', () => {
  it('why calls ended as they did, OK aside, most frequent first', () => {
    const span = period({ reasons: { ok: 900, throttled: 3, pushback: 7, pinned: 3, internal: 1 } });
    if (span === null) throw new Error('no period');
    expect(endsOf(span, 3)).toEqual([
      { name: 'pushback', count: 7 },
      { name: 'pinned', count: 3 },
      { name: 'throttled', count: 3 },
    ]);
  });
});

describe('causesOf()', () => {
  it('what made further attempts necessary, by method, most frequent first', () => {
    const lost = call({ attempts: [attempt({ result: 'lost' }), attempt({ cause: 'transparent', at: 20 })] });
    const nowhere = call({ attempts: [attempt({ result: 'unplaced' }), attempt({ cause: 'retry', at: 20 })] });
    expect(causesOf([call(), lost, nowhere, hedgedCall(), throttledCall()], 9)).toEqual([
      { method: '/shop.v1.Orders/FindOrder', why: 'slow', count: 2 },
      { method: '/shop.v1.Orders/GetOrder', why: 'UNAVAILABLE', count: 1 },
      { method: '/shop.v1.Orders/GetOrder', why: 'connection lost', count: 1 },
      { method: '/shop.v1.Orders/GetOrder', why: 'no connection', count: 1 },
    ]);
  });

  it('a hedge that a failure brought forward is no sign of a slow attempt', () => {
    const forward = hedgedCall({
      attempts: [
        attempt({ ms: 11, result: 'failed', code: 'UNAVAILABLE' }),
        attempt({ cause: 'hedge', trigger: 'nonfatal', at: 11 }),
      ],
    });
    expect(causesOf([forward], 1)).toMatchObject([{ why: 'UNAVAILABLE' }]);
  });
});

describe('methodRows()', () => {
  const now = snapshot({
    methods: [
      {
        method: 'shop.v1.Orders/GetOrder',
        ended: 1200,
        ok: 1190,
        cancelled: 0,
        saved: 60,
        retried: 70,
        hedged: 0,
        hedges_won: 0,
      },
      { method: 'other', ended: 5, ok: 5, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
    ],
  });

  it('what each method had since the start', () => {
    expect(methodRows(now, null)).toMatchObject([
      {
        ...{ method: 'shop.v1.Orders/GetOrder', name: 'Orders/GetOrder', calls: '1200', success: '99.17 %' },
        ...{ successWithout: '94.2 %', retried: '5.8 %', hedged: '0 %' },
      },
      { name: 'other', calls: '5', success: '100 %' },
    ]);
  });

  it('shares of success are of the calls that their clients did not give up', () => {
    const methods = [
      { ...noCalls, method: 'a.A/Some', ended: 10, ok: 4, cancelled: 5, saved: 1 },
      { ...noCalls, method: 'a.A/All', ended: 3, cancelled: 3 },
    ];
    expect(methodRows(snapshot({ methods }), null)).toMatchObject([
      { calls: '10', success: '80 %', successWithout: '60 %' },
      { calls: '3', success: '–', successWithout: '–' },
    ]);
  });

  it('a method that has come among the fifty since that moment has no figures: its calls may be older', () => {
    const methods = Array.from({ length: 50 }, (_, at) => ({ ...noCalls, method: `a.A/M${at}`, ended: 100, ok: 100 }));
    const fresh = { ...noCalls, method: 'a.A/New', ended: 900, ok: 900 };
    const after = snapshot({ methods: [fresh, ...methods.slice(1)] });
    expect(methodRows(after, snapshot({ methods }))).toEqual([
      {
        ...{ method: 'a.A/New', name: 'A/New', calls: '–', success: '–', successWithout: '–' },
        ...{ retried: '–', hedged: '–' },
      },
    ]);
    // Where there was room for it, it had no calls.
    expect(methodRows(after, snapshot({ methods: methods.slice(1) }))).toMatchObject([
      { calls: '900', success: '100 %' },
    ]);
  });

  it('or since a moment; a method without calls since then is left out', () => {
    const before = snapshot({
      methods: [
        {
          method: 'shop.v1.Orders/GetOrder',
          ended: 1100,
          ok: 1095,
          cancelled: 0,
          saved: 50,
          retried: 60,
          hedged: 0,
          hedges_won: 0,
        },
        { method: 'other', ended: 5, ok: 5, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
      ],
    });
    expect(methodRows(now, before)).toMatchObject([{ name: 'Orders/GetOrder', calls: '100', success: '95 %' }]);
  });
});
