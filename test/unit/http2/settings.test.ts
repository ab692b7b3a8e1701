import { describe, expect, it } from 'vitest';
import {
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  ping,
  preface,
  requestLines,
  responseLines,
  settings,
  settingsAck,
  Type,
  windowUpdate,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const MAX_HEADER_LIST_SIZE = 6;

describe('the preface (RFC 9113 3.4)', () => {
  it('a client begins with the magic, SETTINGS that refuse push, and the larger connection window', () => {
    const client = new Recorder('client');
    client.connection.start();
    const bytes = client.bytes();
    expect(bytes.subarray(0, 24)).toEqual(preface);
    const payload = bytes.subarray(24 + 9, 24 + 9 + bytes.readUIntBE(24, 3));
    const pairs = new Map<number, number>();
    for (let at = 0; at < payload.length; at += 6) pairs.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    expect(pairs).toEqual(
      new Map([
        [HEADER_TABLE_SIZE, 4096],
        [INITIAL_WINDOW_SIZE, 262_144],
        [MAX_FRAME_SIZE, 16_384],
        [MAX_HEADER_LIST_SIZE, 16_384],
        [ENABLE_PUSH, 0],
      ]),
    );
    expect(bytes.subarray(24 + 9 + payload.length)).toEqual(windowUpdate(0, 4 * 1024 * 1024 - 65_535));
  });

  it('a server begins with SETTINGS that name its stream limit and say nothing of push', () => {
    const server = new Recorder('server', { maxConcurrentStreams: 7 });
    server.connection.start();
    const [first] = server.frames();
    expect(first?.type).toBe(Type.settings);
    const ids: number[] = [];
    for (let at = 0; at < (first?.payload.length ?? 0); at += 6) ids.push(first?.payload.readUInt16BE(at) ?? 0);
    expect(ids).toContain(MAX_CONCURRENT_STREAMS);
    expect(ids).not.toContain(ENABLE_PUSH);
  });

  it('a server refuses other first bytes', () => {
    const server = new Recorder('server');
    server.connection.start();
    server.bytes();
    server.receive(Buffer.from('PRI * HTTP/1.1\r\n'));
    expect(server.events()).toEqual(['failed 1']);
    expect(server.sent()).toEqual(['goaway 0 1']);
  });

  it('both roles refuse a first frame that is not SETTINGS', () => {
    for (const role of ['client', 'server'] as const) {
      for (const first of [ping('12345678'), settingsAck]) {
        const core = new Recorder(role);
        core.connection.start();
        if (role === 'server') core.receive(preface);
        core.receive(first);
        expect(core.events()).toEqual(['failed 1']);
      }
    }
  });

  it('a connection is ready from the first SETTINGS on', () => {
    const client = new Recorder('client');
    client.connection.start();
    expect(client.connection.ready).toBe(false);
    expect(client.connection.room).toBe(0);
    expect(client.connection.openStream(client)).toBeNull();
    client.receive(settings());
    expect(client.connection.ready).toBe(true);
    expect(client.connection.room).toBeGreaterThan(1000);
  });
});

describe('SETTINGS (RFC 9113 6.5)', () => {
  it('are acknowledged, one by one, and then told', () => {
    const server = Recorder.ready('server');
    server.receive(settings(), settings([MAX_FRAME_SIZE, 20_000]));
    expect(server.events()).toEqual(['settings', 'settings']);
    expect(server.sent()).toEqual(['settings ack', 'settings ack']);
  });

  it('apply in order: the last of several wins', () => {
    const client = Recorder.ready('client', {}, [
      [MAX_CONCURRENT_STREAMS, 5],
      [MAX_CONCURRENT_STREAMS, 2],
    ]);
    expect(client.connection.room).toBe(2);
  });

  it('unknown ones are ignored (6.5.2)', () => {
    const server = Recorder.ready('server');
    server.receive(settings([0x0, 1], [0x99, 0xffff_ffff]));
    expect(server.events()).toEqual(['settings']);
  });

  it('a second acknowledgement is ignored', () => {
    const server = Recorder.ready('server');
    server.receive(settingsAck, settingsAck);
    expect(server.events()).toEqual([]);
  });

  it.each([
    ['on a stream', frame(Type.settings, 0, 1), 1],
    ['an acknowledgement with a payload', frame(Type.settings, 1, 0, Buffer.alloc(6)), 6],
    ['a length that is no multiple of 6', frame(Type.settings, 0, 0, Buffer.alloc(7)), 6],
    ['ENABLE_PUSH 2', settings([ENABLE_PUSH, 2]), 1],
    ['INITIAL_WINDOW_SIZE over 2^31-1', settings([INITIAL_WINDOW_SIZE, 2 ** 31]), 3],
    ['MAX_FRAME_SIZE below 16384', settings([MAX_FRAME_SIZE, 16_383]), 1],
    ['MAX_FRAME_SIZE over 2^24-1', settings([MAX_FRAME_SIZE, 2 ** 24]), 1],
  ])('%s is a connection error', (_name, bytes, code) => {
    const server = Recorder.ready('server');
    server.receive(bytes);
    expect(server.events()).toEqual([`failed ${code}`]);
    expect(server.sent()).toContain(`goaway 0 ${code}`);
  });

  it('a client may allow or forbid pushes, a server must not ask for them (6.5.2)', () => {
    const server = Recorder.ready('server');
    server.receive(settings([ENABLE_PUSH, 1], [ENABLE_PUSH, 0]));
    expect(server.events()).toEqual(['settings']);
    const client = Recorder.ready('client');
    client.receive(settings([ENABLE_PUSH, 0]));
    expect(client.events()).toEqual(['settings']);
    client.receive(settings([ENABLE_PUSH, 1]));
    expect(client.events()).toEqual(['failed 1']);
  });

  it('MAX_CONCURRENT_STREAMS bounds the room, and may fall below what is open', () => {
    const client = Recorder.ready('client', {}, [[MAX_CONCURRENT_STREAMS, 2]]);
    client.request();
    expect(client.connection.room).toBe(1);
    client.request();
    expect(client.connection.room).toBe(0);
    expect(client.connection.openStream(client)).toBeNull();
    client.receive(settings([MAX_CONCURRENT_STREAMS, 1]));
    expect(client.connection.room).toBe(0);
    client.receive(settings([MAX_CONCURRENT_STREAMS, 4]));
    expect(client.connection.room).toBe(2);
  });

  it('MAX_FRAME_SIZE bounds the frames that we send', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 100_000]]);
    const stream = client.request();
    client.bytes();
    client.receive(settings([MAX_FRAME_SIZE, 20_000]));
    client.bytes();
    expect(client.connection.sendData(stream, Buffer.alloc(50_000), 0, 50_000, true)).toBe(50_000);
    expect(client.frames().map(({ payload, flags }) => [payload.length, flags])).toEqual([
      [20_000, 0],
      [20_000, 0],
      [10_000, endStream],
    ]);
  });

  it('INITIAL_WINDOW_SIZE changes open streams, to below zero too, and opens them again (6.9.2)', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 100]]);
    const stream = client.request();
    expect(client.connection.sendData(stream, Buffer.alloc(80), 0, 80, false)).toBe(80);
    client.receive(settings([INITIAL_WINDOW_SIZE, 30]));
    expect(client.connection.sendData(stream, Buffer.alloc(80), 0, 80, false)).toBe(0);
    client.events();
    // 100 - 80 - 70 = -50: another 50 opens nothing yet.
    client.receive(windowUpdate(1, 50));
    expect(client.events()).toEqual([]);
    client.receive(settings([INITIAL_WINDOW_SIZE, 40]));
    expect(client.events()).toEqual(['settings', 'writable 1']);
    expect(client.connection.sendData(stream, Buffer.alloc(80), 0, 80, false)).toBe(10);
  });

  it('INITIAL_WINDOW_SIZE that takes a stream over 2^31-1 is a FLOW_CONTROL_ERROR (6.9.2)', () => {
    const client = Recorder.ready('client');
    client.request();
    client.receive(windowUpdate(1, 2 ** 31 - 1 - 65_535));
    client.bytes();
    client.events();
    client.receive(settings([INITIAL_WINDOW_SIZE, 65_536]));
    expect(client.events()).toEqual(['failed 3', 'end 1 lost flushed', 'closed 1']);
  });

  it('HEADER_TABLE_SIZE 0 from the peer: blocks still arrive', () => {
    const client = Recorder.ready('client', {}, [[HEADER_TABLE_SIZE, 0]]);
    const server = Recorder.ready('server');
    for (let i = 0; i < 3; i += 1) client.request(true);
    server.receive(client.bytes());
    expect(server.events()).toEqual([1, 3, 5].map((id) => `request ${id} /pkg.Service/Method end`));
  });

  it('MAX_HEADER_LIST_SIZE of the peer: a larger list is not sent (6.5.2)', () => {
    const client = Recorder.ready('client', {}, [[MAX_HEADER_LIST_SIZE, 100]]);
    const stream = client.connection.openStream(client);
    if (stream === null) throw new Error('no room');
    client.events();
    const { connection } = client;
    // 32 a field: 3 * 32 + 4 is the limit exactly.
    const exact = fields([
      ['a', '1'],
      ['b', ''],
      ['c', ''],
    ]);
    const over = fields([
      ['a', '1'],
      ['b', '2'],
      ['c', ''],
    ]);
    expect(connection.sendHeaders(stream, over, true)).toBe(false);
    expect(client.frames()).toEqual([]);
    expect(stream.id).toBe(0);
    expect(connection.sendHeaders(stream, exact, true)).toBe(true);
    expect(stream.id).toBe(1);
  });

  it('until ours are acknowledged the peer may use the default window, afterwards ours (6.9.2)', () => {
    const client = new Recorder('client', { streamWindow: 1000 });
    client.connection.start();
    client.receive(settings());
    client.request();
    client.bytes();
    client.events();
    client.receive(headers(1, responseLines), data(1, Buffer.alloc(600)), settingsAck, data(1, Buffer.alloc(400)));
    expect(client.events()).toEqual(['headers 1 2', 'data 1 600', 'data 1 400']);
    client.receive(data(1, 'x'));
    expect(client.events()).toEqual(['end 1 streamError 3', 'closed 1']);
  });

  it('until ours are acknowledged a server takes the default window too', () => {
    const server = new Recorder('server', { streamWindow: 1000 });
    server.connection.start();
    server.receive(
      preface,
      settings(),
      headers(1, requestLines),
      data(1, Buffer.alloc(16_384)),
      data(1, Buffer.alloc(16_384)),
    );
    expect(server.events()).toEqual(['settings', 'request 1 /pkg.Service/Method', 'data 1 16384', 'data 1 16384']);
  });
});

