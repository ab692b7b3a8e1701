import { describe, expect, it } from 'vitest';
import {
  block,
  data,
  endHeaders,
  frame,
  headers,
  pad,
  padded,
  ping,
  prioritized,
  reset,
  responseLines,
  settings,
  settingsAck,
  Type,
  uint32,
  windowUpdate,
} from '../../support/frames.js';
import { behave } from '../../support/raw-peer.js';
import { path, useScene } from '../../support/scene.js';
import { type Breach, code, last, okTrailers, serves, standing, unharmed } from '../../support/standing-calls.js';

/*
 * A backend that breaks a rule of RFC 9113 on one stream (CON-14: that attempt ends INTERNAL and nothing else is touched), or
 * that only seems to break one.
 */

const scene = useScene();

const changed = (name: string, value: string): Buffer => headers(3, [...responseLines, [name, value]]);

describe('a stream error: the attempt is INTERNAL, the connection and its other streams go on', () => {
  const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR } = code;
  const begun = headers(3, responseLines);
  const length = (value: string): Buffer => changed('content-length', value);

  it.each<Breach>([
    ['8.3.2: no :status', [headers(3, [['content-type', 'application/grpc']])], PROTOCOL_ERROR],
    ['8.3.2: an empty header list', [headers(3, [])], PROTOCOL_ERROR],
    ['8.3.2: two :status', [headers(3, [[':status', '200'], ...responseLines])], PROTOCOL_ERROR],
    ['8.3.2: a :status that is no number', [headers(3, [[':status', '2x0']])], PROTOCOL_ERROR],
    ['8.3.2: a :status of two digits', [headers(3, [[':status', '99']])], PROTOCOL_ERROR],
    ['8.3: :status after a regular field', [headers(3, [...responseLines].reverse())], PROTOCOL_ERROR],
    [
      '8.3: a pseudo-header field of requests',
      [headers(3, [...responseLines.slice(0, 1), [':path', '/']])],
      PROTOCOL_ERROR,
    ],
    [
      '8.3: an unknown pseudo-header field',
      [
        headers(3, [
          [':status', '200'],
          [':odd', '1'],
        ]),
      ],
      PROTOCOL_ERROR,
    ],
    [
      '8.3: a pseudo-header field in trailers',
      [begun, headers(3, [[':status', '200'], ...okTrailers], last)],
      PROTOCOL_ERROR,
    ],
    ['8.2.1: a name in upper case', [changed('X-Upper', '1')], PROTOCOL_ERROR],
    ['8.2.1: an empty name', [changed('', '1')], PROTOCOL_ERROR],
    ['8.2.1: a name with a space', [changed('x y', '1')], PROTOCOL_ERROR],
    ['8.2.1: a name with a byte over 0x7f', [changed('x\u00e9', '1')], PROTOCOL_ERROR],
    ['8.2.1: a value with NUL', [changed('x', 'a\0b')], PROTOCOL_ERROR],
    ['8.2.1: a value with CR', [changed('x', 'a\rb')], PROTOCOL_ERROR],
    ['8.2.1: a value with LF', [changed('x', 'a\nb')], PROTOCOL_ERROR],
    ['8.2.1: upper case in trailers', [begun, headers(3, [['Grpc-Status', '0']], last)], PROTOCOL_ERROR],
    ['8.2.2: connection', [changed('connection', 'close')], PROTOCOL_ERROR],
    ['8.2.2: keep-alive', [changed('keep-alive', '1')], PROTOCOL_ERROR],
    ['8.2.2: proxy-connection', [changed('proxy-connection', 'close')], PROTOCOL_ERROR],
    ['8.2.2: transfer-encoding', [changed('transfer-encoding', 'chunked')], PROTOCOL_ERROR],
    ['8.2.2: upgrade', [changed('upgrade', 'h3')], PROTOCOL_ERROR],
    ['8.2.2: te other than trailers', [changed('te', 'gzip')], PROTOCOL_ERROR],
    [
      '8.2.2: connection in trailers',
      [begun, headers(3, [...okTrailers, ['connection', 'close']], last)],
      PROTOCOL_ERROR,
    ],
    ['8.1.1: a content-length that is no number', [length('-1')], PROTOCOL_ERROR],
    [
      '8.1.1: two content-lengths that differ',
      [headers(3, [...responseLines, ['content-length', '1'], ['content-length', '2']])],
      PROTOCOL_ERROR,
    ],
    ['8.1.1: more DATA than content-length', [length('5'), data(3, Buffer.alloc(6))], PROTOCOL_ERROR],
    [
      '8.1.1: less DATA than content-length',
      [length('7'), data(3, Buffer.alloc(6)), headers(3, okTrailers, last)],
      PROTOCOL_ERROR,
    ],
    [
      '8.1.1: END_STREAM with a content-length',
      [headers(3, [...responseLines, ['content-length', '5']], last)],
      PROTOCOL_ERROR,
    ],
    ['8.1: trailers without END_STREAM', [begun, headers(3, okTrailers)], PROTOCOL_ERROR],
    ['8.1: DATA before the headers', [data(3, 'early')], PROTOCOL_ERROR],
    ['8.1: DATA after an interim response alone', [headers(3, [[':status', '100']]), data(3, 'early')], PROTOCOL_ERROR],
    ['8.1: an interim response with END_STREAM', [headers(3, [[':status', '103']], last)], PROTOCOL_ERROR],
    ['8.6: a 101', [headers(3, [[':status', '101']])], PROTOCOL_ERROR],
    ['6.9: WINDOW_UPDATE by 0', [windowUpdate(3, 0)], PROTOCOL_ERROR],
    ['6.9.1: a window over 2^31-1', [windowUpdate(3, 2 ** 31 - 1)], FLOW_CONTROL_ERROR],
    ['6.3: PRIORITY of 4 bytes', [frame(Type.priority, 0, 3, Buffer.alloc(4))], FRAME_SIZE_ERROR],
  ])('CON-14, PRX-18: %s', async (_rule, bytes, expected) => {
    const stage = await standing(scene);
    stage.send(...bytes);
    const answer = await stage.victim.done();
    expect(answer.status).toBe(13);
    expect(answer.end).toEqual({ kind: 'ended' });
    expect(answer.trailer('hedgerow-backend')).toBe('b1');
    expect(await stage.victimStream.whenReset()).toBe(expected);
    await unharmed(stage, [stage.other]);
  });

  it('CON-14: more DATA than the stream window permits (RFC 9113 6.9.1)', async () => {
    // This client gives no window: what its stream's 65 535 bytes do not take stays in the backend's window.
    const stage = await scene.stage({ client: { windows: 'none' }, onStream: behave.silent });
    const victim = stage.client.call(path, { messages: ['victim'] });
    const stream = await stage.backend.waitForStream(1);
    const other = stage.client.call(path, { messages: ['other'] });
    const otherStream = await stage.backend.waitForStream(2);
    stream.connection.send(headers(1, responseLines));
    // 65 535 bytes go to the client; window is given back in halves, of which it earns none.
    for (let sent = 0; sent < 2 * 256 * 1024; sent += 16_384) stream.connection.send(data(1, Buffer.alloc(16_384)));
    expect(await stream.whenReset()).toBe(code.FLOW_CONTROL_ERROR);
    stage.client.connection.giveWindow(0, 1 << 20);
    stage.client.connection.giveWindow(victim.raw.id, 1 << 20);
    expect((await victim.done()).status).toBe(13);
    await otherStream.answer(['still here']);
    expect((await other.done()).status).toBe(0);
    expect(stream.connection.goaways).toEqual([]);
  });
});

