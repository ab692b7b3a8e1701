import { describe, expect, it } from 'vitest';
import { hedgeConfig, throttled } from '../../support/policies.js';
import type { TestProxy } from '../../support/proxy.js';
import { behave } from '../../support/raw-peer.js';
import { line, path, retryConfig, useScene } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';
import { createMeters, samples } from '../../unit/telemetry/metrics/rig.js';

/*
 * What calls over the wire are counted as (A66, A96, D23): real calls, real numbers, read over the admin listener.
 */

const scene = useScene();
const { fail, kill, ok, silent } = behave;
const unavailable = 14;
const unimplemented = 12;
const admin = ['--admin', '127.0.0.1:0'];

/** The samples of one metric that are not 0. */
async function read(proxy: TestProxy, name: string): Promise<Record<string, number>> {
  return samples(await (await fetch(`http://${proxy.admin}/metrics`)).text(), name);
}

/** Asks again until the value is as wanted; the test's own time limit ends it. */
async function until(proxy: TestProxy, name: string, wanted: (value: number) => boolean, labels = ''): Promise<void> {
  while (!wanted((await read(proxy, name))[labels] ?? 0));
}

const grpc = (status: string): string => `grpc_method="t.S/M",grpc_target="hedgerow:///",grpc_status="${status}"`;

