import { describe, expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import { path, previousAttempts, retryConfig, useScene, verdict } from '../../support/scene.js';

/*
 * Attempts that no application can have seen are sent again without a policy, uncounted (A6, Transparent retries; D12 row 3):
 * refused ones once per call, those that never left freely.
 */

const scene = useScene();
const { fail, ok, reset } = behave;
const refused = reset(7);
const unavailable = 14;

describe('a refused stream', () => {
  it('SM-22: is sent again once, without a policy', async () => {
    const { backend, call, proxy } = await scene.stage({ script: [refused, ok('fine')] });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(previousAttempts(backend)).toEqual(['-', '-']);
    expect(backend.streams[1]?.messages.map(String)).toEqual(['hi']);
    expect((await proxy.call(0)).attempts.map(({ cause }) => cause)).toEqual(['first', 'transparent']);
  });

  it('SM-22: ends the call when it is refused again, without a policy', async () => {
    const { backend, call } = await scene.stage({ script: [refused, refused] });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-23: counts neither as an attempt nor as a previous one', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      script: [refused, fail(unavailable), fail(unavailable), fail(unavailable)],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(previousAttempts(backend)).toEqual(['-', '-', '1', '2']);
  });

  it('SM-24: is judged by the policy from the second time on', async () => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3, initial: 10 }),
      onStream: refused,
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(previousAttempts(backend)).toEqual(['-', '-', '1', '2']);
    const { attempts } = await proxy.call(0);
    expect(attempts.map(({ cause }) => cause)).toEqual(['first', 'transparent', 'retry', 'retry']);
    expect((attempts[2]?.startedAt ?? 0) - (attempts[1]?.endedAt ?? 0)).toBeGreaterThanOrEqual(10);
  });

  it('SM-24: is final from the second time on where the policy does not list UNAVAILABLE', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL'] }),
      script: [refused, refused],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'fatal_status', retries: '0' });
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-25: may be any attempt of the call; its repeat says the same number of previous ones', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      script: [fail(unavailable), refused, ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(previousAttempts(backend)).toEqual(['-', '1', '1']);
  });

  it('SM-25: is repeated once per call, not once per attempt', async () => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      script: [refused, fail(unavailable), refused, fail(unavailable)],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(previousAttempts(backend)).toEqual(['-', '-', '1', '2']);
    expect((await proxy.call(0)).attempts.map(({ cause }) => cause)).toEqual([
      'first',
      'transparent',
      'retry',
      'retry',
    ]);
  });

  it('SM-26, SM-41: on the last attempt is still sent again, as no application saw it', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 2 }),
      script: [fail(unavailable), refused, ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(previousAttempts(backend)).toEqual(['-', '1', '1']);
  });

  it('SM-26, SM-41: on the last attempt gives no attempt beyond the policy’s', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 2 }),
      script: [fail(unavailable), refused, fail(unavailable)],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '1' });
    expect(backend.streams).toHaveLength(3);
  });

  it('SM-22: after response headers is final', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        (stream) => {
          stream.sendHeaders();
          stream.reset(7);
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'committed', retries: '0' });
    expect(answer.trailersOnly).toBe(false);
    expect(backend.streams).toHaveLength(1);
  });
});

