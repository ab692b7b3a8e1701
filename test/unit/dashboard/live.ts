import type { LiveCalls, LiveSnapshot, RecentCall } from '../../../src/admin/live.js';
import { backend } from '../../support/live.js';

type Row = LiveSnapshot['backends'][number];

const bounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** Counts by bucket: `{ 10: 5 }` is five that took from 5 to 10 ms; `Infinity` is the last bucket. */
export function histogram(counts: Readonly<Record<number, number>> = {}): LiveSnapshot['latency']['calls'] {
  return { bounds_ms: bounds, counts: [...bounds, Number.POSITIVE_INFINITY].map((bound) => counts[bound] ?? 0) };
}

export function backendRow(rest: Partial<Row> = {}): Row {
  return backend('oak', {
    since_ms: 65_000,
    in_flight: 1,
    calls: 100,
    successes: 98,
    failures: 2,
    failure_rate: 0.02,
    ewma_ms: 12.5,
    samples: 40,
    ...rest,
  });
}

export const noCalls: LiveCalls = { ended: 0, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 };

/** A program that has run for a minute, with three backends and nothing wrong. */
export function snapshot(rest: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return {
    instance: 'run1',
    version: '0.1.0',
    at: 1_800_000_000_000,
    uptime_ms: 60_000,
    draining: false,
    drained: false,
    ready: true,
    config: { path: 'service-config.json', version: '4c7d2cbe9588', rejected: false },
    in_flight: 2,
    clients: 1,
    calls: noCalls,
    codes: {},
    reasons: {},
    attempts: [0, 0, 0, 0, 0],
    latency: { calls: histogram(), first_ended: histogram(), first_cut: histogram() },
    throttle: { tokens: 10, max_tokens: 10, threshold: 5, token_ratio: 0.5, shut: false, suppressed: 0 },
    replay: { held: 0, limit: 67_108_864 },
    backends: [backendRow(), backendRow({ name: 'elm' }), backendRow({ name: 'hazel' })],
    methods: [],
    ...rest,
  };
}

type Attempt = RecentCall['attempts'][number];

export function attempt(rest: Partial<Attempt> = {}): Attempt {
  return { backend: 'oak', cause: 'first', at: 0, sent: 0.2, ms: 10, result: 'ok', told: true, code: 'OK', ...rest };
}

/** A call that was retried once and answered. */
export function call(rest: Partial<RecentCall> = {}): RecentCall {
  return {
    seq: 1,
    started: 1_800_000_000_000,
    call: 'run1-1',
    method: '/shop.v1.Orders/GetOrder',
    code: 'OK',
    reason: 'ok',
    retries: 1,
    hedges: 0,
    transparent: 0,
    commit: 'headers',
    ms: 80,
    deadline_ms: 5000,
    replay_peak: 12,
    attempts: [
      attempt({ ms: 10, result: 'failed', told: undefined, code: 'UNAVAILABLE', message: 'restarting' }),
      attempt({ backend: 'elm', cause: 'retry', at: 60, sent: 60.1, ms: 20 }),
    ],
    why: 'the call was answered',
    remedy: null,
    help: '/troubleshooting#ok',
    ...rest,
  };
}

/** A call that a hedge answered while two others hung. */
export function hedgedCall(rest: Partial<RecentCall> = {}): RecentCall {
  return call({
    seq: 2,
    call: 'run1-2',
    method: '/shop.v1.Orders/FindOrder',
    retries: 2,
    hedges: 2,
    ms: 133,
    deadline_ms: 2000,
    attempts: [
      attempt({ backend: 'elm', ms: 132, result: 'cancelled', told: undefined, code: 'CANCELLED' }),
      attempt({
        ...{ backend: 'oak', cause: 'hedge', trigger: 'delay', at: 61, sent: 61.1, ms: 71 },
        ...{ result: 'cancelled', told: undefined, code: 'CANCELLED' },
      }),
      attempt({ backend: 'hazel', cause: 'hedge', trigger: 'delay', at: 127, sent: 127.1, ms: 6 }),
    ],
    ...rest,
  });
}

/** A call that the throttle kept from being retried. */
export function throttledCall(rest: Partial<RecentCall> = {}): RecentCall {
  return call({
    seq: 3,
    call: 'run1-3',
    code: 'UNAVAILABLE',
    message: 'restarting',
    reason: 'throttled',
    origin: 'backend',
    processed: 'unknown',
    retries: 0,
    commit: null,
    ms: 12,
    attempts: [attempt({ backend: 'hazel', ms: 11.7, result: 'failed', code: 'UNAVAILABLE', message: 'restarting' })],
    why: 'too many calls fail just now: the retry throttle is shut',
    remedy: 'heal the backends: successes fill the bucket by themselves',
    help: '/troubleshooting#throttled',
    ...rest,
  });
}
