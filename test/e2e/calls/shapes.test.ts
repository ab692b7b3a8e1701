import { describe, expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import { expectBytes, path, previousAttempts, retryConfig, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/*
 * Calls of every shape, with a retry policy in force: unary, streaming either way, both ways, early and late ends.
 */

const scene = useScene();
const { fail, ok } = behave;
const unavailable = 14;

/** A body whose every part differs, so that no byte can go missing, twice or to another place unseen. */
function body(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32BE(at ^ 0x5bd1e995, at);
  return bytes;
}

describe('unary', () => {
  it('STR-01: an attempt that fails before it has read the request is retried with all of it', async () => {
    const message = body(200_000);
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      backend: { windows: 'connection' },
      script: [
        async (stream) => {
          await stream.whenData(65_535);
          stream.trailersOnly(unavailable);
          stream.reset(0);
        },
        async (stream) => {
          stream.raw.giveWindow(200_000);
          await stream.whenEnded();
          await stream.answer(['fine']);
        },
      ],
    });
    const answer = await client.call(path, { messages: [message] }).done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(backend.streams[0]?.data).toHaveLength(65_535);
    expectBytes(backend.streams[1]?.messages[0], message);
  });

  it('STR-01: a failure before the client has sent all is retried, and what comes later goes to the new attempt', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(unavailable), ok('fine')],
    });
    const call = client.call(path, { messages: ['one'], end: false });
    await (await backend.waitForStream(2)).whenMessages(1);
    await call.sendMessage('two', true);
    expect(verdict(await call.done())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(backend.streams[1]?.messages.map(String)).toEqual(['one', 'two']);
  });

  it('STR-12: a message in many pieces is replayed byte for byte, within the windows of the slow backend that gets it', async () => {
    const message = body(150_000);
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      backend: { windows: 'connection', settings: [[4, 10_000]] },
      script: [
        async (stream) => {
          await stream.whenData(10_000);
          stream.trailersOnly(unavailable);
        },
        behave.silent,
      ],
    });
    const call = client.call(path, { end: false });
    const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), message]);
    framed.writeUInt32BE(message.length, 1);
    // Pieces that split the prefix, and end wherever they like.
    for (const [from, to] of [
      [0, 3],
      [3, 7],
      [7, 9000],
      [9000, 70_001],
      [70_001, framed.length],
    ] as const) {
      void call.sendData(framed.subarray(from, to));
    }
    const second = await backend.waitForStream(2);
    for (let got = 10_000; got < framed.length; got += 10_000) {
      await second.whenData(got);
      await second.connection.ping();
      expect(second.data).toHaveLength(got);
      second.raw.giveWindow(10_000);
    }
    void call.finish();
    await second.whenEnded();
    await second.answer(['fine']);
    expect(verdict(await call.done())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expectBytes(second.data, framed);
  });
});

