import { describe, expect, it } from 'vitest';
import type { Line } from '../../support/frames.js';
import { type Behaviour, behave } from '../../support/raw-peer.js';
import {
  expectBytes,
  line,
  path,
  previousAttempts,
  retryConfig,
  retryFor,
  useScene,
  verdict,
} from '../../support/scene.js';

/*
 * What can end an attempt on the wire, and what the client and the policy make of it (PRX-18, PRX-19; A6, Commit).
 */

const scene = useScene();
const { fail, ok } = behave;
const unavailable = 14;
const unknown = 2;
const internal = 13;

/** Response headers and one message, then the rest. */
function begun(then: Behaviour): Behaviour {
  return async (stream) => {
    stream.sendHeaders(line('x-from', 'b1'));
    await stream.sendMessage('one');
    await then(stream);
  };
}

const html: readonly Line[] = [
  [':status', '503'],
  ['content-type', 'text/html'],
];

describe('response headers commit', () => {
  it('SM-07, BR-13: a listed code after a message is final', async () => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [begun((stream) => stream.trailers(unavailable, line('grpc-message', 'late')))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'committed', retries: '0' });
    expect(answer.header('x-from')).toBe('b1');
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(answer.message).toBe('late');
    expect(backend.streams).toHaveLength(1);
    expect(await proxy.call(0)).toMatchObject({ commit: 'headers', reason: 'committed' });
  });

  it('BR-13: a listed code in trailers after headers is final without a message, too', async () => {
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      script: [
        (stream) => {
          stream.sendHeaders();
          stream.trailers(unavailable);
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'committed', retries: '0' });
    expect(answer.trailersOnly).toBe(false);
    expect(answer.header('content-type')).toBe('application/grpc');
    expect(backend.streams).toHaveLength(1);
    expect(await proxy.call(0)).toMatchObject({ commit: 'headers' });
  });

  it('BR-15: a listed code after two messages is final, and no message comes twice', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 3 }),
      script: [(stream) => stream.answer(['one', 'two'], unavailable)],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'committed', retries: '0' });
    expect(answer.messages.map(String)).toEqual(['one', 'two']);
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-08: a connection lost after a message is UNAVAILABLE, and final', async () => {
    const { backend, client } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [begun(behave.silent)],
    });
    const call = client.call(path, { messages: ['hi'] });
    await call.whenMessages(1);
    backend.kill();
    const answer = await call.done();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'backend_lost', retries: '0' });
    expect(answer.end).toEqual({ kind: 'ended' });
    expect(answer.message).toContain('b1');
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-08: a message that was cut off is never made whole', async () => {
    const { backend, client } = await scene.stage({ script: [behave.silent] });
    const call = client.call(path, { messages: ['hi'] });
    const stream = (await backend.waitForStream(1)).sendHeaders();
    // A prefix that says ten bytes, and four of them.
    await stream.sendData(Buffer.from([0, 0, 0, 0, 10, 1, 2, 3, 4]));
    await call.whenData(9);
    backend.kill();
    const answer = await call.done();
    expect(answer.status).toBe(unavailable);
    expect(answer.data).toEqual(Buffer.from([0, 0, 0, 0, 10, 1, 2, 3, 4]));
    expect(answer.messages).toEqual([]);
  });
});

