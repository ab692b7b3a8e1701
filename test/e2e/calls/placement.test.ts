import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { behave, connectRawClient, type RawBackend } from '../../support/raw-peer.js';
import { line, path, previousAttempts, retryConfig, useScene, verdict } from '../../support/scene.js';

/*
 * Where attempts go, and what becomes of those that find no place (D12, No backend).
 */

const scene = useScene();
const { fail, ok } = behave;
const unavailable = 14;

/** Nobody ever listens here. */
const nowhere = `unix:${join(tmpdir(), 'hedgerow-nobody-listens-here.sock')}`;

/** Every code that a policy can list but UNAVAILABLE. */
const allOthers = Array.from({ length: 16 }, (_, i) => i + 1).filter((code) => code !== unavailable);

function ports(backends: readonly RawBackend[]): Record<string, number> {
  return Object.fromEntries(backends.map(({ name, port }) => [name, port]));
}

function paths(backend: RawBackend): (string | undefined)[] {
  return backend.streams.map((stream) => stream.header('x-call'));
}

describe('several backends', () => {
  it('SM-34, BR-26: a retry goes to the other of two, whichever failed', async () => {
    const a = await scene.backend({ name: 'a', onStream: fail(unavailable) });
    const b = await scene.backend({ name: 'b', onStream: ok('fine') });
    const proxy = await scene.proxy({
      backends: ports([a, b]),
      serviceConfig: retryConfig({ maxAttempts: 2 }),
      flags: ['--health-hard-failures', '1000'],
    });
    const client = await scene.client(proxy);
    for (let n = 0; n < 10; n += 1) {
      const answer = await client.call(path, { headers: line('x-call', String(n)) }).done();
      expect(answer.status).toBe(0);
      expect(answer.trailer('hedgerow-backend')).toBe('b');
    }
    expect(paths(b)).toEqual(Array.from({ length: 10 }, (_, n) => String(n)));
    // Each call fails at most once at a, and a is still asked in its turn.
    expect(new Set(paths(a)).size).toBe(a.streams.length);
    expect(a.streams).toHaveLength(5);
  });

  it('BR-26: of three a retry goes to one that this call has not tried', async () => {
    const a = await scene.backend({ name: 'a', onStream: fail(unavailable) });
    const b = await scene.backend({ name: 'b', onStream: fail(unavailable) });
    const c = await scene.backend({ name: 'c', onStream: ok('fine') });
    const proxy = await scene.proxy({ backends: ports([a, b, c]), serviceConfig: retryConfig({ maxAttempts: 3 }) });
    const client = await scene.client(proxy);
    const calls = Array.from({ length: 12 }, (_, n) => String(n));
    for (const n of calls) expect((await client.call(path, { headers: line('x-call', n) }).done()).status).toBe(0);
    expect(paths(c)).toEqual(calls);
    for (const tried of [a, b]) expect(new Set(paths(tried)).size).toBe(tried.streams.length);
  });

  it('BR-26: when all were tried any will do', async () => {
    const backends = [
      await scene.backend({ name: 'a', onStream: fail(unavailable) }),
      await scene.backend({ name: 'b', onStream: fail(unavailable) }),
    ];
    const proxy = await scene.proxy({ backends: ports(backends), serviceConfig: retryConfig({ maxAttempts: 4 }) });
    const client = await scene.client(proxy);
    const answer = await client.call(path).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '3' });
    const { attempts } = await proxy.call(0);
    expect(new Set(attempts.slice(0, 2).map(({ backend }) => backend)).size).toBe(2);
    expect(attempts).toHaveLength(4);
  });

  it('SM-34: a refused stream is repeated at the other backend', async () => {
    const a = await scene.backend({ name: 'a', onStream: behave.reset(7) });
    const b = await scene.backend({ name: 'b', onStream: ok('fine') });
    const proxy = await scene.proxy({ backends: ports([a, b]) });
    const client = await scene.client(proxy);
    for (let n = 0; n < 4; n += 1) expect((await client.call(path).done()).status).toBe(0);
    expect(a.streams.length).toBeGreaterThan(0);
    expect(b.streams).toHaveLength(4);
  });

  it('SM-32, CON-06: one that cannot be connected to costs no attempt while another can', async () => {
    const up = await scene.backend({ name: 'up', onStream: ok('fine') });
    const proxy = await scene.proxy({ backends: { down: nowhere, up: up.port }, connected: false });
    const client = await scene.client(proxy);
    const calls = Array.from({ length: 6 }, () => client.call(path).done());
    for (const answer of await Promise.all(calls)) {
      expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    }
    expect(up.streams).toHaveLength(6);
  });
});