describe('server streaming', () => {
  it('STR-03: a retry’s messages are followed by its own end, listed or not', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(unavailable), (stream) => stream.answer(['a', 'b', 'c'], unavailable)],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'committed', retries: '1' });
    expect(answer.messages.map(String)).toEqual(['a', 'b', 'c']);
    expect(previousAttempts(backend)).toEqual(['-', '1']);
  });

  it('STR-08: response headers reach the client before any message, after the retries that they took', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        fail(unavailable),
        (stream) => {
          stream.sendHeaders([['x-from', 'two']]);
        },
      ],
    });
    const call = client.call(path, { messages: ['hi'] });
    await call.whenHeaders();
    expect(call.header('x-from')).toBe('two');
    expect(call.data).toHaveLength(0);
    expect(call.end).toBeNull();
    (await backend.waitForStream(2)).trailers(0);
    expect((await call.done()).status).toBe(0);
  });

  it('STR-13: a slow client holds back its own stream, no more than a window of it, and no other call', async () => {
    const large = body(3_000_000);
    const { backend, client, proxy } = await scene.stage({
      client: { windows: 'connection' },
      onStream: (stream) => (stream.header(':path') === path ? stream.answer([large]) : behave.echo(stream)),
    });
    const slow = client.call(path);
    await slow.whenData(65_535);
    for (let n = 0; n < 5; n += 1) {
      const other = await client.call('/t.S/Other', { messages: [`other ${n}`] }).done();
      expect(other.messages.map(String)).toEqual([`other ${n}`]);
    }
    // The proxy took one stream window (256 KiB) beyond what the client has, and stopped granting more.
    const stream = backend.streams[0];
    await stream?.connection.ping();
    expect(slow.data).toHaveLength(65_535);
    expect(proxy.app.ledger().relayBytes).toBeGreaterThan(0);
    expect(proxy.app.ledger().relayBytes).toBeLessThanOrEqual(256 * 1024);
    slow.raw.giveWindow(4_000_000);
    const answer = await slow.done();
    expect(answer.status).toBe(0);
    expectBytes(answer.messages[0], large);
  });

  it('BR-62: each small message arrives before the next is sent, and the status is intact', async () => {
    const { backend, client } = await scene.stage({ serviceConfig: retryConfig(), script: [behave.silent] });
    const call = client.call(path, { messages: ['hi'] });
    const stream = (await backend.waitForStream(1)).sendHeaders();
    for (let n = 1; n <= 20; n += 1) {
      void stream.sendMessage(`m${n}`);
      expect((await call.whenMessages(n)).at(-1)?.toString()).toBe(`m${n}`);
    }
    stream.trailers(9, [['grpc-message', 'that was it']]);
    const answer = await call.done();
    expect([answer.status, answer.message, answer.messages.length]).toEqual([9, 'that was it', 20]);
  });

  it('BR-53: parallel streams get their own messages, those that were retried too', async () => {
    const count = 20;
    const failed = new Set<string>();
    const { client } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      onStream: async (stream) => {
        const name = stream.header('x-call') ?? '';
        await stream.whenEnded();
        if (Number(name) % 2 === 1 && !failed.has(name)) {
          failed.add(name);
          stream.trailersOnly(unavailable, [['x-lost', name]]);
          return;
        }
        stream.sendHeaders([['x-of', name]]);
        for (let n = 0; n < 10; n += 1) {
          await stream.sendMessage(`${name}:${n}:${stream.messages.map(String).join()}`);
          // The streams take turns.
          await stream.connection.ping();
        }
        stream.trailers(0, [['x-end-of', name]]);
      },
    });
    const calls = Array.from({ length: count }, (_, n) =>
      client.call(path, { headers: [['x-call', String(n)]], messages: [`request ${n}`] }).done(),
    );
    for (const [n, answer] of (await Promise.all(calls)).entries()) {
      expect(answer.messages.map(String)).toEqual(Array.from({ length: 10 }, (_, i) => `${n}:${i}:request ${n}`));
      expect(answer.raw.blocks.map(({ endStream }) => endStream)).toEqual([false, true]);
      expect([answer.header('x-of'), answer.trailer('x-end-of')]).toEqual([String(n), String(n)]);
      expect(answer.trailer('x-lost')).toBeUndefined();
      expect(answer.trailer('hedgerow-retries')).toBe(String(n % 2));
    }
    expect(failed.size).toBe(count / 2);
  });
});

describe('client streaming', () => {
  it('STR-07: a backend that answers early ends the call: the client gets OK, and is told to stop', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [behave.silent, ok('next')],
    });
    const call = client.call(path, { messages: ['one'], end: false });
    const stream = await backend.waitForStream(1);
    await stream.whenMessages(1);
    await stream.answer(['enough']);
    expect(await call.whenReset()).toBe(0);
    expect(verdict(call)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(call.messages.map(String)).toEqual(['enough']);
    // What it still sends goes nowhere: to no backend, and to no other call.
    void call.sendData(body(30_000), true);
    expect((await client.call(path).done()).messages.map(String)).toEqual(['next']);
    await stream.whenReset();
    expect(stream.messages.map(String)).toEqual(['one']);
  });

  it('STR-11: no message at all: each attempt gets END_STREAM with its HEADERS', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [behave.failAfterRequest(unavailable), behave.failAfterRequest(unavailable), ok('fine')],
    });
    const answer = await client.call(path).done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '2' });
    expect(backend.streams.map((stream) => stream.raw.blocks[0]?.endStream)).toEqual([true, true, true]);
    expect(backend.streams.every((stream) => stream.raw.parts.length === 0)).toBe(true);
  });

  it('STR-11: no message, half-closed later: the attempt under way gets an empty DATA, later ones END_STREAM', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [behave.failAfterRequest(unavailable), ok('fine')],
    });
    const call = client.call(path, { end: false });
    const first = await backend.waitForStream(1);
    expect(first.ended).toBe(false);
    await call.finish();
    expect(verdict(await call.done())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(backend.streams.map(({ ended, data }) => [ended, data.length])).toEqual([
      [true, 0],
      [true, 0],
    ]);
  });
});