describe('metrics of calls', () => {
  it('MET-01: a retried call: both attempts, one call, the wait, and bytes of messages alone', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(unavailable), ok('pong', 'pong')],
      flags: admin,
      meters: createMeters(),
    });
    await call({ messages: ['hi', '!'] });
    expect(await read(proxy, 'grpc_client_attempt_started_total')).toEqual({
      'grpc_method="t.S/M",grpc_target="hedgerow:///"': 2,
    });
    expect(await read(proxy, 'grpc_client_attempt_duration_seconds_count')).toEqual({
      [grpc('UNAVAILABLE')]: 1,
      [grpc('OK')]: 1,
    });
    const size = 'total_compressed_message_size_bytes_sum';
    expect((await read(proxy, `grpc_client_attempt_sent_${size}`))[grpc('OK')]).toBe(3);
    expect(await read(proxy, `grpc_client_attempt_rcvd_${size}`)).toEqual({ [grpc('OK')]: 8 });
    expect(await read(proxy, 'grpc_client_call_duration_seconds_count')).toEqual({ [grpc('OK')]: 1 });
    expect(Object.values(await read(proxy, 'grpc_client_call_retries_sum'))).toEqual([1]);
    const [delay = 0] = Object.values(await read(proxy, 'grpc_client_call_retry_delay_seconds_sum'));
    expect(delay).toBeGreaterThanOrEqual(0.002);
    expect(await read(proxy, 'hedgerow_retries_total')).toEqual({ 'reason="status",outcome="success"': 1 });
    expect(await read(proxy, 'hedgerow_commits_total')).toEqual({ 'cause="headers"': 1 });
    expect(await read(proxy, 'hedgerow_attempts_total')).toEqual({
      'backend="b1",cause="first",result="UNAVAILABLE"': 1,
      'backend="b1",cause="retry",result="ok"': 1,
    });
    expect(await read(proxy, 'hedgerow_replay_call_bytes_sum')).toEqual({ '': 13 });
  });

  it('MET-02: a method that only clients name is `other`; once a backend has answered for it, it is itself', async () => {
    const { client, proxy, backend } = await scene.stage({ flags: admin, meters: createMeters() });
    backend.behave(fail(unimplemented));
    await client.call('/attack/Er').done();
    await client.call('/attack/E2').done();
    expect(await read(proxy, 'hedgerow_calls_total')).toEqual({
      'method="other",code="UNIMPLEMENTED",stop_reason="no_policy"': 2,
    });
    expect(await read(proxy, 'grpc_client_attempt_started_total')).toEqual({
      'grpc_method="other",grpc_target="hedgerow:///"': 2,
    });
    backend.behave(ok());
    await client.call('/real/One').done();
    expect((await read(proxy, 'hedgerow_calls_total'))['method="real/One",code="OK",stop_reason="ok"']).toBe(1);
    expect(
      (await read(proxy, 'grpc_client_attempt_started_total'))['grpc_method="real/One",grpc_target="hedgerow:///"'],
    ).toBe(1);
  });

  it('MET-02: a request that never becomes a call is of no method, with its own stop reason', async () => {
    const { client, proxy } = await scene.stage({ flags: admin, meters: createMeters(), serviceConfig: retryConfig() });
    await client.call(path, { headers: line('grpc-timeout', 'nonsense') }).done();
    expect(await read(proxy, 'hedgerow_calls_total')).toEqual({
      'method="other",code="INTERNAL",stop_reason="malformed_request"': 1,
    });
  });

  it('MET-03: hedges by what sent each and whether it won; the losers are cancelled', async () => {
    const time = createVirtualTime();
    const { client, proxy, backend } = await scene.stage({
      serviceConfig: hedgeConfig({ maxAttempts: 4, delay: 100 }),
      onStream: silent,
      flags: admin,
      meters: createMeters(),
      time,
    });
    const call = client.call(path, { messages: ['hi'] });
    await backend.waitForStream(1);
    time.advance(100);
    const second = await backend.waitForStream(2);
    second.trailersOnly(unavailable);
    const third = await backend.waitForStream(3);
    third.trailersOnly(unavailable, line('grpc-retry-pushback-ms', '40'));
    await client.ping();
    time.advance(40);
    const fourth = await backend.waitForStream(4);
    await fourth.whenEnded();
    await fourth.answer(['pong']);
    await call.done();
    expect(await read(proxy, 'hedgerow_hedges_total')).toEqual({
      'trigger="delay",won="false"': 1,
      'trigger="nonfatal",won="false"': 1,
      'trigger="pushback",won="true"': 1,
    });
    expect(await read(proxy, 'hedgerow_attempts_total')).toEqual({
      'backend="b1",cause="first",result="cancelled"': 1,
      'backend="b1",cause="hedge",result="UNAVAILABLE"': 2,
      'backend="b1",cause="hedge",result="ok"': 1,
    });
    expect(await read(proxy, 'hedgerow_pushbacks_total')).toEqual({ 'kind="after"': 1 });
  });

  it('MET-04: the bucket: its tokens, its maximum, and calls that it held back', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: { ...retryConfig(), ...throttled([5, 0.5]) },
      onStream: fail(unavailable),
      flags: admin,
      meters: createMeters(),
    });
    await call();
    await call();
    expect(await read(proxy, 'hedgerow_throttle_tokens')).toEqual({ '': 1 });
    expect(await read(proxy, 'hedgerow_throttle_max_tokens')).toEqual({ '': 5 });
    expect(await read(proxy, 'hedgerow_throttled_total')).toEqual({ '': 2 });
    expect(await read(proxy, 'hedgerow_retry_stopped_total')).toEqual({ 'stop_reason="throttled"': 2 });
  });

  it('MET-04: a hedged call that the bucket holds back counts once, however many of its attempts end after that', async () => {
    const time = createVirtualTime();
    const { client, proxy, backend } = await scene.stage({
      serviceConfig: hedgeConfig({ maxAttempts: 4, delay: 100, throttling: [2, 1] }),
      onStream: silent,
      flags: admin,
      meters: createMeters(),
      time,
    });
    const call = client.call(path, { messages: ['hi'] });
    const first = await backend.waitForStream(1);
    time.advance(100);
    const second = await backend.waitForStream(2);
    first.trailersOnly(unavailable);
    second.trailersOnly(unavailable);
    await call.done();
    expect(call.trailer('hedgerow-stop-reason')).toBe('throttled');
    expect(await read(proxy, 'hedgerow_throttled_total')).toEqual({ '': 1 });
  });

  it('MET-05: a lost backend: its attempts by what became of them, its connections by what happened', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [kill, ok()],
      flags: admin,
      meters: createMeters(),
    });
    await call();
    await proxy.loss(0);
    expect(await read(proxy, 'hedgerow_attempts_total')).toEqual({
      'backend="b1",cause="first",result="lost"': 1,
      'backend="b1",cause="retry",result="ok"': 1,
    });
    expect(await read(proxy, 'hedgerow_retries_total')).toEqual({ 'reason="backend_lost",outcome="success"': 1 });
    expect(await read(proxy, 'hedgerow_backend_loss_total')).toEqual({ 'backend="b1",outcome="re_dispatched"': 1 });
    expect(await read(proxy, 'hedgerow_backend_connection_events_total')).toEqual({
      'backend="b1",event="connected"': 2,
      'backend="b1",event="lost"': 1,
    });
    expect(await read(proxy, 'hedgerow_backend_state')).toEqual({ 'backend="b1",state="ready"': 1 });
  });

  it('MET-05: a backend that is parked, and for how long', async () => {
    const time = createVirtualTime();
    const { proxy } = await scene.stage({ flags: admin, meters: createMeters(), time });
    const post = (action: string) => fetch(`http://${proxy.admin}/backends/b1/${action}`, { method: 'POST' });
    await post('park');
    expect(await read(proxy, 'hedgerow_backend_state')).toEqual({ 'backend="b1",state="parked"': 1 });
    time.advance(2000);
    await post('unpark');
    time.advance(2000);
    expect(await read(proxy, 'hedgerow_backend_parks_total')).toEqual({ 'backend="b1",reason="operator"': 1 });
    expect(await read(proxy, 'hedgerow_backend_releases_total')).toEqual({ 'backend="b1",route="operator"': 1 });
    expect(await read(proxy, 'hedgerow_backend_park_seconds_total')).toEqual({ 'backend="b1"': 2 });
    expect(await read(proxy, 'hedgerow_backend_state')).toEqual({ 'backend="b1",state="ready"': 1 });
  });

  it('MET-10: bytes that are kept, that wait for a peer, and calls in flight, as they are now', async () => {
    const flags = [...admin, '--per-call-buffer-limit', '1KiB'];
    const { client, proxy, backend } = await scene.stage({
      backend: { windows: 'none' },
      onStream: silent,
      flags,
      meters: createMeters(),
    });
    const kept = client.call(path, { messages: ['hi'], end: false });
    await backend.waitForStream(1);
    await client.ping();
    expect(await read(proxy, 'hedgerow_calls_in_flight')).toEqual({ '': 1 });
    expect(await read(proxy, 'hedgerow_replay_buffer_bytes')).toEqual({ '': 7 });
    const large = client.call(path, { end: false });
    await backend.waitForStream(2);
    void large.sendData(Buffer.alloc(200_000), false);
    await until(proxy, 'hedgerow_relay_buffer_bytes', (bytes) => bytes > 100_000);
    expect((await read(proxy, 'hedgerow_replay_buffer_peak_bytes'))['']).toBeGreaterThanOrEqual(7);
    kept.reset();
    large.reset();
    await proxy.call(1);
    expect(await read(proxy, 'hedgerow_calls_in_flight')).toEqual({});
    expect(await read(proxy, 'hedgerow_relay_buffer_bytes')).toEqual({});
  });

  it('MET-10: look-ups of names', async () => {
    const backend = await scene.backend({});
    const proxy = await scene.proxy({
      backends: { g: `localhost:${backend.port}` },
      flags: admin,
      meters: createMeters(),
      connected: false,
    });
    await until(proxy, 'hedgerow_resolutions_total', (count) => count > 0, 'outcome="changed"');
  });

  it('MET-06: the deadline is the status of what it cut off; what the client cancels is `cancelled`', async () => {
    const time = createVirtualTime();
    const { client, proxy, backend } = await scene.stage({
      onStream: silent,
      flags: admin,
      meters: createMeters(),
      serviceConfig: retryConfig(),
      time,
    });
    const late = client.call(path, { messages: ['hi'], headers: line('grpc-timeout', '1S') });
    await backend.waitForStream(1);
    time.advance(1000);
    await late.done();
    const cancelled = client.call(path, { messages: ['hi'] });
    await backend.waitForStream(2);
    cancelled.reset();
    await proxy.call(1);
    expect(await read(proxy, 'hedgerow_attempts_total')).toEqual({
      'backend="b1",cause="first",result="DEADLINE_EXCEEDED"': 1,
      'backend="b1",cause="first",result="cancelled"': 1,
    });
    expect(await read(proxy, 'hedgerow_calls_total')).toEqual({
      'method="t.S/M",code="DEADLINE_EXCEEDED",stop_reason="deadline_exceeded"': 1,
      'method="t.S/M",code="CANCELLED",stop_reason="client_cancelled"': 1,
    });
    expect(await read(proxy, 'grpc_client_attempt_duration_seconds_sum')).toMatchObject({
      [grpc('DEADLINE_EXCEEDED')]: 1,
    });
  });
});
