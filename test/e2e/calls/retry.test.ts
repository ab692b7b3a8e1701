import { describe, expect, it } from 'vitest';
import { behave, type RawBackend } from '../../support/raw-peer.js';
import { line, path, previousAttempts, retryConfig, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

/*
 * The retry policy over real sockets. The proxies' random numbers are fixed so that the jitter is 1 where a test does not say
 * otherwise.
 */

const scene = useScene();
const { fail, ok } = behave;
const unavailable = 14;

/**
 * On virtual time: the nth stream fails after `held` ms, and the next one comes `delay` ms later, no sooner.
 * A PING's answer comes after all that the proxy made of what was sent before it.
 */
async function failsThenWaits(
  { backend, time }: { backend: RawBackend; time: VirtualTime },
  nth: number,
  delay: number,
  held = 0,
): Promise<void> {
  const stream = await backend.waitForStream(nth);
  time.advance(held);
  stream.trailersOnly(unavailable);
  await stream.connection.ping();
  time.advance(delay - 0.5);
  await stream.connection.ping();
  expect(backend.streams).toHaveLength(nth);
  time.advance(1);
  await backend.waitForStream(nth + 1);
}

describe('a listed code', () => {
  it('SM-01: is retried until an attempt answers, whose metadata and messages alone reach the client', async () => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        fail(unavailable, line('x-from', 'one')),
        fail(unavailable, line('x-from', 'two')),
        async (stream) => {
          stream.sendHeaders(line('x-from', 'three'));
          await stream.sendMessage('answer');
          stream.trailers(0, line('x-end', 'three'));
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '2' });
    expect(answer.header('x-from')).toBe('three');
    expect(answer.trailerValues('x-from')).toEqual([]);
    expect(answer.trailer('x-end')).toBe('three');
    expect(answer.messages.map(String)).toEqual(['answer']);
    expect(previousAttempts(backend)).toEqual(['-', '1', '2']);
    expect(backend.streams.map(({ messages }) => messages.map(String))).toEqual([['hi'], ['hi'], ['hi']]);

    const record = await proxy.call(0);
    expect(record.attempts.map(({ cause }) => cause)).toEqual(['first', 'retry', 'retry']);
  });

  it('SM-02: is the answer of the last attempt when the attempts run out, trailers and message unaltered', async () => {
    const message = 'no%20luck%E2%82%AC';
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [1, 2, 3, 4].map((n) =>
        fail(unavailable, [
          ['grpc-message', `${message}${n}`],
          ['x-try', String(n)],
          ['x-try', 'again'],
          ['grpc-status-details-bin', 'CA4='],
        ]),
      ),
    });
    const answer = await call();
    expect(answer.trailersOnly).toBe(true);
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '3' });
    expect(answer.message).toBe(`${message}4`);
    expect(answer.trailerValues('x-try')).toEqual(['4', 'again']);
    expect(answer.trailer('grpc-status-details-bin')).toBe('CA4=');
    expect(previousAttempts(backend)).toEqual(['-', '1', '2', '3']);
  });

  it('SM-05: is each of the list', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['UNAVAILABLE', 'data_loss'] }),
      script: [fail(unavailable), fail(15), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '2' });
    expect(backend.streams).toHaveLength(3);
  });

  it('SM-13: CANCELLED from a backend is its own status, and is retried like any', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['CANCELLED'] }),
      script: [fail(1), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
  });

  it('BR-23: DEADLINE_EXCEEDED from a backend is its own status, and is retried like any', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['DEADLINE_EXCEEDED'] }),
      script: [fail(4), ok('fine')],
    });
    const answer = await call({ headers: line('grpc-timeout', '10S') });
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
  });

  it('BR-23: the call’s own deadline is never retried, listed or not', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['DEADLINE_EXCEEDED'] }),
      script: [behave.silent],
    });
    const answer = await call({ headers: line('grpc-timeout', '50m') });
    expect(verdict(answer)).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    expect(await (await backend.waitForStream(1)).whenReset()).toBe(8);
  });

  it.each([
    ['a policy alone', []],
    ['a cap above the policy’s count', ['--max-attempts-limit', '10']],
    ['a cap at the policy’s count', ['--max-attempts-limit', '3']],
  ])('BR-16: maxAttempts 3 is three attempts, with %s', async (_what, flags) => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3, initial: 1 }),
      onStream: fail(unavailable),
      flags,
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(backend.streams).toHaveLength(3);
    expect((await proxy.call(0)).attempts).toHaveLength(3);
  });

  it('BR-16: maxAttempts 3 is three attempts, with other backends to go to', async () => {
    const backends = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => scene.backend({ name, onStream: fail(unavailable) })),
    );
    const proxy = await scene.proxy({
      backends: Object.fromEntries(backends.map(({ name, port }) => [name, port])),
      serviceConfig: retryConfig({ maxAttempts: 3, initial: 1 }),
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path).done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '2' });
    expect(backends.flatMap(({ streams }) => streams)).toHaveLength(3);
  });
});