describe('no headers: the attempt may be repeated', () => {
  it('SM-08, CON-02: a connection lost before headers is UNAVAILABLE at once without a policy', async () => {
    const { call } = await scene.stage({ script: [behave.kill] });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.message).toContain('lost');
  });

  it('SM-08: a connection lost before headers is retried on the next one', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [ok('warm'), behave.kill, ok('fine')],
    });
    // A connection that has carried a call is followed by the next at once.
    await call();
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(previousAttempts(backend)).toEqual(['-', '-', '1']);
    expect(backend.connections).toHaveLength(2);
  });

  it('SM-38: 103 is no headers: what follows is still Trailers-Only, and retried', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        (stream) => {
          stream.block(
            [
              [':status', '103'],
              ['link', '</x>'],
            ],
            false,
          );
          stream.trailersOnly(unavailable);
        },
        ok('fine'),
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(answer.raw.blocks.map(({ lines }) => lines.find(([name]) => name === ':status')?.[1])).toEqual([
      '200',
      undefined,
    ]);
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-10: HTTP 503 with END_STREAM and no grpc-status is UNAVAILABLE, and retried', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [(stream) => stream.block([[':status', '503']], true), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-10: HTTP 503 with END_STREAM reaches the client as a gRPC status', async () => {
    const { call } = await scene.stage({ script: [(stream) => stream.block([[':status', '503']], true)] });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.trailer(':status')).toBe('200');
    expect(answer.trailer('content-type')).toBe('application/grpc');
    expect(answer.message).toContain('503');
  });

  it('SM-11: HTTP 503 with an HTML page is UNAVAILABLE, and retried', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        async (stream) => {
          stream.block(html, false);
          await stream.sendData(Buffer.from('<html>sorry</html>'), true);
        },
        ok('fine'),
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(answer.messages.map(String)).toEqual(['fine']);
    expect(backend.streams).toHaveLength(2);
  });

  it('SM-11: HTTP 503 with an HTML page reaches the client as a gRPC status, without the page', async () => {
    const { call } = await scene.stage({
      script: [
        async (stream) => {
          stream.block(html, false);
          await stream.sendData(Buffer.from('<html>sorry</html>'), true);
        },
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unavailable, reason: 'no_policy', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.trailer('content-type')).toBe('application/grpc');
    expect(answer.data).toHaveLength(0);
    expect(answer.message).toContain('503');
    expect(answer.message).toContain('text/html');
  });
});

describe('no status', () => {
  it.each([
    ['without', []],
    ['with', [['grpc-message', 'but why']]],
  ] as const)(
    'SM-09: HTTP 200 with END_STREAM, %s a message, is UNKNOWN: retried where that is listed',
    async (_what, extra) => {
      const { call } = await scene.stage({
        serviceConfig: retryConfig({ codes: ['UNKNOWN'] }),
        script: [
          (stream) => stream.block([[':status', '200'], ['content-type', 'application/grpc'], ...extra], true),
          ok('fine'),
        ],
      });
      expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    },
  );

  it('SM-09: HTTP 200 with END_STREAM is UNKNOWN: final where that is not listed, and Trailers-Only', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        (stream) =>
          stream.block(
            [
              [':status', '200'],
              ['content-type', 'application/grpc'],
            ],
            true,
          ),
      ],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unknown, reason: 'fatal_status', retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.message).toContain('no grpc-status');
    expect(backend.streams).toHaveLength(1);
  });

  it('SM-39: a grpc-status that is no number is UNKNOWN: final where that is not listed', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [
        (stream) =>
          stream.block(
            [
              [':status', '200'],
              ['content-type', 'application/grpc'],
              ['grpc-status', 'abc'],
            ],
            true,
          ),
      ],
    });
    const answer = await call();
    expect(answer.trailersOnly).toBe(true);
    expect(answer.trailer('hedgerow-stop-reason')).toBe('fatal_status');
    expect(backend.streams).toHaveLength(1);
    expect(backend.connections).toHaveLength(1);
  });

  it('SM-39: a grpc-status that is no number is UNKNOWN: retried where that is listed', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['UNKNOWN'] }),
      script: [
        (stream) =>
          stream.block(
            [
              [':status', '200'],
              ['content-type', 'application/grpc'],
              ['grpc-status', 'abc'],
            ],
            true,
          ),
        ok('fine'),
      ],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect((await proxy.call(0)).attempts[0]).toMatchObject({ code: unknown, result: 'failed' });
  });

  it('PRX-18: trailers without a grpc-status are UNKNOWN, and say so to the client', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['UNKNOWN'] }),
      script: [begun((stream) => stream.block([['x-end', 'yes']], true))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: unknown, reason: 'committed', retries: '0' });
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(answer.message).toContain('no grpc-status');
    expect(answer.trailer('x-end')).toBe('yes');
  });

  it('PRX-18: END_STREAM on DATA is INTERNAL, and committed', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL'] }),
      script: [begun((stream) => stream.sendData(Buffer.alloc(0), true))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: internal, reason: 'committed', retries: '0' });
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(answer.message).toContain('without trailers');
  });

  it('SM-15: Trailers-Only OK is a success, and passes as it is', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig(),
      script: [fail(0, line('x-end', 'fine'))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(answer.trailersOnly).toBe(true);
    expect(answer.trailer('x-end')).toBe('fine');
    expect(answer.data).toHaveLength(0);
    expect(backend.streams).toHaveLength(1);
  });
});

