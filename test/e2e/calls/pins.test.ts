import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Line } from '../../support/frames.js';
import { account, hedgeConfig } from '../../support/policies.js';
import { behave, type RawBackend, type RawCall } from '../../support/raw-peer.js';
import { path, previousAttempts, retryConfig, retryFor, type Scene, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/*
 * Pins and excludes over the wire (D1–D12). What a pin steers is seen by comparison: each "never elsewhere" stands beside a
 * call that does go elsewhere.
 */

const scene = useScene();
const { fail, ok, reset, silent } = behave;
const unavailable = 14;
const cancel = 8;
const nowhere = `unix:${join(tmpdir(), 'hedgerow-nobody-listens-there.sock')}`;

interface Pair {
  readonly a: RawBackend;
  readonly b: RawBackend;
  readonly proxy: Awaited<ReturnType<Scene['proxy']>>;
  readonly client: Awaited<ReturnType<Scene['client']>>;
  call(headers: readonly Line[]): Promise<RawCall>;
}

type Answer = Parameters<RawBackend['behave']>[0];

async function pair(
  a: Answer,
  b: Answer,
  options: Omit<Parameters<Scene['proxy']>[0], 'backends'> = { serviceConfig: retryConfig({ maxAttempts: 3 }) },
): Promise<Pair> {
  const backends = [await scene.backend({ name: 'a', onStream: a }), await scene.backend({ name: 'b', onStream: b })];
  const [first, second] = backends as [RawBackend, RawBackend];
  const proxy = await scene.proxy({ ...options, backends: { a: first.port, b: second.port } });
  const client = await scene.client(proxy);
  return {
    a: first,
    b: second,
    proxy,
    client,
    call: (headers) => client.call(path, { messages: ['hi'], headers }).done(),
  };
}

const pin = (name: string): Line => ['hedgerow-pin', name];
const allow = (value = 'true'): Line => ['hedgerow-allow-retry', value];
const exclude = (names: string): Line => ['hedgerow-exclude', names];

describe('a strict pin', () => {
  it('PIN-01, PIN-02: its backend answers, whoever’s turn it is', async () => {
    const { a, b, call } = await pair(ok('a'), ok('b'));
    for (const name of ['a', 'A', 'a', ' a ']) {
      const answer = await call([pin(name)]);
      expect(answer.messages.map(String)).toEqual(['a']);
      expect(account(answer)).toEqual({ backend: 'a', retries: '0' });
    }
    expect([a.streams.length, b.streams.length]).toEqual([4, 0]);
    await call([]);
    await call([]);
    expect([a.streams.length, b.streams.length]).toEqual([5, 1]);
  });

  it.each([
    ['PIN-05', []],
    ['PIN-06', [allow()]],
  ] as const)('%s: a name that nobody has fails the call, loosened or not', async (_id, more) => {
    const { a, b, call, proxy } = await pair(ok('a'), ok('b'));
    const answer = await call([pin('c'), ...more]);
    expect(account(answer)).toEqual({
      retries: '0',
      'stop-reason': 'pin_unknown',
      origin: 'proxy',
      processed: 'no',
    });
    expect([answer.status, answer.trailer('grpc-retry-pushback-ms'), answer.trailersOnly]).toEqual([
      unavailable,
      '-1',
      true,
    ]);
    const record = await proxy.call(0);
    expect(answer.trailer('hedgerow-call-id')).toBe(record.id);
    expect(decodeURIComponent(answer.message ?? '')).toBe('hedgerow: no backend is named "c"');
    // What a client wrote is told to it and kept from the log.
    expect([record.pin, record.message]).toEqual([null, '']);
    expect([a.streams.length, b.streams.length]).toEqual([0, 0]);
  });

  it('PIN-10, D11: a listed code comes back as the backend said it, pushback and details too, and nobody else is asked', async () => {
    const said: readonly Line[] = [
      ['grpc-message', 'out%20of order'],
      ['grpc-status-details-bin', 'CA4SBm5vdCBtZQ'],
      ['grpc-retry-pushback-ms', '7'],
    ];
    const { a, b, call, proxy } = await pair(fail(unavailable, said), ok('b'));
    const answer = await call([pin('a')]);
    for (const [name, value] of said) expect(answer.trailerValues(name)).toEqual([value]);
    expect(account(answer)).toEqual({
      backend: 'a',
      retries: '0',
      'stop-reason': 'pinned',
      origin: 'backend',
      processed: 'unknown',
    });
    expect(answer.status).toBe(unavailable);
    expect([a.streams.length, b.streams.length]).toEqual([1, 0]);
    expect((await proxy.call(0)).pin).toEqual({ target: 'a', strict: true });
  });

  it('PIN-11, PIN-07: loosened, the other backend answers', async () => {
    const { a, call, proxy } = await pair(fail(unavailable), ok('b'));
    for (const value of ['true', 'TRUE', 'tRuE']) {
      const answer = await call([pin('a'), allow(value)]);
      expect(answer.messages.map(String)).toEqual(['b']);
      expect(account(answer)).toEqual({ backend: 'b', retries: '1', backends: 'a,b' });
    }
    expect(a.streams).toHaveLength(3);
    expect((await proxy.call(0)).pin).toEqual({ target: 'a', strict: false });
  });

  it('PIN-08, PIN-09: nothing but true loosens, and true alone does nothing', async () => {
    const { b, call } = await pair(fail(unavailable), fail(unavailable), {
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      flags: ['--pin-on-parked', 'try'],
    });
    for (const headers of [...['false', '1', 'yes', '', 'truee'].map((value) => [allow(value)]), [allow(), allow()]])
      expect(verdict(await call([pin('a'), ...headers])).reason).toBe('pinned');
    expect(b.streams).toHaveLength(0);
    expect(verdict(await call([allow()]))).toEqual({
      status: unavailable,
      reason: 'attempts_exhausted',
      retries: '2',
    });
  });

  it('PIN-12: a code that is not listed is told as that', async () => {
    const { call } = await pair(fail(5), ok('b'));
    expect(verdict(await call([pin('a')]))).toEqual({ status: 5, reason: 'fatal_status', retries: '0' });
  });

  it('PIN-13: without a policy the pin prevented nothing', async () => {
    const { call } = await pair(fail(unavailable), ok('b'), {});
    expect(verdict(await call([pin('a')]))).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
  });

  it('PIN-14: its backend’s loss is the call’s end', async () => {
    const { b, call } = await pair(behave.kill, ok('b'));
    const answer = await call([pin('a')]);
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'backend_lost', retries: '0' });
    expect(account(answer)).toMatchObject({ backend: 'a', processed: 'unknown' });
    expect(b.streams).toHaveLength(0);
  });

  it('PIN-15, PIN-16: a backend that cannot be connected fails the call at once, or loosened costs no attempt', async () => {
    const up = await scene.backend({ name: 'b', onStream: ok('b') });
    const proxy = await scene.proxy({
      backends: { a: nowhere, b: up.port },
      connected: false,
      serviceConfig: { ...retryConfig({ maxAttempts: 3 }), retryThrottling: { maxTokens: 10, tokenRatio: 1 } },
    });
    const client = await scene.client(proxy);
    const strict = await client.call(path, { messages: ['hi'], headers: [pin('a')] }).done();
    expect(account(strict)).toEqual({
      retries: '0',
      'stop-reason': 'pinned_backend_unavailable',
      origin: 'proxy',
      processed: 'no',
    });
    expect([strict.status, strict.trailer('grpc-retry-pushback-ms')]).toEqual([unavailable, undefined]);
    expect(decodeURIComponent(strict.message ?? '')).toMatch(/^hedgerow: the call is pinned to a: backend a /);
    expect(strict.message).not.toContain('every');
    expect(up.streams).toHaveLength(0);
    // D7: an unreachable pin is no attempt, so it takes no token.
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
    const loose = await client.call(path, { messages: ['hi'], headers: [pin('a'), allow()] }).done();
    expect(account(loose)).toEqual({ backend: 'b', retries: '0' });
    expect(previousAttempts(up)).toEqual(['-']);
  });

  it('PIN-35: --pin-same-backend-retry lets the policy retry on the backend itself', async () => {
    const { a, b, call } = await pair(fail(unavailable), ok('b'), {
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      flags: ['--pin-same-backend-retry', 'on'],
    });
    const answer = await call([pin('a')]);
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(account(answer)).toMatchObject({ backends: 'a,a,a' });
    expect(previousAttempts(a)).toEqual(['-', '1', '2']);
    expect(b.streams).toHaveLength(0);
  });

  it('PIN-42, PIN-43: a refused stream goes to it once more, and no further', async () => {
    const once = await pair(ok('a'), ok('b'));
    once.a.script([reset(7), ok('a')]);
    expect(account(await once.call([pin('a')]))).toEqual({ backend: 'a', retries: '0', backends: 'a,a' });
    once.a.script([reset(7), reset(7)]);
    const answer = await once.call([pin('a')]);
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'pinned', retries: '0' });
    expect(account(answer)).toMatchObject({ processed: 'no' });
    expect([once.a.streams.length, once.b.streams.length]).toEqual([4, 0]);
  });

  it('takes a token for a listed code, as an ordinary call does', async () => {
    const { call, proxy } = await pair(fail(unavailable), ok('b'), {
      serviceConfig: { ...retryConfig(), retryThrottling: { maxTokens: 10, tokenRatio: 1 } },
    });
    await call([pin('a')]);
    expect(proxy.app.throttle.state?.milliTokens).toBe(9000);
  });

  it('D9: with waitForReady it waits for its backend, however ready another is', async () => {
    const held = await scene.backend({ name: 'a', onStream: ok('a') });
    const { port } = held;
    await held.stopListening();
    held.kill();
    const up = await scene.backend({ name: 'b', onStream: ok('b') });
    const proxy = await scene.proxy({
      backends: { a: port, b: up.port },
      connected: false,
      serviceConfig: { methodConfig: [{ name: [{}], waitForReady: true }] },
      flags: ['--connect-backoff-max', '20ms'],
    });
    const client = await scene.client(proxy);
    await up.waitForConnection(1);
    const waiting = client.call(path, { messages: ['hi'], headers: [pin('a')] });
    expect((await client.call(path, { messages: ['hi'] }).done()).status).toBe(0);
    expect(waiting.end).toBe(null);
    const back = await scene.backend({ name: 'a', port, onStream: ok('back') });
    expect((await waiting.done()).messages.map(String)).toEqual(['back']);
    expect([back.streams.length, up.streams.length]).toEqual([1, 1]);
  });
});

