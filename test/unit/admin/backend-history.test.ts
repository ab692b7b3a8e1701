import { expect, test } from 'vitest';
import { BackendHistory, type Sight } from '../../../src/admin/backend-history.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import type { UpstreamBackend } from '../../../src/upstream/types.js';
import { backend } from './backends.js';

const b1 = backendId('b1');

function sight(rest: Partial<UpstreamBackend> = {}, parkedForMs: number | null = 0): Sight {
  const standing = parkedForMs === 0 ? 'clean' : 'parked';
  return { backend: backend(rest), stats: { standing, parked_for_ms: parkedForMs, rate_limited_for_ms: 0 } };
}

test('ADM-04: a state is dated by the first look that found it', () => {
  const history = new BackendHistory([]);
  expect(history.look(sight(), 100).since).toBe(100);
  expect(history.look(sight(), 200).since).toBe(100);
  expect(history.look(sight({}, 1000), 300).since).toBe(300);
  expect(history.look(sight({ phase: 'leaving' }), 400).since).toBe(400);
  expect(history.look(sight(), 500).since).toBe(500);
});

test('ADM-04: a park that lapsed unseen is dated by its end', () => {
  const history = new BackendHistory([]);
  history.look(sight({}, 1000), 100);
  expect(history.look(sight(), 5000).since).toBe(1100);
});

test('ADM-04: a park that is longer than it was goes on, one after another begins anew', () => {
  const history = new BackendHistory([]);
  history.look(sight({}, 1000), 100);
  expect(history.look(sight({}, 5000), 600).since).toBe(100);
  expect(history.look(sight({}, null), 5599).since).toBe(100);
  const other = new BackendHistory([]);
  other.look(sight({}, 1000), 100);
  expect(other.look(sight({}, 1000), 1100).since).toBe(1100);
});

test('ADM-04: a park that ends before its time is dated by its end', () => {
  const history = new BackendHistory([]);
  history.look(sight({}, 1000), 100);
  expect(history.look(sight(), 400).since).toBe(400);
});

test('ADM-04: rate limits end by time as well', () => {
  const history = new BackendHistory([]);
  const limited = { standing: 'rate_limited', parked_for_ms: 0, rate_limited_for_ms: 50 } as const;
  history.look({ backend: backend(), stats: limited }, 100);
  expect(history.look(sight(), 900).since).toBe(150);
});

test('ADM-04: without a connection it counts since when none has been up, however often it was tried', () => {
  const history = new BackendHistory([]);
  history.look(sight(), 100);
  const away = { connections: 0, downSince: 250 };
  expect(history.look(sight({ ...away, link: 'connecting' }), 300).since).toBe(250);
  expect(history.look(sight({ ...away, link: 'backoff' }), 900).since).toBe(250);
});

test('ADM-05: losses add up by outcome, and outlive the backend that was lost', () => {
  const history = new BackendHistory(['re_dispatched', 'failed']);
  expect(history.look(sight(), 0).losses).toEqual({ re_dispatched: 0, failed: 0 });
  history.lost({ backend: b1, outcomes: { failed: 2 } });
  history.lost({ backend: b1, outcomes: { re_dispatched: 1, failed: 1 } });
  history.lost({ backend: backendId('b2'), outcomes: { failed: 7 } });
  history.keepOnly(new Set());
  expect(history.look(sight(), 0).losses).toEqual({ re_dispatched: 1, failed: 3 });
});

test('losses of names that never come back are forgotten in the end, the oldest first', () => {
  const history = new BackendHistory(['failed']);
  history.lost({ backend: b1, outcomes: { failed: 1 } });
  history.lost({ backend: backendId('b2'), outcomes: { failed: 1 } });
  history.lost({ backend: b1, outcomes: { failed: 1 } });
  for (let n = 0; n < 4095; n += 1) history.lost({ backend: backendId(`x${n}`), outcomes: { failed: 1 } });
  expect(history.look(sight(), 0).losses).toEqual({ failed: 2 });
  expect(history.look(sight({ id: backendId('b2') }), 0).losses).toEqual({ failed: 0 });
});

test('ADM-06: the route by which a park ended is told until the next park', () => {
  const history = new BackendHistory([]);
  history.look(sight({}, 1000), 0);
  expect(history.look(sight({}, 1000), 0).releaseRoute).toBeNull();
  history.changed({ kind: 'released', id: b1, reason: 'consecutive_failures', route: 'lapsed_probe', parkMs: 0 });
  expect(history.look(sight(), 10).releaseRoute).toBe('lapsed_probe');
  history.changed({
    kind: 'parked',
    id: b1,
    reason: 'operator',
    parkMs: null,
    streak: 0,
    failures: 0,
    transport: false,
  });
  expect(history.look(sight({}, null), 20).releaseRoute).toBeNull();
});

test('what left is forgotten: one that comes back is dated anew', () => {
  const history = new BackendHistory([]);
  history.look(sight(), 100);
  history.keepOnly(new Set([b1]));
  expect(history.look(sight(), 200).since).toBe(100);
  history.keepOnly(new Set());
  expect(history.look(sight(), 300).since).toBe(300);
});