describe('no backend', () => {
  it('SM-32, BR-32: is a failure that the policy judges: every attempt is made, and the reason is no_backend', async () => {
    const proxy = await scene.proxy({
      backends: { a: nowhere, b: nowhere },
      connected: false,
      serviceConfig: retryConfig({ maxAttempts: 3, initial: 10 }),
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path, { headers: line('grpc-timeout', '10S') }).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_backend', retries: '2' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.trailer('hedgerow-backend')).toBeUndefined();
    expect(answer.message).not.toBe('');
    const { attempts } = await proxy.call(0);
    expect(attempts.map(({ result, backend }) => [result, backend])).toEqual([
      ['unplaced', null],
      ['unplaced', null],
      ['unplaced', null],
    ]);
    const [first, second] = attempts;
    expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThanOrEqual(10);
  });

  it('SM-32: is final without a policy', async () => {
    const proxy = await scene.proxy({ backends: { a: nowhere }, connected: false });
    const client = await scene.client(proxy);
    const answer = await client.call(path).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_backend', retries: '0' });
    expect((await proxy.call(0)).attempts).toHaveLength(1);
  });

  it('SM-32: after a real answer leaves that answer standing', async () => {
    const backend = await scene.backend({ name: 'b1' });
    backend.script([
      async (stream) => {
        await backend.stopListening();
        stream.trailersOnly(unavailable, line('grpc-message', 'real'));
        stream.connection.end();
      },
    ]);
    const proxy = await scene.proxy({
      backends: ports([backend]),
      serviceConfig: retryConfig({ maxAttempts: 2, initial: 50, max: 50 }),
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '1' });
    expect(answer.message).toBe('real');
    expect(answer.trailer('hedgerow-backend')).toBe('b1');
    expect((await proxy.call(0)).attempts.map(({ result }) => result)).toEqual(['failed', 'unplaced']);
  });

  it.each([
    ['nobody listens', async () => nowhere],
    [
      'the peer speaks no HTTP/2',
      async () => {
        const backend = await scene.backend({ greet: false });
        void backend.waitForConnection(1).then((connection) => connection.send(Buffer.from('HTTP/1.1 400 No\r\n\r\n')));
        return backend.port;
      },
    ],
    [
      'the peer hangs up',
      async () => {
        const backend = await scene.backend({ greet: false });
        void backend.waitForConnection(1).then((connection) => connection.kill());
        return backend.port;
      },
    ],
  ])('SM-35: has no code of the control plane’s, whatever the cause: %s', async (_why, target) => {
    const proxy = await scene.proxy({
      backends: { a: await target() },
      connected: false,
      serviceConfig: retryConfig({ codes: allOthers }),
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path).done();
    // A code that is listed would be retried.
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_backend', retries: '0' });
    expect((await proxy.call(0)).attempts.map(({ code }) => code)).toEqual([unavailable]);
  });
});

describe('draining', () => {
  it('SM-37: a retry that falls due while draining still happens; new clients are turned away', async () => {
    const drains: Promise<void>[] = [];
    const { backend, client, proxy } = await scene.stage({
      serviceConfig: retryConfig({ initial: 20 }),
      script: [
        (stream) => {
          drains.push(proxy.app.drain());
          stream.trailersOnly(unavailable);
        },
        ok('fine'),
      ],
    });
    const call = client.call(path, { messages: ['hi'] });
    await client.whenGoaway(0);
    await expect(connectRawClient(proxy.port)).rejects.toThrow('ECONNREFUSED');
    const answer = await call.done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(previousAttempts(backend)).toEqual(['-', '1']);
    expect(drains).toHaveLength(1);
    await Promise.all(drains);
    await client.whenClosed();
  });
});

describe('a full queue', () => {
  it('SM-31: drops the call at once: no retry of any kind, no token; of a pinned one it says that its backend is busy', async () => {
    const busy = await scene.backend({ name: 'a', onStream: behave.silent, settings: [[3, 1]] });
    const proxy = await scene.proxy({
      backends: { a: busy.port },
      flags: ['--backend-connections', '1', '--queue-limit', '1'],
      serviceConfig: {
        ...retryConfig({ codes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'] }),
        retryThrottling: { maxTokens: 10, tokenRatio: 1 },
      },
    });
    const client = await scene.client(proxy);
    const running = client.call(path, { messages: ['hi'] });
    const stream = await busy.waitForStream(1);
    const queued = client.call(path, { messages: ['hi'] });
    const dropped = await client.call(path, { messages: ['hi'] }).done();
    expect(verdict(dropped)).toEqual({ status: unavailable, reason: 'overloaded', retries: '0' });
    expect(dropped.trailer('hedgerow-processed')).toBe('no');
    const pinned = await client.call(path, { messages: ['hi'], headers: line('hedgerow-pin', 'a') }).done();
    expect(verdict(pinned)).toEqual({ status: 8, reason: 'pinned_backend_busy', retries: '0' });
    expect(pinned.trailer('hedgerow-processed')).toBe('no');
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
    stream.trailersOnly(0);
    (await busy.waitForStream(2)).trailersOnly(0);
    expect([(await running.done()).status, (await queued.done()).status]).toEqual([0, 0]);
  });
});