describe('broken answers', () => {
  it('SM-40: a second HEADERS without END_STREAM is INTERNAL, resets the stream, and is final', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL', 'UNAVAILABLE'] }),
      script: [begun((stream) => stream.block([['x-more', 'headers']], false)), ok('next')],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: internal, reason: 'committed', retries: '0' });
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(await (await backend.waitForStream(1)).whenReset()).toBe(1);
    // It broke its own stream alone.
    expect((await call()).messages.map(String)).toEqual(['next']);
    expect(backend.connections).toHaveLength(1);
  });

  it('PRX-35: headers without :status break their attempt alone', async () => {
    const { backend, call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL'] }),
      script: [(stream) => stream.block([['content-type', 'application/grpc']], false), ok('fine')],
    });
    expect(verdict(await call())).toEqual({ status: 0, reason: undefined, retries: '1' });
    expect(backend.connections).toHaveLength(1);
  });

  it('CON-14: a connection error is UNAVAILABLE for what was on it', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 2, codes: ['INTERNAL'] }),
      // WINDOW_UPDATE by 0 on the connection (RFC 9113 6.9).
      script: [(stream) => stream.connection.send(Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]))],
    });
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'fatal_status', retries: '0' });
    expect((await proxy.call(0)).attempts[0]).toMatchObject({ result: 'lost' });
  });
});

describe('RST_STREAM', () => {
  const codes: readonly (readonly [name: string, code: number, status: number])[] = [
    ['NO_ERROR', 0, internal],
    ['PROTOCOL_ERROR', 1, internal],
    ['INTERNAL_ERROR', 2, internal],
    ['FLOW_CONTROL_ERROR', 3, internal],
    ['SETTINGS_TIMEOUT', 4, internal],
    ['STREAM_CLOSED', 5, internal],
    ['FRAME_SIZE_ERROR', 6, internal],
    ['CANCEL', 8, 1],
    ['COMPRESSION_ERROR', 9, internal],
    ['CONNECT_ERROR', 10, internal],
    ['ENHANCE_YOUR_CALM', 11, 8],
    ['INADEQUATE_SECURITY', 12, 7],
    ['HTTP_1_1_REQUIRED', 13, unavailable],
    ['of no name', 42, internal],
  ];

  it.each(codes)(
    'SM-12, PRX-18: %s (%i) is status %i: retried where listed, else final',
    async (name, code, status) => {
      const others = codes.map(([, , other]) => other).filter((other) => other !== status);
      const { backend, client } = await scene.stage({
        serviceConfig: {
          methodConfig: [
            retryFor('/t.S/Listed', { codes: [status] }),
            retryFor('/t.S/Unlisted', { codes: [...new Set(others)] }),
          ],
        },
        script: [behave.reset(code), ok('fine'), behave.reset(code)],
      });
      expect(verdict(await client.call('/t.S/Listed').done())).toEqual({ status: 0, reason: undefined, retries: '1' });
      const final = await client.call('/t.S/Unlisted').done();
      expect(verdict(final)).toEqual({ status, reason: 'fatal_status', retries: '0' });
      expect(final.trailersOnly).toBe(true);
      expect(final.message).toContain(code === 42 ? '0x2a' : name);
      expect(backend.streams).toHaveLength(3);
      expect(backend.connections).toHaveLength(1);
    },
  );

  it('SM-12, PRX-07: after headers it is a status to the client, no reset of its own', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ codes: ['INTERNAL'] }),
      script: [begun((stream) => stream.reset(2))],
    });
    const answer = await call();
    expect(verdict(answer)).toEqual({ status: internal, reason: 'committed', retries: '0' });
    expect(answer.end).toEqual({ kind: 'ended' });
    expect(answer.messages.map(String)).toEqual(['one']);
  });
});