describe('PING (RFC 9113 6.7)', () => {
  it('is answered with the same bytes', () => {
    const server = Recorder.ready('server');
    server.receive(ping('abcdefgh'));
    expect(server.sent()).toEqual(['ping abcdefgh ack']);
  });

  it('our own: each answer calls its own, in order; strange answers do nothing', () => {
    const server = Recorder.ready('server');
    const heard: string[] = [];
    server.connection.ping(() => heard.push('first'));
    server.connection.ping(() => heard.push('second'));
    const [first, second] = server.frames();
    if (first === undefined || second === undefined) throw new Error('no PING');
    server.receive(ping('strange!', 1));
    server.receive(frame(Type.ping, 1, 0, second.payload));
    expect(heard).toEqual([]);
    server.receive(frame(Type.ping, 1, 0, first.payload), frame(Type.ping, 1, 0, first.payload));
    expect(heard).toEqual(['first']);
    server.receive(frame(Type.ping, 1, 0, second.payload));
    expect(heard).toEqual(['first', 'second']);
    expect(server.sent()).toEqual([]);
  });

  it.each([
    ['on a stream', frame(Type.ping, 0, 1, Buffer.alloc(8)), 1],
    ['of 7 bytes', frame(Type.ping, 0, 0, Buffer.alloc(7)), 6],
  ])('%s is a connection error', (_name, bytes, code) => {
    const server = Recorder.ready('server');
    server.receive(bytes);
    expect(server.events()).toEqual([`failed ${code}`]);
  });
});