describe('--pin first-attempt', () => {
  it('PIN-33, PIN-34: loosens every pin, and no header tightens it', async () => {
    const { call } = await pair(fail(unavailable), ok('b'), {
      serviceConfig: retryConfig(),
      flags: ['--pin', 'first-attempt'],
    });
    for (const headers of [[pin('a')], [pin('a'), allow('false')]])
      expect(account(await call(headers))).toEqual({ backend: 'b', retries: '1', backends: 'a,b' });
  });
});

describe('a pin where a hedgingPolicy governs', () => {
  it('PIN-38, PIN-41: strict makes one attempt, however slow, which the deadline ends', async () => {
    const time = createVirtualTime();
    const { a, b, client } = await pair(silent, silent, { serviceConfig: hedgeConfig({ delay: 50 }), time });
    const patient = client.call(path, { messages: ['hi'], headers: [pin('a')] });
    const stream = await a.waitForStream(1);
    time.advance(500);
    await client.ping();
    await stream.answer(['at last']);
    expect(account(await patient.done())).toEqual({ backend: 'a', retries: '0' });

    const short = client.call(path, { messages: ['hi'], headers: [pin('a'), ['grpc-timeout', '200m']] });
    const second = await a.waitForStream(2);
    time.advance(200);
    expect(verdict(await short.done())).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    expect(await second.whenReset()).toBe(cancel);
    expect(b.streams).toHaveLength(0);
  });

  it('PIN-39: loosened, the hedge goes elsewhere and either may win', async () => {
    for (const delay of [0, 50]) {
      const time = createVirtualTime();
      const { a, b, client } = await pair(silent, silent, {
        serviceConfig: hedgeConfig({ maxAttempts: 2, delay }),
        time,
      });
      for (const winner of [a, b, a]) {
        const call = client.call(path, { messages: ['hi'], headers: [pin('a'), allow()] });
        const first = await a.nextStream();
        time.advance(50);
        const hedge = await b.nextStream();
        await (winner === a ? first : hedge).answer([winner.name]);
        expect((await call.done()).messages.map(String)).toEqual([winner.name]);
        expect(account(call)).toMatchObject({ backend: winner.name, retries: '1', hedged: 'true' });
      }
    }
  });

  it('PIN-39: the hedge leaves alone the backend that the first attempt still waits for', async () => {
    const time = createVirtualTime();
    // One stream each, and each is taken.
    const settings = [[3, 1]] as const;
    const a = await scene.backend({ name: 'a', onStream: silent, settings });
    const b = await scene.backend({ name: 'b', onStream: silent, settings });
    const proxy = await scene.proxy({
      backends: { a: a.port, b: b.port },
      flags: ['--backend-connections', '1'],
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      time,
    });
    const client = await scene.client(proxy);
    const plain = { messages: ['hi'], headers: [['hedgerow-retry', 'off']] } as const;
    const holders = [client.call(path, plain), client.call(path, plain)];
    await Promise.all([a.waitForStream(1), b.waitForStream(1)]);
    const call = client.call(path, { messages: ['hi'], headers: [pin('a'), allow()] });
    await client.ping();
    expect(proxy.app.pool.backends.map(({ queued }) => queued)).toEqual([1, 1]);
    for (const backend of [a, b]) backend.streams[0]?.trailersOnly(0);
    await Promise.all(holders.map((holder) => holder.done()));
    await (await b.waitForStream(2)).answer(['b']);
    expect((await call.done()).messages.map(String)).toEqual(['b']);
  });

  it('PIN-40: loosened with no other backend, the hedge goes to the same', async () => {
    const time = createVirtualTime();
    const a = await scene.backend({ name: 'a', onStream: silent });
    const proxy = await scene.proxy({
      backends: { a: a.port },
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 50 }),
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'], headers: [pin('a'), allow()] });
    await a.waitForStream(1);
    time.advance(50);
    await (await a.waitForStream(2)).answer(['hedge']);
    expect(account(await call.done())).toEqual({ backend: 'a', retries: '1', backends: 'a,a', hedged: 'true' });
  });

  it('PIN-36: hedgerow-retry: off makes one attempt and no hedge', async () => {
    const time = createVirtualTime();
    const { a, b, client } = await pair(silent, silent, { serviceConfig: hedgeConfig({ delay: 50 }), time });
    const call = client.call(path, { messages: ['hi'], headers: [['hedgerow-retry', 'off']] });
    const stream = await Promise.race([a.waitForStream(1), b.waitForStream(1)]);
    time.advance(1000);
    await client.ping();
    stream.trailersOnly(unavailable);
    expect(verdict(await call.done())).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(a.streams.length + b.streams.length).toBe(1);
  });
});