describe('an answer before the request’s end', () => {
  it('BR-59: a status and RST NO_ERROR while the client is sending: the client sees the status', async () => {
    const { backend, client } = await scene.stage({ script: [behave.silent] });
    const call = client.call(path, { messages: ['one'], end: false });
    const stream = await backend.waitForStream(1);
    await stream.whenMessages(1);
    stream.trailersOnly(7, line('grpc-message', 'no'));
    stream.reset(0);
    expect(await call.whenReset()).toBe(0);
    expect(verdict(call)).toEqual({ status: 7, reason: 'no_policy', retries: '0' });
    expect(call.message).toBe('no');
    expect(call.trailersOnly).toBe(true);
  });

  it('BR-60: headers, data, trailers, then RST CANCEL: all of it is delivered, and the upload stops', async () => {
    const { backend, client } = await scene.stage({ script: [behave.silent, ok('next')] });
    const call = client.call(path, { messages: ['one'], end: false });
    const stream = await backend.waitForStream(1);
    await stream.answer(['answer'], 0, line('x-end', 'yes'));
    stream.reset(8);
    expect(await call.whenReset()).toBe(0);
    expect(verdict(call)).toEqual({ status: 0, reason: undefined, retries: '0' });
    expect(call.messages.map(String)).toEqual(['answer']);
    expect(call.trailer('x-end')).toBe('yes');
    // What the client had under way is dropped, and harms nothing.
    void call.sendMessage('two');
    expect((await client.call(path).done()).messages.map(String)).toEqual(['next']);
    expect(stream.data).toHaveLength(8);
  });

  it('BR-60: large data before RST CANCEL is delivered to its end to a slow client', async () => {
    const large = Buffer.alloc(150_000, 'large ');
    const { backend, client } = await scene.stage({ script: [behave.silent], client: { windows: 'none' } });
    const call = client.call(path, { messages: ['one'], end: false });
    const stream = await backend.waitForStream(1);
    await stream.answer([large]);
    stream.reset(8);
    await call.whenData(65_535);
    await client.ping();
    expect(call.end).toBeNull();
    client.connection.giveWindow(0, 200_000);
    call.raw.giveWindow(200_000);
    expect(await call.whenReset()).toBe(0);
    expect(call.status).toBe(0);
    expectBytes(call.messages[0], large);
  });
});

describe('trailers', () => {
  it('BR-61: a Trailers-Only answer stays one HEADERS frame with END_STREAM', async () => {
    const { call } = await scene.stage({ script: [fail(5, line('grpc-message', 'none'))] });
    const answer = await call();
    expect(answer.raw.blocks.map(({ endStream }) => endStream)).toEqual([true]);
    expect(answer.raw.parts).toEqual([]);
    expect([answer.status, answer.message]).toEqual([5, 'none']);
  });

  it.each([0, 1, 16_379, 16_384, 16_385, 65_530])('BR-61: trailers come after a body of %i bytes', async (length) => {
    const body = Buffer.alloc(length, 'x');
    const { call } = await scene.stage({ script: [(stream) => stream.answer([body], 0, line('x-end', 'yes'))] });
    const answer = await call();
    expect(answer.messages).toHaveLength(1);
    expectBytes(answer.messages[0], body);
    expect(answer.trailer('x-end')).toBe('yes');
    expect(answer.raw.blocks.map(({ endStream }) => endStream)).toEqual([false, true]);
    expect(answer.status).toBe(0);
  });

  it('BR-61: trailers come after no body at all, in a frame of their own', async () => {
    const { call } = await scene.stage({ script: [(stream) => stream.answer([], 0, line('x-end', 'yes'))] });
    const answer = await call();
    expect(answer.raw.blocks.map(({ endStream }) => endStream)).toEqual([false, true]);
    expect(answer.data).toHaveLength(0);
    expect(answer.trailer('x-end')).toBe('yes');
  });

  it('BR-61: trailers that reach the proxy before the client has taken the data stay behind it', async () => {
    const large = Buffer.alloc(100_000, 'y');
    const { client } = await scene.stage({
      script: [(stream) => stream.answer([large], 9)],
      client: { windows: 'none' },
    });
    const call = client.call(path);
    await call.whenData(65_535);
    await client.ping();
    expect(call.trailers).toBeNull();
    client.connection.giveWindow(0, 100_000);
    call.raw.giveWindow(100_000);
    expectBytes((await call.done()).messages[0], large);
    expect(call.status).toBe(9);
  });
});
