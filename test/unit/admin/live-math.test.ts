import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { LiveCalls, LiveSnapshot } from '../../../src/admin/live.js';
import {
  attemptsPerCall,
  callRate,
  failureCodes,
  headline,
  percent,
  quantile,
  quantileUncut,
  quantileUnhedged,
  spanOf,
  successShare,
  successShareWithout,
} from '../../../src/admin/live-math.js';
import { backend, histogram, live } from '../../support/live.js';

const calls = (changes: Partial<LiveCalls>): LiveCalls => ({ ...live().calls, ...changes });
const throttle = { tokens: 4.25, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: true, suppressed: 0 };

describe('the span between two snapshots', () => {
  it('has the differences of all totals, and rates from the run time alone', () => {
    const past = live({
      uptime_ms: 10_000,
      calls: calls({ ended: 100, ok: 90, saved: 5 }),
      codes: { OK: 90, UNAVAILABLE: 10 },
      reasons: { ok: 90, throttled: 10 },
      attempts: [80, 20, 0],
      throttle: { ...throttle, suppressed: 7 },
    });
    const now = live({
      // A wall clock that was set back changes no rate.
      at: past.at - 60_000,
      uptime_ms: 12_000,
      calls: calls({ ended: 140, ok: 126, cancelled: 2, saved: 13 }),
      codes: { OK: 126, UNAVAILABLE: 10, INTERNAL: 2, CANCELLED: 2 },
      reasons: { ok: 126, throttled: 12, client_cancelled: 2 },
      attempts: [100, 30, 10],
      throttle: { ...throttle, suppressed: 9 },
    });
    const span = spanOf(now, past);
    expect(span).toMatchObject({
      seconds: 2,
      calls: { ended: 40, ok: 36, cancelled: 2, saved: 8 },
      codes: { OK: 36, INTERNAL: 2, CANCELLED: 2 },
      reasons: { ok: 36, throttled: 2, client_cancelled: 2 },
      attempts: [20, 10, 10],
      suppressed: 2,
    });
    if (span === null) throw new Error('no span');
    expect(callRate(span)).toBe(20);
    expect(successShare(span)).toBeCloseTo(36 / 38);
    expect(successShareWithout(span)).toBeCloseTo(28 / 38);
    expect(attemptsPerCall(span)).toBe((20 + 20 + 30) / 40);
  });

  it('is all that was since the start where there is nothing before', () => {
    expect(spanOf(live({ calls: calls({ ended: 50 }) }), null)).toMatchObject({ seconds: 10, calls: { ended: 50 } });
  });

  it('is none across a restart of the program, and none where no time went by', () => {
    expect(spanOf(live({ instance: 'second' }), live())).toBeNull();
    expect(spanOf(live(), live())).toBeNull();
  });

  it('has no shares and no mean where no call ended', () => {
    const span = spanOf(live(), null);
    if (span === null) throw new Error('no span');
    expect([successShare(span), successShareWithout(span), attemptsPerCall(span)]).toEqual([null, null, null]);
  });
});