describe('GOAWAY', () => {
  it('SM-28: whose last id covers the stream lets it go on and complete', async () => {
    const { backend, call } = await scene.stage({
      script: [
        async (stream) => {
          stream.connection.goaway(stream.id, 0);
          await stream.whenEnded();
          await stream.connection.ping();
          await stream.answer(['fine']);
        },
        ok('next'),
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(backend.streams).toHaveLength(1);
    // The next call goes to a connection of its own.
    expect((await call()).messages.map(String)).toEqual(['next']);
    expect(backend.streams[1]?.connection).not.toBe(backend.streams[0]?.connection);
  });

  it.each([
    ['NO_ERROR', 0],
    ['PROTOCOL_ERROR', 1],
    ['ENHANCE_YOUR_CALM', 11],
  ])('SM-23, CON-05: %s whose last id is below the stream: sent again once, whatever the code', async (_name, code) => {
    const { backend, call } = await scene.stage({
      script: [(stream) => stream.connection.goaway(0, code), ok('fine')],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(previousAttempts(backend)).toEqual(['-', '-']);
    expect(backend.streams[1]?.messages.map(String)).toEqual(['hi']);
    expect(backend.streams[1]?.connection).not.toBe(backend.streams[0]?.connection);
  });

  it('SM-24, CON-05: a second time is judged by the policy', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL'] }),
      script: [(stream) => stream.connection.goaway(0, 0), (stream) => stream.connection.goaway(0, 0)],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'fatal_status', retries: '0' });
    expect(previousAttempts(backend)).toEqual(['-', '-']);
  });

  it('SM-28, SM-23: parts the streams of a connection by its last id', async () => {
    const { backend, client } = await scene.stage({ onStream: behave.silent });
    const low = client.call(path, { messages: ['low'] });
    const kept = await backend.waitForStream(1);
    const high = client.call(path, { messages: ['high'] });
    await backend.waitForStream(2);
    backend.behave(ok('again'));
    kept.connection.goaway(kept.id, 0);
    expect((await high.done()).messages.map(String)).toEqual(['again']);
    await kept.answer(['first']);
    expect((await low.done()).messages.map(String)).toEqual(['first']);
    expect(backend.streams.map(({ messages }) => messages.map(String))).toEqual([['low'], ['high'], ['high']]);
  });
});

describe('a call that never left', () => {
  /** A backend with room for one stream and a call in it; the next call waits behind it (A6; SM-29). */
  async function full(options: { readonly serviceConfig?: object; readonly flags?: readonly string[] } = {}) {
    const stage = await scene.stage({
      ...options,
      flags: ['--backend-connections', '1', ...(options.flags ?? [])],
      backend: { settings: [[3, 1]] },
      onStream: behave.silent,
    });
    const holder = stage.client.call('/t.S/Holder');
    const held = await stage.backend.waitForStream(1);
    return { ...stage, holder, held };
  }

  it('SM-29: goes to the next connection when the one it waited for is lost, uncounted and without a policy', async () => {
    const { backend, client, holder, held, proxy } = await full();
    const call = client.call(path, { messages: ['hi'] });
    await client.ping();
    expect(proxy.app.pool.backends[0]?.queued).toBe(1);
    backend.behave(ok('fine'));
    held.connection.kill();
    const answer = await call.done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(backend.streams[1]?.messages.map(String)).toEqual(['hi']);
    expect(previousAttempts(backend)).toEqual(['-', '-']);
    // The one that had left is not repeated: it may have been processed.
    expect(verdict(await holder.done())).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(backend.streams).toHaveLength(2);
    expect((await proxy.call(1)).attempts.map(({ cause }) => cause)).toEqual(['first', 'transparent']);
  });

  it('SM-29: uses up none of the policy’s attempts', async () => {
    const { backend, client, holder, held } = await full({ serviceConfig: retryConfig({ maxAttempts: 2 }) });
    const call = client.call(path, { messages: ['hi'] });
    await client.ping();
    backend.behave(fail(unavailable));
    held.connection.kill();
    expect(verdict(await call.done())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '1' });
    expect(previousAttempts(backend)).toEqual(['-', '-', '1']);
    await holder.done();
  });

  it('SM-29: waits no longer than its deadline', async () => {
    const { backend, client, holder, held } = await full();
    const answer = await client.call(path, { headers: [['grpc-timeout', '30m']] }).done();
    expect(verdict(answer)).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    held.trailersOnly(0);
    await holder.done();
    // It left nothing behind in the queue.
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-30: is sent again though the buffer’s overflow has committed it, whole', async () => {
    const { backend, client, holder, held, proxy } = await full({ flags: ['--per-call-buffer-limit', '1000'] });
    const body = Buffer.alloc(5000, 'abcdefghi');
    const call = client.call(path, { messages: [body] });
    await client.ping();
    expect(proxy.app.ledger().replayBytes).toBe(1000);
    backend.behave(behave.echo);
    held.connection.kill();
    const answer = await call.done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    // It stays committed: its headers are passed on, and before the message.
    expect(answer.header('hedgerow-backend')).toBe('b1');
    expect(answer.messages).toEqual([body]);
    await holder.done();
    expect(await proxy.call(1)).toMatchObject({ commit: 'buffer_call', replayPeak: 1000 });
  });

  it('SM-30: committed by overflow, is final once it has left', async () => {
    const { backend, client, holder, held } = await full({
      serviceConfig: retryConfig(),
      flags: ['--per-call-buffer-limit', '1000'],
    });
    const call = client.call(path, { messages: [Buffer.alloc(5000)] });
    await client.ping();
    backend.behave(behave.failAfterRequest(unavailable));
    held.connection.kill();
    expect(verdict(await call.done())).toEqual({ status: unavailable, reason: 'buffer_exceeded', retries: '0' });
    expect(backend.streams).toHaveLength(2);
    await holder.done();
  });
});

describe('a backend that hangs up', () => {
  it('BR-31: at each request costs one connection a call, not a storm of them', async () => {
    const { backend, call } = await scene.stage({ onStream: behave.kill });
    const answer = await call({ headers: [['grpc-timeout', '2S']] });
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(backend.streams).toHaveLength(1);
    expect(backend.connections.length).toBeLessThan(5);
  });

  it('BR-31: as soon as it is connected to is given up, with few connects', async () => {
    const backend = await scene.backend({ greet: false });
    const cut = (async () => {
      for (let nth = 1; nth <= 2; nth += 1) (await backend.waitForConnection(nth)).kill();
    })();
    const proxy = await scene.proxy({ backends: { b1: backend.port }, connected: false });
    const client = await scene.client(proxy);
    const answer = await client.call(path, { headers: [['grpc-timeout', '10S']] }).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_backend', retries: '0' });
    expect(backend.streams).toHaveLength(0);
    expect(backend.connections.length).toBeLessThan(5);
    await cut;
  });
});