describe('an exclude', () => {
  it('PIN-26, PIN-27: keeps every attempt away, and unknown names mean nothing', async () => {
    const { a, b, call } = await pair(ok('a'), fail(unavailable));
    for (let n = 0; n < 4; n += 1)
      expect(verdict(await call([exclude('A, nobody')]))).toEqual({
        status: unavailable,
        reason: 'attempts_exhausted',
        retries: '2',
      });
    expect([a.streams.length, b.streams.length]).toEqual([0, 12]);
    expect(account(await call([exclude('nobody')]))).toMatchObject({ backend: 'a' });
  });

  it('PIN-28: one that leaves nobody finds no backend', async () => {
    const { a, b, call } = await pair(ok('a'), ok('b'), {});
    const answer = await call([exclude('a,b')]);
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_backend', retries: '0' });
    expect(account(answer)).toMatchObject({ origin: 'proxy', processed: 'no' });
    expect(decodeURIComponent(answer.message ?? '')).toBe('hedgerow: the call excludes every backend');
    expect([a.streams.length, b.streams.length]).toEqual([0, 0]);
  });

  it('PIN-28: under a policy too, at once, without a token and without waiting for what it excludes', async () => {
    const { call, proxy } = await pair(ok('a'), ok('b'), {
      serviceConfig: {
        methodConfig: [{ ...retryFor(path, { initial: 5000, max: 5000 }), waitForReady: true }],
        retryThrottling: { maxTokens: 10, tokenRatio: 1 },
      },
    });
    expect(verdict(await call([exclude('a,b')]))).toEqual({
      status: unavailable,
      reason: 'no_backend',
      retries: '0',
    });
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
  });

  it('PIN-26: holds where a loosened pin binds no further', async () => {
    const b = await scene.backend({ name: 'b', onStream: ok('b') });
    const c = await scene.backend({ name: 'c', onStream: ok('c') });
    const proxy = await scene.proxy({ backends: { a: nowhere, b: b.port, c: c.port }, connected: false });
    const client = await scene.client(proxy);
    await Promise.all([b.waitForConnection(1), c.waitForConnection(1)]);
    for (let n = 0; n < 4; n += 1) {
      const headers = [pin('a'), allow(), exclude('b')];
      expect(account(await client.call(path, { messages: ['hi'], headers }).done())).toEqual({
        backend: 'c',
        retries: '0',
      });
    }
    expect([b.streams.length, c.streams.length]).toEqual([0, 4]);
  });

  it('PIN-24: of the pinned backend is a mistake', async () => {
    const { a, call } = await pair(ok('a'), ok('b'));
    const answer = await call([pin('a'), exclude('b,a')]);
    expect(account(answer)).toEqual({
      retries: '0',
      'stop-reason': 'invalid_directive',
      origin: 'proxy',
      processed: 'no',
    });
    expect(answer.status).toBe(3);
    expect(a.streams).toHaveLength(0);
  });
});

