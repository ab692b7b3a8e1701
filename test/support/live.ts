import type { BackendRow } from '../../src/admin/backend-state.js';
import type { LiveHistogram, LiveSnapshot } from '../../src/admin/live.js';

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
    ready: true,
    config: { path: 'service-config.json', version: '1', rejected: false },
    in_flight: 0,
    clients: 1,
    calls: { ended: 0, ok: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
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
