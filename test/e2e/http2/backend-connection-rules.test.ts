import { describe, expect, it } from 'vitest';
import {
  block,
  data,
  endHeaders,
  frame,
  headers,
  padded,
  ping,
  prioritized,
  reset,
  responseLines,
  settings,
  Type,
  uint32,
  windowUpdate,
} from '../../support/frames.js';
import { path, useScene, verdict } from '../../support/scene.js';
import { type Breach, code, serves, standing } from '../../support/standing-calls.js';

/*
 * A backend that breaks a rule of the connection (RFC 9113 5.4.1; CON-14): GOAWAY with the code, and UNAVAILABLE of what was on
 * the connection.
 */

const scene = useScene();

describe('a connection error: GOAWAY, its attempts are UNAVAILABLE, the next call uses another connection', () => {
  const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, COMPRESSION_ERROR, STREAM_CLOSED } = code;
  const fragment = (bytes: Uint8Array): Buffer => frame(Type.headers, endHeaders, 3, bytes);
  const open = frame(Type.headers, 0, 3, block(responseLines));
  const table = (size: number): Buffer => Buffer.of(0x3f, ...prefixed(size - 31));

  it.each<Breach>([
    ['4.2: a frame over SETTINGS_MAX_FRAME_SIZE', [data(3, Buffer.alloc(16_385))], FRAME_SIZE_ERROR],
    ['4.2: an unknown frame over it', [frame(0xbe, 0, 0, Buffer.alloc(16_385))], FRAME_SIZE_ERROR],
    ['6.1: DATA on stream 0', [data(0, 'x')], PROTOCOL_ERROR],
    ['5.1: DATA on an idle stream', [data(7, 'x')], PROTOCOL_ERROR],
    ['5.1.1: DATA on a stream of its own', [data(2, 'x')], PROTOCOL_ERROR],
    ['5.1: DATA on a stream that is over', [data(1, 'x')], STREAM_CLOSED],
    ['6.1: more padding than DATA', [frame(Type.data, padded, 3, Buffer.of(1))], PROTOCOL_ERROR],
    ['6.1: padded DATA without a pad length', [frame(Type.data, padded, 3)], FRAME_SIZE_ERROR],
    ['6.2: HEADERS on stream 0', [headers(0, responseLines)], PROTOCOL_ERROR],
    ['5.1: HEADERS on an idle stream', [headers(7, responseLines)], PROTOCOL_ERROR],
    ['5.1.1: HEADERS on a stream of its own', [headers(2, responseLines)], PROTOCOL_ERROR],
    ['5.1: HEADERS on a stream that is over', [headers(1, responseLines)], STREAM_CLOSED],
    [
      '6.2: more padding than HEADERS',
      [frame(Type.headers, padded | endHeaders, 3, Buffer.of(9, 0x88))],
      PROTOCOL_ERROR,
    ],
    [
      '6.2: HEADERS too short for a priority',
      [frame(Type.headers, prioritized | endHeaders, 3, Buffer.alloc(4))],
      FRAME_SIZE_ERROR,
    ],
    ['6.3: PRIORITY on stream 0', [frame(Type.priority, 0, 0, Buffer.alloc(5))], PROTOCOL_ERROR],
    ['6.4: RST_STREAM on stream 0', [reset(0, 8)], PROTOCOL_ERROR],
    ['6.4: RST_STREAM on an idle stream', [reset(7, 8)], PROTOCOL_ERROR],
    ['6.4: RST_STREAM of 3 bytes', [frame(Type.reset, 0, 3, Buffer.alloc(3))], FRAME_SIZE_ERROR],
    ['6.5: SETTINGS on a stream', [frame(Type.settings, 0, 3, Buffer.alloc(6))], PROTOCOL_ERROR],
    ['6.5: SETTINGS of 5 bytes', [frame(Type.settings, 0, 0, Buffer.alloc(5))], FRAME_SIZE_ERROR],
    ['6.5: an acknowledgement with a payload', [frame(Type.settings, 1, 0, Buffer.alloc(6))], FRAME_SIZE_ERROR],
    ['6.5.2: SETTINGS_ENABLE_PUSH 1 from a server', [settings([2, 1])], PROTOCOL_ERROR],
    ['6.5.2: SETTINGS_INITIAL_WINDOW_SIZE 2^31', [settings([4, 2 ** 31])], FLOW_CONTROL_ERROR],
    ['6.5.2: SETTINGS_MAX_FRAME_SIZE 16383', [settings([5, 16_383])], PROTOCOL_ERROR],
    ['6.5.2: SETTINGS_MAX_FRAME_SIZE 2^24', [settings([5, 2 ** 24])], PROTOCOL_ERROR],
    [
      '6.9.2: SETTINGS that take a window over 2^31-1',
      [windowUpdate(3, 2 ** 31 - 1 - 65_535), settings([4, 70_000])],
      FLOW_CONTROL_ERROR,
    ],
    [
      '6.6: PUSH_PROMISE',
      [frame(Type.push, endHeaders, 3, Buffer.concat([uint32(2), block(responseLines)]))],
      PROTOCOL_ERROR,
    ],
    ['6.7: PING on a stream', [frame(Type.ping, 0, 3, Buffer.alloc(8))], PROTOCOL_ERROR],
    ['6.7: PING of 7 bytes', [frame(Type.ping, 0, 0, Buffer.alloc(7))], FRAME_SIZE_ERROR],
    ['6.8: GOAWAY on a stream', [frame(Type.goaway, 0, 3, Buffer.alloc(8))], PROTOCOL_ERROR],
    ['6.8: GOAWAY of 7 bytes', [frame(Type.goaway, 0, 0, Buffer.alloc(7))], FRAME_SIZE_ERROR],
    ['6.9: WINDOW_UPDATE by 0', [windowUpdate(0, 0)], PROTOCOL_ERROR],
    ['6.9.1: a window over 2^31-1', [windowUpdate(0, 2 ** 31 - 1)], FLOW_CONTROL_ERROR],
    ['6.9: WINDOW_UPDATE of 3 bytes', [frame(Type.windowUpdate, 0, 3, Buffer.alloc(3))], FRAME_SIZE_ERROR],
    ['5.1: WINDOW_UPDATE on an idle stream', [windowUpdate(7, 1)], PROTOCOL_ERROR],
    [
      '6.10: CONTINUATION without HEADERS',
      [frame(Type.continuation, endHeaders, 3, block(responseLines))],
      PROTOCOL_ERROR,
    ],
    [
      '6.10: CONTINUATION after END_HEADERS',
      [headers(3, responseLines), frame(Type.continuation, endHeaders, 3)],
      PROTOCOL_ERROR,
    ],
    ['6.10: CONTINUATION of another stream', [open, frame(Type.continuation, endHeaders, 5)], PROTOCOL_ERROR],
    ['6.10: another frame within a header block', [open, ping('unseemly')], PROTOCOL_ERROR],
    ['6.10: an unknown frame within a header block', [open, frame(0xbe, 0, 3)], PROTOCOL_ERROR],
    [
      '6.10: a header block without end',
      [open, ...Array.from({ length: 64 }, () => frame(Type.continuation, 0, 3))],
      code.ENHANCE_YOUR_CALM,
    ],
    ['RFC 7541 6.1: index 0', [fragment(Buffer.of(0x80))], COMPRESSION_ERROR],
    ['RFC 7541 2.3.3: an index beyond the tables', [fragment(Buffer.of(0xfe))], COMPRESSION_ERROR],
    [
      'RFC 7541 5.1: an integer without end',
      [fragment(Buffer.of(0xff, ...Array<number>(10).fill(0xff)))],
      COMPRESSION_ERROR,
    ],
    ['RFC 7541 5.2: a string longer than its block', [fragment(Buffer.of(0x00, 0x05, 0x61))], COMPRESSION_ERROR],
    [
      'RFC 7541 5.2: EOS within Huffman code',
      [fragment(Buffer.of(0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00))],
      COMPRESSION_ERROR,
    ],
    ['RFC 7541 5.2: Huffman padding of a byte', [fragment(Buffer.of(0x00, 0x82, 0x1f, 0xff, 0x00))], COMPRESSION_ERROR],
    ['RFC 7541 4.2: a table size update after a field', [fragment(Buffer.of(0x88, 0x20))], COMPRESSION_ERROR],
    ['RFC 7541 6.3: a table larger than advertised', [fragment(table(4097))], COMPRESSION_ERROR],
  ])('CON-14: %s', async (_rule, bytes, expected) => {
    const stage = await standing(scene);
    const { connection } = stage.victimStream;
    stage.send(...bytes);
    expect(await connection.whenGoaway()).toMatchObject({ lastStreamId: 0, code: expected });
    expect((await stage.victim.done()).status).toBe(14);
    expect(verdict(await stage.other.done())).toEqual({ status: 14, reason: 'no_policy', retries: '0' });
    await connection.whenClosed();
    await serves(stage, 2);
  });

  it('CON-14: HPACK broken in a block on a stream that was reset (RFC 9113 4.3)', async () => {
    const stage = await standing(scene);
    stage.send(headers(3, []), fragment(Buffer.of(0x80)));
    expect(await stage.victimStream.connection.whenGoaway()).toMatchObject({ code: COMPRESSION_ERROR });
    expect((await stage.victim.done()).status).toBe(13);
    expect((await stage.other.done()).status).toBe(14);
    await serves(stage, 2);
  });

  it('CON-14: a first frame other than SETTINGS (RFC 9113 3.4) is a connect that failed', async () => {
    const backend = await scene.backend({ greet: false });
    const proxy = await scene.proxy({ backends: { b1: backend.port }, connected: false });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'] });
    const connection = await backend.waitForConnection(1);
    connection.send(ping('too soon'));
    expect(await connection.whenGoaway()).toMatchObject({ lastStreamId: 0, code: code.PROTOCOL_ERROR });
    const answer = await call.done();
    expect(answer.status).toBe(14);
    expect(answer.message).toContain('SETTINGS');
  });
});

/** The rest of an integer after its prefix (RFC 7541 5.1). */
function prefixed(rest: number): number[] {
  return rest < 128 ? [rest] : [(rest % 128) + 128, ...prefixed(Math.floor(rest / 128))];
}
