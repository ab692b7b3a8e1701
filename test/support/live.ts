import type { BackendRow } from '../../src/admin/backend-state.js';
import type { LiveHistogram, LiveSnapshot, RecentCall } from '../../src/admin/live.js';

/** Bounds of 10, 20, 40, 80 and 160 ms. */
export function histogram(counts: readonly number[] = [0, 0, 0, 0, 0, 0]): LiveHistogram {
  return { bounds_ms: [10, 20, 40, 80, 160], counts };
}

/** A program that has run for 10 s and has nothing to do; `changes` on top. */
export function live(changes: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return {
    instance: 'first',
    version: '0.1.0',
    at: 1_760_000_010_000,
    uptime_ms: 10_000,
    draining: false,
    drained: false,
    ready: true,
    config: { path: 'service-config.json', version: '1', rejected: false },
    in_flight: 0,
    clients: 1,
    calls: { ended: 0, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
    codes: {},
    reasons: {},
    attempts: [0, 0, 0, 0, 0],
    latency: { calls: histogram(), first_ended: histogram(), first_cut: histogram() },
    throttle: null,
    replay: { held: 0, limit: 67_108_864 },
    backends: [backend('a')],
    methods: [],
    ...changes,
  };
}

/** A backend that is well; `changes` on top. */
export function backend(name: string, changes: Partial<BackendRow> = {}): BackendRow {
  return {
    name,
    group: name,
    address: '127.0.0.1:50061',
    target: '127.0.0.1:50061',
    source: 'flags',
    state: 'ready',
    why: null,
    since_ms: 10_000,
    in_flight: 0,
    queued: 0,
    calls: 0,
    successes: 0,
    failures: 0,
    timeouts: 0,
    rate_limited: 0,
    failure_rate: 0,
    consecutive_failures: 0,
    consecutive_hard_failures: 0,
    threshold_breached: false,
    parked_for_ms: 0,
    park_reason: null,
    park_streak: 0,
    rate_limited_for_ms: 0,
    recent_failure: false,
    standing: 'clean',
    ewma_ms: null,
    samples: 0,
    release_route: null,
    losses: {},
    connections: 1,
    generation: 1,
    weight: 1,
    priority: 0,
    max_calls: null,
    last_error: null,
    next_connect_in_ms: null,
    ...changes,
  };
}

type Attempt = RecentCall['attempts'][number];

export function attempt(changes: Partial<Attempt> = {}): Attempt {
  return { backend: 'a', cause: 'first', at: 0, ms: 10, result: 'ok', code: 'OK', ...changes };
}

/** A call that was answered at its first attempt; `changes` on top. */
export function recentCall(seq: number, changes: Partial<RecentCall> = {}): RecentCall {
  return {
    seq,
    started: 1_760_000_000_000 + seq,
    call: `0abc-${seq}`,
    method: '/shop.v1.Cart/Add',
    code: 'OK',
    reason: 'ok',
    retries: 0,
    hedges: 0,
    transparent: 0,
    commit: 'headers',
    ms: 10,
    replay_peak: 0,
    attempts: [attempt()],
    why: 'the call was answered',
    remedy: null,
    help: '/troubleshooting#ok',
    ...changes,
  };
}

/** All attempts failed. */
export function exhausted(seq: number, changes: Partial<RecentCall> = {}): RecentCall {
  const failed = { result: 'failed', code: 'UNAVAILABLE' } as const;
  return recentCall(seq, {
    code: 'UNAVAILABLE',
    reason: 'attempts_exhausted',
    origin: 'backend',
    retries: 1,
    commit: null,
    ms: 100,
    attempts: [attempt({ ...failed, ms: 20 }), attempt({ ...failed, backend: 'b', cause: 'retry', at: 80, ms: 20 })],
    why: 'all 2 attempts that the policy permits failed',
    remedy: 'look at the backends; more attempts help only where failures are brief',
    help: '/troubleshooting#attempts_exhausted',
    ...changes,
  });
}

/** A hedge answered; the first attempt was cut. */
export function hedgedCall(seq: number, changes: Partial<RecentCall> = {}): RecentCall {
  return recentCall(seq, {
    method: '/shop.v1.Search/Find',
    retries: 1,
    hedges: 1,
    ms: 80,
    attempts: [
      attempt({ ms: 80, result: 'cancelled', code: 'CANCELLED' }),
      attempt({ backend: 'b', cause: 'hedge', at: 60, ms: 20 }),
    ],
    ...changes,
  });
}
