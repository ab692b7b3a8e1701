import { expect, test } from 'vitest';
import type { LiveHistogram } from '../../../../src/proxy/live-numbers.js';
import type { MeteredAttempt } from '../../../../src/proxy/meters.js';
import { liveBuckets } from '../../../../src/telemetry/metrics/definition.js';
import { answer, attemptOf, createMeters, play, printed, samples } from './rig.js';

const unavailable = answer(14);

/** A first attempt that failed after 3 ms. */
const failedFirst = attemptOf({ end: unavailable });
const retry = attemptOf({ cause: 'retry', previous: 1, startedAt: 10, endedAt: 13 });

function hedge(rest: Partial<MeteredAttempt> = {}): MeteredAttempt {
  return attemptOf({ cause: 'hedge', previous: 1, startedAt: 10, endedAt: 13, trigger: 'delay', ...rest });
}

/** Counts and the bounds above which they lie. */
function filled({ bounds_ms, counts }: LiveHistogram): Record<string, number> {
  return Object.fromEntries(
    counts.flatMap((count, at) => (count === 0 ? [] : [[`${bounds_ms[at - 1] ?? 0}-${bounds_ms[at] ?? ''}`, count]])),
  );
}

test('nothing is counted before the first call', () => {
  const live = createMeters().live();
  expect(live).toMatchObject({
    version: '1.2.3',
    calls: { ended: 0, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
    codes: {},
    reasons: {},
    attempts: [0, 0, 0, 0, 0, 0],
    methods: [],
  });
  expect(live.latency.calls.counts).toHaveLength(live.latency.calls.bounds_ms.length + 1);
});

test('calls are told by method, those with most first, and in all; refused ones are among them', () => {
  const meters = createMeters();
  play(meters, { path: '/s/A', named: true });
  for (const code of [0, 0, 14]) play(meters, { path: '/s/B', named: true }, code, code === 0 ? 'ok' : 'fatal_status');
  meters.callRefused(3, 'invalid_directive');
  const live = meters.live();
  expect(live.calls).toMatchObject({ ended: 5, ok: 3 });
  expect(live.methods.map(({ method, ended, ok }) => [method, ended, ok])).toEqual([
    ['s/B', 3, 2],
    ['other', 1, 0],
    ['s/A', 1, 1],
  ]);
  expect(live.reasons).toEqual({ ok: 3, fatal_status: 1, invalid_directive: 1 });
  expect(live.codes).toEqual({ OK: 3, UNAVAILABLE: 1, INVALID_ARGUMENT: 1 });
  expect(live.attempts).toEqual([4, 0, 0, 0, 0, 0]);
});

test('calls that their clients gave up are told, by method and in all', () => {
  const meters = createMeters();
  for (const path of ['/s/A', '/s/B', '/s/B']) play(meters, { path, named: true }, 1, 'client_cancelled');
  // A backend may answer so too: that is an end like any other.
  play(meters, { path: '/s/A', named: true }, 1, 'fatal_status');
  const live = meters.live();
  expect(live.calls).toMatchObject({ ended: 4, cancelled: 3 });
  expect(live.methods.map(({ method, cancelled }) => [method, cancelled])).toEqual([
    ['s/A', 1],
    ['s/B', 2],
  ]);
  expect(live.codes).toEqual({ CANCELLED: 4 });
});

test.each<[string, readonly MeteredAttempt[], number, object]>([
  ['a retry answered', [failedFirst, retry], 0, { saved: 1, retried: 1, hedged: 0, hedges_won: 0 }],
  ['a retry failed too', [failedFirst, retry], 14, { saved: 0, retried: 1 }],
  [
    'the transparent repeat of the first failed, and a retry answered',
    [
      attemptOf({ end: answer(14, { reach: 'refused' }) }),
      attemptOf({ cause: 'transparent', end: unavailable }),
      retry,
    ],
    0,
    { saved: 1, retried: 1 },
  ],
  [
    'the transparent repeat of the first answered',
    [failedFirst, attemptOf({ cause: 'transparent' })],
    0,
    { saved: 0, retried: 0 },
  ],
  [
    'a hedge answered after the first had failed',
    [failedFirst, hedge()],
    0,
    { saved: 1, retried: 0, hedged: 1, hedges_won: 1 },
  ],
  [
    'a hedge answered before the first did',
    [attemptOf({ end: null, endedAt: 13 }), hedge()],
    0,
    { saved: 0, hedged: 1, hedges_won: 1 },
  ],
])('saved, retried and hedged: %s', (_what, attempts, code, expected) => {
  const meters = createMeters();
  play(meters, { attempts, named: true }, code, code === 0 ? 'ok' : 'attempts_exhausted');
  expect(meters.live().calls).toMatchObject(expected);
  expect(meters.live().methods).toMatchObject([expected]);
});

test('a call that its first attempt answered while a hedge ran is hedged, and neither saved nor won', () => {
  const meters = createMeters();
  const first = attemptOf({ endedAt: 20 });
  play(meters, { attempts: [first, hedge({ end: null, endedAt: 20 })], winner: first });
  expect(meters.live().calls).toMatchObject({ saved: 0, hedged: 1, hedges_won: 0 });
});

test('the latency of calls goes into buckets of milliseconds', () => {
  const meters = createMeters();
  for (const ms of [0.1, 3, 3, 100_000]) play(meters, { attempts: [attemptOf({ endedAt: ms })] });
  expect(filled(meters.live().latency.calls)).toEqual({ '0-0.25': 1, '2.635-3.689': 2, '63778.945-': 1 });
});

test('buckets reach from 0.25 ms to a minute, each at most 1.4 times the one before', () => {
  expect(liveBuckets[0]).toBe(0.25);
  expect(liveBuckets.at(-1)).toBeGreaterThan(60_000);
  liveBuckets.slice(1).forEach((bound, at) => {
    expect(bound / (liveBuckets[at] ?? 0)).toBeCloseTo(1.4, 2);
  });
});

test('of hedged calls alone the first attempts are told: how long they took, or until when they were let run', () => {
  const meters = createMeters();
  play(meters, { attempts: [failedFirst, retry] });
  expect(filled(meters.live().latency.first_ended)).toEqual({});
  play(meters, { attempts: [failedFirst, hedge()] });
  play(meters, { attempts: [attemptOf({ end: null, endedAt: 40 }), hedge({ endedAt: 40 })] });
  const { first_ended, first_cut } = meters.live().latency;
  expect(filled(first_ended)).toEqual({ '2.635-3.689': 1 });
  expect(filled(first_cut)).toEqual({ '38.892-54.449': 1 });
});

test('the time of a first attempt that was repeated transparently runs from the first of all', () => {
  const meters = createMeters();
  const again = attemptOf({ cause: 'transparent', startedAt: 30, endedAt: 40 });
  play(meters, { attempts: [failedFirst, again, hedge({ end: null, startedAt: 35, endedAt: 40 })], winner: again });
  expect(filled(meters.live().latency.first_ended)).toEqual({ '38.892-54.449': 1 });
});

test('/metrics tells saved calls by method, from the first call on that had another attempt', () => {
  const meters = createMeters();
  play(meters, { path: '/s/A', named: true });
  expect(printed(meters)).not.toMatch(/^hedgerow_calls_saved_total\{/m);
  play(meters, { path: '/s/A', named: true, attempts: [failedFirst, retry] }, 14, 'attempts_exhausted');
  expect(printed(meters)).toContain('hedgerow_calls_saved_total{method="s/A"} 0');
  play(meters, { path: '/s/A', named: true, attempts: [failedFirst, retry] });
  expect(samples(printed(meters), 'hedgerow_calls_saved_total')).toEqual({ 'method="s/A"': 1 });
});