describe('both ways', () => {
  it('STR-05: ping-pong can be retried until the first reply, and not after', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 5 }),
      script: [
        async (stream) => {
          await stream.whenMessages(1);
          stream.trailersOnly(unavailable);
        },
        async (stream) => {
          await stream.whenMessages(1);
          stream.sendHeaders();
          await stream.sendMessage('pong 1');
          await stream.whenMessages(2);
          await stream.sendMessage('pong 2');
          await stream.whenMessages(3);
          stream.trailers(unavailable);
        },
      ],
    });
    const call = client.call(path, { messages: ['ping 1'], end: false });
    expect((await call.whenMessages(1)).map(String)).toEqual(['pong 1']);
    await call.sendMessage('ping 2');
    expect((await call.whenMessages(2)).map(String)).toEqual(['pong 1', 'pong 2']);
    await call.sendMessage('ping 3');
    await call.whenReset();
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'committed', retries: '1' });
    expect(backend.streams.map(({ messages }) => messages.map(String))).toEqual([
      ['ping 1'],
      ['ping 1', 'ping 2', 'ping 3'],
    ]);
  });

  it('STR-06: a hundred messages are replayed in order, and the new attempt goes on live', async () => {
    const hundred = Array.from({ length: 100 }, (_, n) => `message ${n}`);
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        async (stream) => {
          await stream.whenMessages(100);
          stream.trailersOnly(unavailable);
        },
        async (stream) => {
          await stream.whenMessages(100);
          stream.sendHeaders();
          for (let n = 100; n < 105; n += 1) {
            await stream.whenMessages(n + 1);
            await stream.sendMessage(`got ${n}`);
          }
          await stream.whenEnded();
          stream.trailers(0);
        },
      ],
    });
    const call = client.call(path, { messages: hundred, end: false });
    await call.whenHeaders();
    for (let n = 100; n < 105; n += 1) {
      await call.sendMessage(`message ${n}`);
      expect((await call.whenMessages(n - 99)).at(-1)?.toString()).toBe(`got ${n}`);
    }
    await call.finish();
    expect(verdict(await call.done())).toEqual({ status: 0, reason: undefined, retries: '1' });
    const all = [...hundred, ...[100, 101, 102, 103, 104].map((n) => `message ${n}`)];
    expect(backend.streams.map(({ messages }) => messages.map(String))).toEqual([hundred, all]);
  });
});

describe('time', () => {
  it('STR-14: a call that stayed open for two hours without headers is retried: bytes decide, not time', async () => {
    const time = createVirtualTime();
    const { backend, client, proxy } = await scene.stage({
      serviceConfig: retryConfig({ initial: 5 }),
      time,
      // Its PINGs are answered in another time than the test's.
      flags: ['--keepalive-time', 'off'],
      script: [behave.silent, behave.echo],
    });
    const call = client.call(path, { messages: ['one'], end: false });
    const first = await backend.waitForStream(1);
    await first.whenMessages(1);
    time.advance(2 * 3600_000);
    await call.sendMessage('two');
    await first.whenMessages(2);
    first.trailersOnly(unavailable);
    // The answer to this PING comes after the proxy has read the failure.
    await first.connection.ping();
    expect(backend.streams).toHaveLength(1);
    time.advance(5);
    await call.finish();
    const answer = await call.done();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(answer.messages.map(String)).toEqual(['one', 'two']);
    const { startedAt, endedAt } = await proxy.call(0);
    expect(endedAt - startedAt).toBe(2 * 3600_000 + 5);
  });
});