describe('quantiles', () => {
  it('lie within their bucket as far as counts reach into it', () => {
    expect(quantile(histogram([10, 10, 0, 0, 0, 0]), 0.5)).toEqual({ kind: 'known', ms: 10 });
    expect(quantile(histogram([0, 0, 10, 0, 0, 0]), 0.5)).toEqual({ kind: 'known', ms: 30 });
    expect(quantile(histogram([90, 0, 0, 10, 0, 0]), 0.95)).toEqual({ kind: 'known', ms: 60 });
  });

  it('lie above the last bound in the bucket that has none', () => {
    expect(quantile(histogram([1, 0, 0, 0, 0, 9]), 0.5)).toEqual({ kind: 'above', ms: 160 });
  });

  it('are none of nothing', () => {
    expect(quantile(histogram(), 0.5)).toEqual({ kind: 'none' });
    expect(quantileUncut(histogram(), histogram(), 0.5)).toEqual({ kind: 'none' });
  });

  it('of uncut attempts alone are those of the histogram', () => {
    const ended = histogram([50, 30, 15, 5, 0, 0]);
    for (const q of [0.3, 0.5, 0.9, 0.99]) {
      const plain = quantile(ended, q);
      const uncut = quantileUncut(ended, histogram(), q);
      expect(uncut.kind).toBe('known');
      if (plain.kind === 'known' && uncut.kind === 'known') expect(uncut.ms).toBeCloseTo(plain.ms, 2);
    }
  });

  it('of cut attempts lie where those that were not cut say: the estimate of Kaplan and Meier', () => {
    // 100 at risk, 50 end by 10 ms. 40 are cut between 20 and 40 ms: of the other 10 half end by 80 ms.
    const ended = histogram([50, 0, 0, 5, 5, 0]);
    const cut = histogram([0, 0, 40, 0, 0, 0]);
    // The curve: 0.5 after 10 ms, 0.25 after 80 ms, 0 after 160 ms.
    expect(quantileUncut(ended, cut, 0.75)).toEqual({ kind: 'known', ms: expect.closeTo(80, 2) });
    expect(quantileUncut(ended, cut, 0.875)).toEqual({ kind: 'known', ms: expect.closeTo(120, 2) });
    // The longest of those that were not cut alone would say 9 ms.
    expect(quantile(ended, 0.75)).toEqual({ kind: 'known', ms: 9 });
  });

  it('are undetermined above the last attempt that was seen where too many were cut', () => {
    const ended = histogram([50, 0, 0, 0, 0, 0]);
    const cut = histogram([0, 0, 50, 0, 0, 0]);
    expect(quantileUncut(ended, cut, 0.5)).toEqual({ kind: 'known', ms: expect.closeTo(10, 2) });
    expect(quantileUncut(ended, cut, 0.9)).toEqual({ kind: 'above', ms: 20 });
    expect(quantileUncut(histogram([0, 0, 0, 0, 0, 3]), histogram(), 0.5)).toEqual({ kind: 'above', ms: 160 });
  });
});

describe('what calls would have taken without hedges', () => {
  const none = histogram();

  it('is what they took where no attempt was cut', () => {
    const calls = histogram([50, 30, 15, 5, 0, 0]);
    const latency = { calls, first_ended: none, first_cut: none };
    for (const q of [0.5, 0.9, 0.99]) {
      const unhedged = quantileUnhedged(latency, q);
      const plain = quantile(calls, q);
      if (plain.kind !== 'known') throw new Error('not known');
      expect(unhedged).toEqual({ kind: 'known', ms: expect.closeTo(plain.ms, 2) });
    }
  });

  it('is more where hedges answered: those calls are known to have lasted so long, and no more', () => {
    // 100 calls: 80 by 10 ms, 10 cut between 10 and 20 ms, 10 that ran on, of which half by 40 ms, half by 80 ms.
    const latency = {
      calls: histogram([80, 10, 5, 5, 0, 0]),
      first_ended: none,
      first_cut: histogram([0, 10, 0, 0, 0, 0]),
    };
    // The curve: 0.2 after 10 ms, 0.1 after 40 ms, 0 after 80 ms.
    expect(quantileUnhedged(latency, 0.9)).toEqual({ kind: 'known', ms: expect.closeTo(40, 2) });
    expect(quantileUnhedged(latency, 0.95)).toEqual({ kind: 'known', ms: expect.closeTo(60, 2) });
    expect(quantile(latency.calls, 0.9)).toEqual({ kind: 'known', ms: 20 });
  });

  it('is not known beyond the slowest call that ran to its end', () => {
    const latency = {
      calls: histogram([80, 20, 0, 0, 0, 0]),
      first_ended: none,
      first_cut: histogram([0, 20, 0, 0, 0, 0]),
    };
    expect(quantileUnhedged(latency, 0.99)).toEqual({ kind: 'above', ms: 19.5 });
  });

  it('is no less than nothing where an attempt was cut in another bucket than its call ended in', () => {
    const latency = {
      calls: histogram([10, 0, 0, 0, 0, 0]),
      first_ended: none,
      first_cut: histogram([0, 1, 0, 0, 0, 0]),
    };
    expect(quantileUnhedged(latency, 0.5).kind).toBe('known');
  });
});