describe('the keys themselves', () => {
  it('PIN-17, PIN-18: a bad one contacts nobody', async () => {
    const { a, b, call, proxy } = await pair(ok('a'), ok('b'));
    for (const headers of [[pin('a'), pin('a')], [pin('')], [['hedgerow-pin-bin', 'YQ']]] as const)
      expect(verdict(await call(headers))).toEqual({ status: 3, reason: 'invalid_directive', retries: '0' });
    expect([a.streams.length, b.streams.length]).toEqual([0, 0]);
    const record = await proxy.call(0);
    expect([record.reason, record.processed, record.attempts]).toEqual(['invalid_directive', 'no', []]);
  });

  it('PIN-30, PIN-31: none reaches a backend on any attempt, and none that a backend forges reaches a client', async () => {
    const forged: readonly Line[] = [
      ['hedgerow-backend', 'evil'],
      ['hedgerow-retries', '99'],
      ['hedgerow-origin', 'evil'],
      ['hedgerow-made-up', 'evil'],
    ];
    const { a, b, call } = await pair(fail(unavailable, forged), async (stream) => {
      await stream.whenEnded();
      stream.sendHeaders(forged);
      await stream.sendMessage('b');
      stream.trailers(0, forged);
    });
    const answer = await call([pin('a'), allow(), exclude('z'), ['hedgerow-made-up', '1'], ['x-own', 'kept']]);
    for (const stream of [...a.streams, ...b.streams]) {
      expect(stream.headers.filter(([name]) => name.startsWith('hedgerow-'))).toEqual([]);
      expect(stream.header('x-own')).toBe('kept');
    }
    expect(account(answer)).toEqual({ backend: 'b', retries: '1', backends: 'a,b' });
    expect((answer.headers ?? []).filter(([name]) => name.startsWith('hedgerow-'))).toEqual([
      ['hedgerow-backend', 'b'],
    ]);
  });

  it('PIN-32: --directives off removes them and does nothing', async () => {
    const { a, b, call } = await pair(ok('a'), ok('b'), { flags: ['--directives', 'off'] });
    for (const headers of [[pin('a')], [pin('a')], [pin('nobody')], [pin(''), pin('')]])
      expect(verdict(await call(headers))).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect([a.streams.length, b.streams.length]).toEqual([2, 2]);
    expect(a.streams[0]?.headers.filter(([name]) => name.startsWith('hedgerow-'))).toEqual([]);
  });
});
