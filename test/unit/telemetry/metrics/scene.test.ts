import { expect, test } from 'vitest';
import { backendId } from '../../../../src/grpc/backend-id.js';
import { millis } from '../../../../src/grpc/millis.js';
import { answer, attemptOf, createMeters, idle, play, printed, samples } from './rig.js';

test('a small scene, as Prometheus gets it', async () => {
  const meters = createMeters();
  meters.clientConnected();
  const second = attemptOf({ cause: 'retry', previous: 1, startedAt: 20, endedAt: 25 });
  play(meters, {
    named: true,
    guarded: true,
    attempts: [attemptOf({ end: answer(14, { pushback: { kind: 'after', ms: millis(17) } }) }), second],
  });
  meters.committed('headers');
  meters.callRefused(3, 'invalid_directive');
  meters.clientRefused('flood');
  meters.reloaded('service_config', 'rejected');
  meters.resolved('changed');
  meters.throttled();
  meters.lineDropped('call');
  meters.lagged(3);
  meters.healthChanged(
    { kind: 'parked', id: backendId('b1'), reason: 'operator', parkMs: null, streak: 0, failures: 0, transport: false },
    1000,
  );
  const text = printed(meters, {
    now: 3500,
    callsInFlight: 2,
    clientConnections: 1,
    replayHeld: 15,
    replayPeak: 30,
    relayWaiting: 7,
    relayExceeded: 3,
    throttle: { milliTokens: 9500, limits: { maxMilliTokens: 10_000, milliTokensPerSuccess: 100 } },
    sessions: { size: 4, outcomes: { ...idle.sessions.outcomes, created: 5, expired: 1 } },
    draining: true,
    backends: [{ name: 'b1', state: 'parked', inFlight: 2, queued: 1, connections: 1 }],
    wire: {
      client: { received: { bytes: 100, frames: { HEADERS: 1, PING: 0 } }, sent: { bytes: 200, frames: { DATA: 2 } } },
      backend: idle.wire.backend,
    },
  });
  await expect(text).toMatchFileSnapshot('scene.txt');
});

test('members of a group are summed up under its name', () => {
  const meters = createMeters();
  const member = { name: 'pool', inFlight: 2, queued: 1, connections: 1 } as const;
  const backends = [
    { ...member, state: 'ready' },
    { ...member, state: 'ready' },
    { ...member, state: 'down', connections: 0 },
    { ...member, name: 'other', state: 'ready' },
  ] as const;
  const text = printed(meters, { ...idle, backends });
  expect(samples(text, 'hedgerow_backend_state')).toEqual({
    'backend="pool",state="ready"': 2,
    'backend="pool",state="down"': 1,
    'backend="other",state="ready"': 1,
  });
  expect(samples(text, 'hedgerow_backend_in_flight')).toEqual({ 'backend="pool"': 6, 'backend="other"': 2 });
  expect(samples(text, 'hedgerow_backend_connections')).toEqual({ 'backend="pool"': 2, 'backend="other"': 1 });
});

test('a park’s time runs until it is released, or is over by itself', () => {
  const meters = createMeters();
  const parked = (id: string, parkMs: number | null) =>
    ({
      kind: 'parked',
      id: backendId(id),
      reason: 'consecutive_failures',
      parkMs,
      streak: 1,
      failures: 3,
      transport: false,
    }) as const;
  const released = (id: string) =>
    ({
      kind: 'released',
      id: backendId(id),
      reason: 'consecutive_failures',
      route: 'lapsed_probe',
      parkMs: 0,
    }) as const;
  const seconds = (now: number) => samples(printed(meters, { ...idle, now }), 'hedgerow_backend_park_seconds_total');
  meters.healthChanged(parked('g/1.1.1.1:1', 1000), 0);
  expect(seconds(400)).toEqual({ 'backend="g"': 0.4 });
  // Lapsed: it is probed from then on.
  expect(seconds(5000)).toEqual({ 'backend="g"': 1 });
  meters.healthChanged(released('g/1.1.1.1:1'), 6000);
  meters.healthChanged(parked('g/1.1.1.1:1', null), 10_000);
  expect(seconds(12_000)).toEqual({ 'backend="g"': 3 });
  meters.healthChanged(parked('g/2.2.2.2:2', 1000), 12_000);
  meters.healthChanged(released('g/1.1.1.1:1'), 12_000);
  expect(seconds(12_500)).toEqual({ 'backend="g"': 3.5 });
  const text = printed(meters);
  expect(samples(text, 'hedgerow_backend_parks_total')).toEqual({ 'backend="g",reason="consecutive_failures"': 3 });
  expect(samples(text, 'hedgerow_backend_releases_total')).toEqual({ 'backend="g",route="lapsed_probe"': 2 });
});

test('losses are counted by what became of their attempts', () => {
  const meters = createMeters();
  const loss = { backend: backendId('g/1.1.1.1:1'), generation: 1, detail: '', attempts: 3 };
  meters.lost({ ...loss, outcomes: { re_dispatched: 2, failed: 1 } });
  meters.lost({ ...loss, outcomes: { re_dispatched: 1 } });
  expect(samples(printed(meters), 'hedgerow_backend_loss_total')).toEqual({
    'backend="g",outcome="re_dispatched"': 3,
    'backend="g",outcome="failed"': 1,
  });
});

test('a buffer that overflows shows as a commit and as an overflow', () => {
  const meters = createMeters();
  for (const cause of ['buffer_call', 'buffer_client', 'buffer_total', 'ok'] as const) meters.committed(cause);
  expect(samples(printed(meters), 'hedgerow_replay_overflow_total')).toEqual({ '': 3 });
});

test('without throttling there are no tokens to tell', () => {
  expect(printed(createMeters())).not.toMatch(/^hedgerow_throttle_(max_)?tokens/m);
});
