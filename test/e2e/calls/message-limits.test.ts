import { describe, expect, it } from 'vitest';
import { frameMessage } from '../../support/grpc-lines.js';
import { account } from '../../support/policies.js';
import { behave } from '../../support/raw-peer.js';
import { line, path, retryFor, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/*
 * timeout, waitForReady, maxRequestMessageBytes and maxResponseMessageBytes of a method's config.
 */

const scene = useScene();
const { ok, silent } = behave;
const exhausted = 8;
const cancel = 8;

function method(fields: object): object {
  return { methodConfig: [{ name: [{ service: 't.S', method: 'M' }], ...fields }] };
}

/** A retry policy, a bucket and a limit, so that what is not retried and takes no token is seen not to. */
function limited(fields: object): object {
  return {
    methodConfig: [{ ...retryFor(path, { codes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'] }), ...fields }],
    retryThrottling: { maxTokens: 10, tokenRatio: 1 },
  };
}

describe('maxRequestMessageBytes', () => {
  it('CFG-85: a message over it that comes with its request reaches no backend, is not retried and takes no token', async () => {
    const { call, backend, proxy } = await scene.stage({
      serviceConfig: limited({ maxRequestMessageBytes: 10 }),
      onStream: ok('fine'),
    });
    const answer = await call({ messages: ['elevenbytes'] });
    expect(account(answer)).toEqual({
      retries: '0',
      'stop-reason': 'message_too_large',
      origin: 'proxy',
      processed: 'no',
    });
    expect([answer.status, answer.trailersOnly]).toEqual([exhausted, true]);
    expect(decodeURIComponent(answer.message ?? '')).toBe(
      'hedgerow: the request has a message of 11 bytes, more than the 10 permitted',
    );
    expect(backend.streams).toHaveLength(0);
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
    expect((await call({ messages: ['tenbytes10'] })).status).toBe(0);
  });

  it('CFG-85: one that comes later ends the attempt that runs, and none of its bytes are passed on', async () => {
    const { client, backend } = await scene.stage({
      serviceConfig: limited({ maxRequestMessageBytes: 10 }),
      onStream: silent,
    });
    const call = client.call(path, { messages: ['small'], end: false });
    const stream = await backend.waitForStream(1);
    await stream.whenMessages(1);
    await call.sendData(frameMessage('elevenbytes').subarray(0, 5));
    await call.done();
    expect(await stream.whenReset()).toBe(cancel);
    expect(verdict(call)).toEqual({ status: exhausted, reason: 'message_too_large', retries: '0' });
    expect(account(call)).toMatchObject({ origin: 'proxy', processed: 'unknown' });
    expect(stream.data).toHaveLength(10);
    expect(backend.streams).toHaveLength(1);
  });

  it('CFG-85: what a client wrote in a pin that nobody has reaches no log, whatever ends its call first', async () => {
    const { call, proxy } = await scene.stage({ serviceConfig: limited({ maxRequestMessageBytes: 10 }) });
    const answer = await call({ messages: ['elevenbytes'], headers: line('hedgerow-pin', 'customer-4711') });
    expect(verdict(answer).reason).toBe('message_too_large');
    expect(JSON.stringify(await proxy.call(0))).not.toContain('4711');
  });

  it('PRX-09: 2 GiB announced cost nothing', async () => {
    const { client, proxy } = await scene.stage({ serviceConfig: limited({ maxRequestMessageBytes: 10 }) });
    const call = client.call(path, { end: false });
    await call.sendData(Buffer.from([0, 0x80, 0, 0, 0]));
    expect((await call.done()).status).toBe(exhausted);
    expect((await proxy.call(0)).replayPeak).toBe(0);
  });

  it('holds back no call whose client says nothing yet', async () => {
    const { client, backend } = await scene.stage({
      serviceConfig: limited({ maxRequestMessageBytes: 10 }),
      onStream: (stream) => void stream.sendHeaders(),
    });
    const call = client.call(path, { end: false });
    await call.whenHeaders();
    const stream = await backend.waitForStream(1);
    await call.sendMessage('now', true);
    await stream.whenEnded();
    stream.trailers(0);
    expect((await call.done()).status).toBe(0);
  });

  it('CFG-87: 0 allows empty messages only', async () => {
    const { call } = await scene.stage({ serviceConfig: limited({ maxRequestMessageBytes: 0 }), onStream: ok('x') });
    expect((await call({ messages: ['', ''] })).status).toBe(0);
    expect((await call({ messages: ['', '1'] })).status).toBe(exhausted);
  });
});

describe('maxResponseMessageBytes', () => {
  it('CFG-86: what came before is passed on whole, nothing of the one that is over, and the backend is reset', async () => {
    const { call, backend, proxy } = await scene.stage({
      serviceConfig: limited({ maxResponseMessageBytes: 10 }),
      onStream: async (stream) => {
        await stream.whenEnded();
        stream.sendHeaders();
        await stream.sendMessage('tenbytes10');
        await stream.sendMessage('elevenbytes');
      },
    });
    const answer = await call();
    expect(answer.data.equals(frameMessage('tenbytes10'))).toBe(true);
    expect(verdict(answer)).toEqual({ status: exhausted, reason: 'message_too_large', retries: '0' });
    expect(account(answer)).toMatchObject({ backend: 'b1', origin: 'proxy', processed: 'unknown' });
    expect(decodeURIComponent(answer.message ?? '')).toBe(
      'hedgerow: backend b1 answered with a message of 11 bytes, more than the 10 permitted',
    );
    expect(await backend.streams[0]?.whenReset()).toBe(cancel);
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
    expect(backend.streams).toHaveLength(1);
  });

  it('CFG-86: however the prefix is cut', async () => {
    const bytes = Buffer.concat([frameMessage('first'), frameMessage('elevenbytes')]);
    for (let cut = 1; cut < 15; cut += 1) {
      const { call } = await scene.stage({
        serviceConfig: limited({ maxResponseMessageBytes: 10 }),
        onStream: async (stream) => {
          await stream.whenEnded();
          stream.sendHeaders();
          for (let at = 0; at < bytes.length; at += cut) await stream.sendData(bytes.subarray(at, at + cut));
        },
      });
      const answer = await call();
      expect([cut, answer.messages.map(String), answer.data.length]).toEqual([cut, ['first'], 10]);
    }
  });

  it('CFG-86: the bytes of a prefix that its backend never finished are passed on with its trailers', async () => {
    const { call } = await scene.stage({
      serviceConfig: limited({ maxResponseMessageBytes: 10 }),
      onStream: async (stream) => {
        await stream.whenEnded();
        stream.sendHeaders();
        await stream.sendData(Buffer.from([0, 0, 0]));
        stream.trailers(0);
      },
    });
    const answer = await call();
    expect([answer.status, [...answer.data]]).toEqual([0, [0, 0, 0]]);
  });

  it('CFG-86: a client that reads slowly gets all that came before, then the status', async () => {
    const { client, backend } = await scene.stage({
      serviceConfig: limited({ maxResponseMessageBytes: 50_000 }),
      client: { settings: [[4, 1000]], windows: 'connection' },
      onStream: async (stream) => {
        await stream.whenEnded();
        stream.sendHeaders();
        await stream.sendMessage(Buffer.alloc(50_000, 3));
        await stream.sendMessage(Buffer.alloc(50_001, 4));
      },
    });
    const call = client.call(path, { messages: ['hi'] });
    expect(await (await backend.waitForStream(1)).whenReset()).toBe(cancel);
    expect(call.end).toBe(null);
    client.connection.giveWindow(call.id, 100_000);
    await call.done();
    expect(call.data.length).toBe(50_005);
    expect(verdict(call).reason).toBe('message_too_large');
  });
});

describe('--max-message-size', () => {
  it('CFG-85, CFG-86: binds where no method has a limit', async () => {
    const { call, backend } = await scene.stage({ flags: ['--max-message-size', '10'], onStream: ok('elevenbytes') });
    expect(verdict(await call({ messages: ['elevenbytes'] }))).toEqual({
      status: exhausted,
      reason: 'message_too_large',
      retries: '0',
    });
    expect(backend.streams).toHaveLength(0);
    expect(verdict(await call({ messages: ['tenbytes10'] })).reason).toBe('message_too_large');
    expect(backend.streams).toHaveLength(1);
  });

  it('binds both directions of every method; of two limits the lesser one', async () => {
    const { call } = await scene.stage({
      serviceConfig: method({ maxRequestMessageBytes: 5, maxResponseMessageBytes: 100 }),
      flags: ['--max-message-size', '10'],
      onStream: ok('elevenbytes'),
    });
    expect(verdict(await call({ messages: ['sixsix'] })).reason).toBe('message_too_large');
    const answer = await call({ messages: ['five5'] });
    expect([verdict(answer).reason, answer.messages]).toEqual(['message_too_large', []]);
  });
});

describe('timeout', () => {
  it.each([
    ['none', undefined, '1000000u'],
    ['later', '5S', '1000000u'],
    ['sooner', '300m', '300000u'],
  ])('CFG-79, CAN-13: of a client deadline that is %s and the method’s the sooner binds', async (_name, own, seen) => {
    const time = createVirtualTime();
    const { client, backend } = await scene.stage({
      serviceConfig: { methodConfig: [{ ...retryFor(path), timeout: '1s' }] },
      onStream: silent,
      time,
    });
    const headers = own === undefined ? [] : line('grpc-timeout', own);
    const call = client.call(path, { messages: ['hi'], headers });
    const stream = await backend.waitForStream(1);
    expect(stream.header('grpc-timeout')).toBe(seen);
    time.advance(Number(seen.slice(0, -1)) / 1000 - 1);
    await client.ping();
    expect(call.end).toBe(null);
    time.advance(1);
    expect(verdict(await call.done())).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    expect(await stream.whenReset()).toBe(cancel);
  });

  it('CFG-81: 0s ends each call at once, no backend contacted', async () => {
    const { call, backend } = await scene.stage({ serviceConfig: method({ timeout: '0s' }) });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    expect(account(answer)).toMatchObject({ processed: 'no', origin: 'proxy' });
    expect(backend.streams).toHaveLength(0);
  });
});

describe('waitForReady', () => {
  it('CFG-83, CON-08: a call that finds no backend waits for one, as one attempt and without a token', async () => {
    const held = await scene.backend({ name: 'a' });
    const { port } = held;
    await held.stopListening();
    held.kill();
    const proxy = await scene.proxy({
      backends: { a: port },
      connected: false,
      serviceConfig: {
        methodConfig: [{ ...retryFor(path), waitForReady: true }],
        retryThrottling: { maxTokens: 10, tokenRatio: 1 },
      },
      flags: ['--connect-backoff-max', '20ms'],
    });
    const client = await scene.client(proxy);
    const waiting = [1, 2, 3].map(() => client.call(path, { messages: ['hi'] }));
    for (let failures = 0; failures < 3; failures = proxy.changes.filter((c) => c.event === 'connect_failed').length)
      await client.ping();
    expect(waiting.map(({ end }) => end)).toEqual([null, null, null]);
    const back = await scene.backend({ name: 'a', port, onStream: ok('back') });
    for (const call of waiting) expect(account(await call.done())).toEqual({ backend: 'a', retries: '0' });
    expect(back.streams.map((stream) => stream.header('grpc-previous-rpc-attempts'))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
  });

  it('CFG-83: more calls than the backend takes at once wait on, as places come free', async () => {
    const held = await scene.backend({ name: 'a' });
    const { port } = held;
    await held.stopListening();
    held.kill();
    const proxy = await scene.proxy({
      backends: { a: port },
      connected: false,
      serviceConfig: method({ waitForReady: true }),
      flags: ['--connect-backoff-max', '20ms', '--queue-limit', '4', '--backend-connections', '1'],
    });
    const client = await scene.client(proxy);
    while (proxy.changes.at(-1)?.event !== 'connect_failed') await client.ping();
    const waiting = Array.from({ length: 6 }, () => client.call(path, { messages: ['hi'] }));
    await client.ping();
    // As many as a queue holds may wait; the others are told at once.
    const told = waiting.filter(({ end }) => end !== null).map(verdict);
    expect(told).toEqual(Array(2).fill({ status: 14, reason: 'overloaded', retries: '0' }));
    const back = await scene.backend({ name: 'a', port, onStream: silent, settings: [[3, 1]] });
    await back.waitForStream(1);
    const more = Array.from({ length: 3 }, () => client.call(path, { messages: ['hi'] }));
    await client.ping();
    for (let nth = 1; nth <= 7; nth += 1) (await back.waitForStream(nth)).trailersOnly(0);
    for (const call of [...waiting.slice(0, 4), ...more]) expect((await call.done()).status).toBe(0);
  });

  it('CFG-83: until its deadline', async () => {
    const proxy = await scene.proxy({
      backends: { a: 'unix:/nonexistent/hedgerow.sock' },
      connected: false,
      serviceConfig: method({ waitForReady: true, timeout: '0.05s' }),
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path, { messages: ['hi'] }).done();
    expect(verdict(answer)).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '0' });
    expect(account(answer)).toMatchObject({ processed: 'no' });
  });

  it('CFG-84: without it the call fails at once, as the policy has it', async () => {
    const proxy = await scene.proxy({
      backends: { a: 'unix:/nonexistent/hedgerow.sock' },
      connected: false,
      serviceConfig: { methodConfig: [{ ...retryFor(path, { maxAttempts: 3 }), waitForReady: false }] },
    });
    const client = await scene.client(proxy);
    const answer = await client.call(path, { messages: ['hi'] }).done();
    expect(verdict(answer)).toEqual({ status: 14, reason: 'no_backend', retries: '2' });
  });
});