describe('an unlisted code', () => {
  it('SM-03: is returned at once', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(3, line('grpc-message', 'bad'))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 3, reason: 'fatal_status', retries: '0' });
    expect(answer.message).toBe('bad');
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-04: ends the retries of a listed one', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(unavailable), fail(10)],
    });
    expect(verdict(await call())).toEqual({ status: 10, reason: 'fatal_status', retries: '1' });
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-14: a status that gRPC does not know passes untouched and matches no list', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['UNKNOWN', 'UNAVAILABLE', 'INTERNAL'] }),
      script: [fail(300, line('grpc-message', 'ours'))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 300, reason: 'fatal_status', retries: '0' });
    expect(answer.message).toBe('ours');
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-42: OK is never retried, whatever its trailers say', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        async (stream) => {
          await stream.whenEnded();
          await stream.answer(['fine'], 0, line('grpc-retry-pushback-ms', '5'));
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(answer.trailer('grpc-retry-pushback-ms')).toBe('5');
    expect(backend.streams).toHaveLength(1);
  });
});

describe('without a policy', () => {
  it('SM-19: a failure is returned at once', async () => {
    const { backend, call } = await scene.stage({ script: [fail(unavailable, line('grpc-message', 'down'))] });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.message).toBe('down');
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-19: a method that no entry names has none, though others have', async () => {
    const { backend, client } = await scene.stage({ serviceConfig: retryConfig(), script: [fail(unavailable)] });
    const answer = await client.call('/t.S/Other').done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-20: a limit of one attempt turns policies off', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      flags: ['--max-attempts-limit', '1'],
      script: [fail(unavailable)],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-20: a limit of one attempt leaves transparent retries on', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      flags: ['--max-attempts-limit', '1'],
      script: [behave.reset(7), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(previousAttempts(backend)).toEqual(['-', '-']);
  });

  it('BR-21: a request that the backend may have worked on is not sent again', async () => {
    const { backend, call } = await scene.stage({
      script: [
        async (stream) => {
          await stream.whenEnded();
          stream.connection.kill();
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(backend.streams).toHaveLength(1);
  });
});

describe('time', () => {
  it('SM-01: the waits grow by the multiplier', async () => {
    const time = createVirtualTime();
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig({ initial: 100, max: 1000 }),
      time,
      onStream: behave.silent,
    });
    const call = client.call(path, { messages: ['hi'] });
    await failsThenWaits({ backend, time }, 1, 100);
    await failsThenWaits({ backend, time }, 2, 200);
    backend.streams[2]?.trailersOnly(0);
    expect(verdict(await call.done())).toEqual({ status: 0, reason: undefined, retries: '2' });
  });

  it.each([
    ['longest', 1 - 2 ** -53, 1.2],
    ['shortest', 0, 0.8],
  ])('SM-17: the %s jitter holds past the maximum backoff, too', async (_which, random, factor) => {
    const time = createVirtualTime();
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3, initial: 100, max: 250, multiplier: 10 }),
      time,
      random: () => random,
      onStream: behave.silent,
    });
    const call = client.call(path, { messages: ['hi'] });
    await failsThenWaits({ backend, time }, 1, 100 * factor);
    await failsThenWaits({ backend, time }, 2, 250 * factor);
    backend.streams[2]?.trailersOnly(0);
    expect((await call.done()).status).toBe(0);
  });

  it('SM-18: a backoff is measured from the failure of the attempt, not from its start', async () => {
    const time = createVirtualTime();
    const { backend, client, proxy } = await scene.stage({
      serviceConfig: retryConfig({ initial: 100, max: 1000 }),
      time,
      onStream: behave.silent,
    });
    const call = client.call(path, { messages: ['hi'] });
    await failsThenWaits({ backend, time }, 1, 100, 2000);
    backend.streams[1]?.trailersOnly(0);
    expect((await call.done()).status).toBe(0);
    const [first, second] = (await proxy.call(0)).attempts;
    expect((first?.endedAt ?? 0) - (first?.startedAt ?? 0)).toBe(2000);
    expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBe(100);
  });
});

describe('the client', () => {
  it('BR-22: whose reset ends a call is no backend that answered CANCELLED: nothing more is tried', async () => {
    const { backend, client, proxy } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['CANCELLED'], maxAttempts: 3 }),
      script: [behave.silent, ok('later')],
    });
    const call = client.call(path, { messages: ['hi'] });
    const stream = await backend.waitForStream(1);
    call.reset(8);
    expect(await stream.whenReset()).toBe(8);
    const record = await proxy.call(0);
    expect(record).toMatchObject({ code: 1, reason: 'client_cancelled', retries: 0 });
    expect(record.attempts).toHaveLength(1);
    // Whatever had been started would stand before this call at the backend.
    await client.call('/t.S/Other').done();
    expect(backend.streams.map((seen) => seen.header(':path'))).toEqual([path, '/t.S/Other']);
  });

  it('BR-22: CANCELLED from the backend itself is retried', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['CANCELLED'], maxAttempts: 3 }),
      script: [fail(1), behave.reset(8), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '2' });
  });
});