describe('frames in general (RFC 9113 4)', () => {
  it('unknown types are ignored, on any stream (4.1, 5.5)', () => {
    const server = Recorder.ready('server');
    server.receive(frame(0xbe, 0xff, 0, Buffer.from('what')), frame(0x10, 0, 99, Buffer.alloc(300)));
    server.receive(headers(1, requestLines, endHeaders | endStream));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end']);
  });

  it('unknown flags and the reserved bit are ignored (4.1)', () => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.ping, 0xfe, 0x8000_0000, Buffer.from('abcdefgh')));
    expect(server.sent()).toEqual(['ping abcdefgh ack']);
  });

  it('a frame longer than we permit is a FRAME_SIZE_ERROR (4.2)', () => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.data, 0, 1, Buffer.alloc(16_385)));
    expect(server.events()).toEqual(['failed 6']);
  });

  it('its header alone is enough to know (4.2)', () => {
    const server = Recorder.ready('server');
    const bytes = frame(Type.data, 0, 1, Buffer.alloc(16_385));
    for (let at = 0; at < 9; at += 1) server.receive(bytes.subarray(at, at + 1));
    expect(server.events()).toEqual(['failed 6']);
  });

  it('after a connection error nothing is read and nothing sent', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), frame(Type.ping, 0, 1, Buffer.alloc(8)), ping('abcdefgh'));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'failed 1', 'end 1 lost flushed', 'closed 1']);
    server.receive(headers(3, requestLines));
    server.connection.ping(() => {});
    server.connection.sendHeaders(server.stream(1), fields(responseLines), true);
    server.connection.lost('the socket ended');
    expect(server.events()).toEqual([]);
    expect(server.sent()).toEqual(['goaway 1 1']);
    expect(server.connection.ready).toBe(false);
  });
});