describe('what is to be ignored, or is permitted though odd, changes nothing', () => {
  const answer = [headers(3, responseLines), data(3, ''), headers(3, okTrailers, last)];

  it.each<readonly [string, readonly Uint8Array[]]>([
    ['4.1, 5.5: frames of unknown types', [frame(0xbe, 0xff, 0, Buffer.alloc(100)), frame(0xef, 0xff, 3), ...answer]],
    [
      '4.1: flags without a meaning',
      [
        frame(Type.headers, endHeaders | 0xd2, 3, block(responseLines)),
        frame(Type.data, 0xf6, 3),
        frame(Type.ping, 0xfe, 0, Buffer.alloc(8)),
        ...answer.slice(2),
      ],
    ],
    [
      '4.1: the reserved bit of a stream id',
      [frame(Type.headers, endHeaders, 2 ** 31 + 3, block(responseLines)), ...answer.slice(1)],
    ],
    ['6.9: the reserved bit of an increment', [frame(Type.windowUpdate, 0, 3, uint32(2 ** 31 + 1)), ...answer]],
    ['6.5.2: unknown settings', [settings([0xbe, 1], [0, 2 ** 32 - 1]), ...answer]],
    ['6.5.3: an acknowledgement of nothing', [settingsAck, settingsAck, ...answer]],
    ['6.7: an answer to no PING', [ping('nothing!', 1), ...answer]],
    [
      '6.1: empty DATA',
      [headers(3, responseLines), ...Array.from({ length: 20 }, () => data(3, '')), ...answer.slice(2)],
    ],
    [
      '6.1: padding, all there is',
      [headers(3, responseLines), frame(Type.data, padded, 3, pad(Buffer.alloc(0), 255)), ...answer.slice(2)],
    ],
    [
      '6.2: padding and a priority',
      [
        frame(
          Type.headers,
          endHeaders | padded | prioritized,
          3,
          pad(Buffer.concat([Buffer.alloc(5), block(responseLines)]), 7),
        ),
        ...answer.slice(1),
      ],
    ],
    [
      '5.3.2: PRIORITY on any stream',
      [1, 3, 7, 2].map((id) => frame(Type.priority, 0, id, Buffer.of(0, 0, 0, 9, 1))).concat(answer),
    ],
    ['5.1: WINDOW_UPDATE on a stream that is over', [windowUpdate(1, 1), ...answer]],
    ['5.1: RST_STREAM on a stream that is over', [reset(1, 8), ...answer]],
    ['6.10: a header block in 64 frames', [...inFrames(64), ...answer.slice(1)]],
    [
      '8.1: interim responses',
      [
        headers(3, [[':status', '100']]),
        headers(3, [
          [':status', '103'],
          ['link', 'x'],
        ]),
        ...answer,
      ],
    ],
    [
      '8.1.1: a content-length that is right, twice',
      [headers(3, [...responseLines, ['content-length', '0'], ['content-length', '0']]), ...answer.slice(1)],
    ],
    ['8.2.2: te: trailers', [headers(3, [...responseLines, ['te', 'trailers']]), ...answer.slice(1)]],
    [
      'RFC 7541 6.3: table size updates at a block’s begin',
      [
        frame(Type.headers, endHeaders, 3, Buffer.concat([Buffer.of(0x20, 0x3f, 0xe1, 0x1f), block(responseLines)])),
        ...answer.slice(1),
      ],
    ],
  ])('%s', async (_rule, bytes) => {
    const stage = await standing(scene);
    stage.send(...bytes);
    await unharmed(stage, [stage.victim, stage.other]);
  });

  it('5.1, 4.3: frames on a stream that was reset are ignored, and their fields enter the table', async () => {
    const stage = await standing(scene);
    stage.victim.reset(code.CANCEL);
    expect(await stage.victimStream.whenReset()).toBe(code.CANCEL);
    const indexed = Buffer.concat([Buffer.of(0x40, 1), Buffer.from('x'), Buffer.of(5), Buffer.from('first')]);
    stage.send(frame(Type.headers, endHeaders, 3, Buffer.concat([block(responseLines), indexed])));
    stage.send(data(3, 'late'), headers(3, okTrailers, last), windowUpdate(3, 0));
    // Index 62: what the ignored block put there.
    stage.send(frame(Type.headers, endHeaders, 5, Buffer.concat([block(responseLines), Buffer.of(0xbe)])));
    expect((await stage.other.whenHeaders()).lines).toContainEqual(['x', 'first']);
    stage.send(headers(5, okTrailers, last));
    expect((await stage.other.done()).status).toBe(0);
    await serves(stage, 1);
  });
});

/** A response's header block in so many frames, most of a byte or none. */
function inFrames(count: number): Buffer[] {
  const bytes = block(responseLines);
  return Array.from({ length: count }, (_, i) => {
    const end = i === count - 1;
    const part = bytes.subarray(i, end ? bytes.length : i + 1);
    return frame(i === 0 ? Type.headers : Type.continuation, end ? endHeaders : 0, 3, part);
  });
}