describe('the headline', () => {
  const busy = (codes: Readonly<Record<string, number>>, more: Partial<LiveCalls> = {}) => {
    const ended = Object.values(codes).reduce((sum, count) => sum + count, 0);
    return { codes, calls: calls({ ended, ok: codes['OK'] ?? 0, cancelled: codes['CANCELLED'] ?? 0, ...more }) };
  };
  const parked = backend('b', { state: 'parked' });

  const cases: readonly [name: string, snapshot: LiveSnapshot, level: string, text: string][] = [
    ['idle', live(), 'ok', 'All is well; no calls just now.'],
    ['well', live(busy({ OK: 10 })), 'ok', 'All is well; nothing had to be retried.'],
    [
      'saved',
      live(busy({ OK: 100 }, { saved: 4, hedges_won: 3 })),
      'ok',
      'All is well: retries saved 4 % of the calls, hedges answered 3 % of them first.',
    ],
    [
      'hedged',
      live(busy({ OK: 100 }, { hedges_won: 3 })),
      'ok',
      'All is well: hedges answered 3 % of the calls first.',
    ],
    [
      'answers that were meant so and calls that clients gave up',
      live(busy({ OK: 10, NOT_FOUND: 30, FAILED_PRECONDITION: 20, CANCELLED: 50 })),
      'ok',
      'All is well; nothing had to be retried.',
    ],
    [
      'draining',
      live({ draining: true, ready: false }),
      'warn',
      'Draining: no new clients are let in, calls in flight finish.',
    ],
    [
      'drained',
      live({ draining: true, drained: true, ready: false }),
      'warn',
      'Drained: it waits for the signal to end.',
    ],
    ['nobody', live({ backends: [], ready: false }), 'bad', 'No backends are known: every call ends UNAVAILABLE.'],
    [
      'down',
      live({ ready: false, backends: [backend('a', { state: 'down' })] }),
      'bad',
      'No backend can be reached: calls end UNAVAILABLE.',
    ],
    [
      'all parked',
      live({ backends: [parked] }),
      'bad',
      'Every backend that is connected is parked: calls go to them all the same.',
    ],
    [
      'throttled before its failures',
      live({ throttle, ...busy({ OK: 1, UNAVAILABLE: 9 }) }),
      'bad',
      'Retries are held back: too many attempts fail (4.3 tokens; above 5 they go on).',
    ],
    [
      'fails',
      live(busy({ OK: 80, UNAVAILABLE: 5, INTERNAL: 15 })),
      'bad',
      '20 % of calls fail, most often with INTERNAL.',
    ],
    [
      'fails now and then',
      live(busy({ OK: 98, UNAVAILABLE: 2 })),
      'warn',
      '2 % of calls fail, most often with UNAVAILABLE.',
    ],
    ['fails next to never', live(busy({ OK: 999, UNAVAILABLE: 1 })), 'ok', 'All is well; nothing had to be retried.'],
    [
      'rejected',
      live({ config: { path: null, version: '1', rejected: true } }),
      'warn',
      'The service config was changed and refused: the last good one is in force.',
    ],
    ['one parked', live({ backends: [backend('a'), parked] }), 'warn', '1 of 2 backends are ready: b is parked.'],
    [
      'several amiss',
      live({ backends: [backend('a'), parked, backend('c', { state: 'down' })] }),
      'warn',
      '1 of 3 backends are ready: b is parked, c is down.',
    ],
  ];
  it.each(cases)('%s', (_name, snapshot, level, text) => {
    expect(headline(snapshot, null)).toEqual({ level, text });
  });

  it.each(failureCodes)('is bad where every call ends %s, whatever the reason', (code) => {
    for (const reason of ['fatal_status', 'no_policy', 'attempts_exhausted'] as const)
      expect(headline(live({ ...busy({ [code]: 20 }), reasons: { [reason]: 20 } }), null)).toEqual({
        level: 'bad',
        text: `100 % of calls fail, most often with ${code}.`,
      });
  });

  it('counts as failures what wakes somebody: the statuses of HedgerowCallsFail in deploy/alerts.yml', () => {
    const rule = readFileSync(new URL('../../../deploy/alerts.yml', import.meta.url), 'utf8')
      .split('- alert: ')
      .find((text) => text.startsWith('HedgerowCallsFail\n'));
    const codes = rule?.match(/code=~"([A-Z_|]+)"/)?.[1] ?? '';
    expect(codes.split('|').toSorted()).toEqual(failureCodes.toSorted());
  });

  it('tells of the span, not of what was before it', () => {
    const past = live(busy({ OK: 1, UNAVAILABLE: 99 }));
    const now = live({ uptime_ms: 20_000, ...busy({ OK: 101, UNAVAILABLE: 99 }) });
    expect(headline(now, past)).toEqual({ level: 'ok', text: 'All is well; nothing had to be retried.' });
  });
});

it('percent rounds nothing to none, and nothing to all', () => {
  expect([0, 0.00001, 0.004, 0.05, 0.5, 0.955, 0.9995, 0.99999, 1].map(percent)).toEqual([
    '0 %',
    'under 0.01 %',
    '0.4 %',
    '5 %',
    '50 %',
    '95.5 %',
    '99.95 %',
    'over 99.99 %',
    '100 %',
  ]);
});
