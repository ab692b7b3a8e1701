import { describe, expect, it } from 'vitest';
import {
  block,
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  prioritized,
  requestLines,
  reset,
  responseLines,
  settings,
  Type,
  uint32,
  windowUpdate,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;
const response = fields(responseLines);
const trailers = fields([['grpc-status', '0']]);

describe('a stream’s life (RFC 9113 5.1)', () => {
  it('a unary call on a server: each state, and the id’s room given back at the end', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines));
    const stream = server.stream(1);
    expect([stream.receiveClosed, stream.sendClosed, stream.closed]).toEqual([false, false, false]);
    server.receive(data(1, 'abc', endStream));
    expect([stream.receiveClosed, stream.sendClosed, stream.closed]).toEqual([true, false, false]);
    const { connection } = server;
    connection.sendHeaders(stream, response, false);
    expect(connection.sendData(stream, Buffer.from('xyz'), 0, 3, false)).toBe(3);
    expect(connection.openStreams).toBe(1);
    connection.sendHeaders(stream, trailers, true);
    expect([stream.receiveClosed, stream.sendClosed, stream.closed]).toEqual([true, true, true]);
    expect(connection.openStreams).toBe(0);
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'data 1 "abc" end', 'closed 1']);
    expect(server.sent()).toEqual(['headers 1', 'data 1 "xyz"', 'headers 1 end']);
  });

  it('a unary call on a client', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    expect(client.connection.sendData(stream, Buffer.from('abc'), 0, 3, true)).toBe(3);
    expect(client.sent()).toEqual(['headers 1', 'data 1 "abc" end']);
    client.receive(headers(1, responseLines), data(1, 'xyz'), headers(1, [['grpc-status', '0']], last));
    expect(client.events()).toEqual(['headers 1 2', 'data 1 "xyz"', 'trailers 1 1', 'closed 1']);
    expect(stream.closed).toBe(true);
    expect(client.connection.openStreams).toBe(0);
  });

  it('a stream that closes within its last event is announced once, whoever closes it', () => {
    for (const how of ['answer', 'reset'] as const) {
      const server = Recorder.ready('server');
      server.receive(headers(1, requestLines));
      server.events();
      server.during = (event, stream) => {
        if (!event.startsWith('data') || stream === null) return;
        if (how === 'answer') server.connection.sendHeaders(stream, response, true);
        else server.connection.reset(stream, 8);
      };
      server.receive(data(1, 'abc', endStream));
      expect(server.events()).toEqual(['data 1 "abc" end', 'closed 1']);
      expect(server.connection.openStreams).toBe(0);
    }
  });

  it('within the last event there is room for another stream', () => {
    const client = Recorder.ready('client', {}, [[3, 1]]);
    client.request(true);
    let room = -1;
    client.during = (event) => {
      if (event.startsWith('headers')) room = client.connection.room;
    };
    client.receive(headers(1, responseLines, last));
    expect(room).toBe(1);
  });

  it('a server that answers in full may still read the request, or stop it with NO_ERROR (8.1)', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines));
    server.connection.sendHeaders(server.stream(1), response, true);
    server.receive(data(1, 'more'));
    server.connection.reset(server.stream(1), 0);
    server.receive(data(1, 'late'), windowUpdate(1, 5), reset(1, 8));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'data 1 "more"', 'closed 1']);
    expect(server.sent()).toEqual(['headers 1 end', 'reset 1 0']);
  });

  it('an empty chunk with END_STREAM goes out at once, window or not', () => {
    const client = Recorder.ready('client', {}, [[4, 0]]);
    const stream = client.request();
    client.connection.setOutputBlocked(true);
    expect(client.connection.sendData(stream, Buffer.alloc(0), 0, 0, true)).toBe(0);
    expect(client.sent()).toEqual(['headers 1', 'data 1 "" end']);
    expect(stream.sendClosed).toBe(true);
  });

  it('nothing is sent on a closed stream, and calls about it are ignored', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    client.connection.reset(stream, 8);
    client.bytes();
    client.events();
    const { connection } = client;
    connection.reset(stream, 8);
    connection.consume(stream, 100);
    expect(connection.sendHeaders(stream, trailers, true)).toBe(true);
    expect(connection.sendData(stream, Buffer.from('abc'), 0, 3, true)).toBe(0);
    expect(client.frames()).toEqual([]);
    expect(client.events()).toEqual([]);
  });

  it('a stream that is reset before its HEADERS leaves no trace on the wire', () => {
    const client = Recorder.ready('client');
    const stream = client.connection.openStream(client);
    if (stream === null) throw new Error('no room');
    expect(client.connection.openStreams).toBe(1);
    client.connection.reset(stream, 8);
    expect(client.events()).toEqual(['closed 0']);
    expect(client.frames()).toEqual([]);
    expect(client.connection.openStreams).toBe(0);
    expect(client.request().id).toBe(1);
  });

  it('a server owner that does not take a request on has it reset', () => {
    const server = Recorder.ready('server');
    server.during = (_event, stream) => {
      if (stream !== null) stream.events = null;
    };
    server.receive(headers(1, requestLines));
    expect(server.sent()).toEqual(['reset 1 2']);
    expect(server.connection.openStreams).toBe(0);
  });
});

describe('flushed', () => {
  it('is set when the HEADERS have been taken', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    expect(stream.flushed).toBe(false);
    client.bytes();
    expect(stream.flushed).toBe(true);
  });

  it('onceFlushed runs right after, once', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    const seen: boolean[] = [];
    client.connection.onceFlushed(() => seen.push(stream.flushed));
    client.bytes();
    client.bytes();
    expect(seen).toEqual([true]);
  });

  it('tells at a loss which streams can have left (A6)', () => {
    const client = Recorder.ready('client');
    client.request();
    client.bytes();
    client.request();
    client.connection.openStream(client);
    client.connection.lost('the peer reset the connection');
    expect(client.events()).toEqual([
      'end 1 lost flushed',
      'closed 1',
      'end 3 lost unsent',
      'closed 3',
      'end 0 lost unsent',
      'closed 0',
    ]);
    expect(client.connection.openStreams).toBe(0);
    expect(client.connection.room).toBe(0);
  });

  it('a stream that another’s loss resets hears nothing', () => {
    const client = Recorder.ready('client');
    const first = client.request();
    const second = client.request();
    client.during = (event) => {
      if (event === 'end 1 lost unsent') client.connection.reset(second, 8);
    };
    client.connection.lost('gone');
    expect(client.events()).toEqual(['end 1 lost unsent', 'closed 3', 'closed 1']);
    expect([first.closed, second.closed]).toEqual([true, true]);
  });
});

describe('stream identifiers (RFC 9113 5.1.1)', () => {
  it('a client uses odd ones, rising', () => {
    const client = Recorder.ready('client');
    expect([client.request().id, client.request().id, client.request().id]).toEqual([1, 3, 5]);
  });

  it('ids run out', () => {
    const client = Recorder.ready('client');
    // The state a connection has after 2^30 streams; opening them all would take minutes.
    const inner = client.connection as unknown as { sender: { nextStreamId: number } };
    inner.sender.nextStreamId = 2 ** 31 - 3;
    expect(client.connection.room).toBe(2);
    expect(client.request().id).toBe(2 ** 31 - 3);
    expect(client.connection.room).toBe(1);
    const waiting = client.connection.openStream(client);
    expect(client.connection.room).toBe(0);
    if (waiting === null) throw new Error('no room');
    client.connection.sendHeaders(waiting, fields(requestLines), true);
    expect(waiting.id).toBe(2 ** 31 - 1);
    expect(client.connection.room).toBe(0);
    expect(client.connection.openStream(client)).toBeNull();
  });

  it.each([
    ['an even one opened by a client', 'server', [headers(2, requestLines)]],
    ['HEADERS on stream 0', 'server', [headers(0, requestLines)]],
    ['DATA on stream 0', 'server', [data(0, 'x')]],
    ['an id below one seen, never used', 'server', [headers(5, requestLines), headers(3, requestLines)]],
    ['HEADERS for a stream that the client has not opened', 'client', [headers(1, responseLines)]],
    ['HEADERS on an even stream from a server', 'client', [headers(2, responseLines)]],
    [
      'PUSH_PROMISE from a server',
      'client',
      [frame(Type.push, endHeaders, 1, Buffer.concat([uint32(2), block(requestLines)]))],
    ],
    [
      'PUSH_PROMISE from a client',
      'server',
      [frame(Type.push, endHeaders, 1, Buffer.concat([uint32(2), block(requestLines)]))],
    ],
    ['DATA on an idle stream', 'server', [data(1, 'x')]],
    ['RST_STREAM on an idle stream', 'server', [reset(1, 8)]],
    ['RST_STREAM on stream 0', 'server', [reset(0, 8)]],
    ['WINDOW_UPDATE on an idle stream', 'server', [windowUpdate(1, 1)]],
    ['DATA on an idle stream of ours', 'client', [data(1, 'x')]],
  ] as const)('%s is a PROTOCOL_ERROR of the connection', (_name, role, frames) => {
    const core = Recorder.ready(role);
    core.receive(...frames);
    expect(core.events()).toContain('failed 1');
  });

  it('ids may skip', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), headers(101, requestLines));
    expect(server.connection.lastPeerStreamId).toBe(101);
    expect(server.events()).toHaveLength(2);
  });
});

describe('concurrency (RFC 9113 5.1.2)', () => {
  it('a stream over our limit is refused, its header block still decoded, and the next one fits again', () => {
    const server = Recorder.ready('server', { maxConcurrentStreams: 1 });
    server.receive(headers(1, requestLines), headers(3, requestLines), data(3, 'late', endStream));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method']);
    expect(server.sent()).toEqual(['reset 3 7']);
    server.connection.reset(server.stream(1), 8);
    server.receive(headers(5, requestLines));
    expect(server.events()).toEqual(['closed 1', 'request 5 /pkg.Service/Method']);
  });

  it('a refusal leaves the HPACK state in step', () => {
    const client = Recorder.ready('client');
    const server = Recorder.ready('server', { maxConcurrentStreams: 1 });
    for (let i = 0; i < 4; i += 1) client.request(true);
    server.receive(client.bytes());
    server.connection.reset(server.stream(1), 8);
    client.request(true);
    server.receive(client.bytes());
    expect(server.events()).toEqual([
      'request 1 /pkg.Service/Method end',
      'closed 1',
      'request 9 /pkg.Service/Method end',
    ]);
  });
});

describe('frames on streams that are over (RFC 9113 5.1)', () => {
  it('after our reset they are ignored, but count for the connection window', () => {
    const client = Recorder.ready('client', { connectionWindow: 65_535 });
    const stream = client.request();
    client.connection.reset(stream, 8);
    client.bytes();
    client.events();
    client.receive(
      headers(1, responseLines),
      data(1, Buffer.alloc(16_384)),
      data(1, Buffer.alloc(16_384)),
      reset(1, 8),
    );
    expect(client.events()).toEqual([]);
    expect(client.sent()).toEqual(['windowUpdate 0 32768']);
  });

  it('DATA after END_STREAM while the stream is half-closed is a stream error STREAM_CLOSED', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines, last), data(1, 'x'));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end', 'end 1 streamError 5', 'closed 1']);
    expect(server.sent()).toEqual(['reset 1 5']);
  });

  it('HEADERS after END_STREAM while the stream is half-closed is a stream error STREAM_CLOSED', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines, last), headers(1, [['a', 'b']], last));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end', 'end 1 streamError 5', 'closed 1']);
  });

  it.each([
    ['DATA', data(1, 'x')],
    ['HEADERS', headers(1, requestLines)],
  ])('%s after both sides ended is a connection error STREAM_CLOSED', (_name, late) => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines, last));
    server.connection.sendHeaders(server.stream(1), response, true);
    server.receive(windowUpdate(1, 100), reset(1, 8), frame(Type.priority, 0, 1, Buffer.alloc(5)));
    server.events();
    server.receive(late);
    expect(server.events()).toEqual(['failed 5']);
  });

  it('DATA after the peer’s own reset is a stream error STREAM_CLOSED', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), reset(1, 8), data(1, 'x'));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'end 1 reset 8', 'closed 1']);
    expect(server.sent()).toEqual(['reset 1 5']);
  });

  it('DATA after resets that crossed is a stream error STREAM_CLOSED: it was not under way before the peer’s', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines));
    server.connection.reset(server.stream(1), 8);
    server.bytes();
    server.receive(data(1, 'under way'));
    expect(server.sent()).toEqual([]);
    server.receive(reset(1, 8), data(1, 'x'));
    expect(server.sent()).toEqual(['reset 1 5']);
  });

  it('streams reset so long ago that they are forgotten cost no connection: 2000 of a client are known', () => {
    const server = Recorder.ready('server');
    for (let id = 1; id < 5000; id += 2) {
      server.connection.receive(headers(id, requestLines));
      server.connection.reset(server.stream(id), 8);
    }
    server.bytes();
    server.events();
    server.receive(data(4999, 'x'), data(1001, 'x'), data(999, 'x'));
    expect(server.events()).toEqual([]);
    expect(server.sent()).toEqual(['reset 999 5']);
  });

  it('and 20 000 of ours, which many clients can leave at once', () => {
    const client = Recorder.ready('client');
    for (let i = 0; i < 20_001; i += 1) client.connection.reset(client.request(), 8);
    client.bytes();
    client.events();
    client.receive(headers(3, responseLines), data(3, 'x'), headers(1, responseLines));
    expect(client.events()).toEqual([]);
    expect(client.sent()).toEqual(['reset 1 5']);
  });
});

describe('RST_STREAM (RFC 9113 6.4)', () => {
  it('ends the stream with its code', () => {
    const client = Recorder.ready('client');
    client.request();
    client.receive(reset(1, 0xb));
    expect(client.events()).toEqual(['end 1 reset 11', 'closed 1']);
    expect(client.sent()).toEqual(['headers 1']);
  });

  it('NO_ERROR after a complete response is told, because the upload must stop (8.1)', () => {
    const client = Recorder.ready('client');
    client.request();
    client.receive(headers(1, responseLines, last), reset(1, 0));
    expect(client.events()).toEqual(['headers 1 2 end', 'end 1 reset 0', 'closed 1']);
  });

  it('of another length than 4 is a FRAME_SIZE_ERROR', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), frame(Type.reset, 0, 1, Buffer.alloc(5)));
    expect(server.events()).toContain('failed 6');
  });
});

describe('PRIORITY (RFC 9113 5.3, 6.3)', () => {
  const dependsOn = (id: number): Buffer => Buffer.concat([uint32(id), Buffer.of(15)]);

  it('is parsed and ignored, on idle streams too', () => {
    const server = Recorder.ready('server');
    server.receive(
      frame(Type.priority, 0, 9, dependsOn(1)),
      frame(Type.headers, last | prioritized, 1, Buffer.concat([dependsOn(0x8000_0003), block(requestLines)])),
    );
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end']);
  });

  it('a stream that depends on itself is a stream error PROTOCOL_ERROR', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), frame(Type.priority, 0, 1, dependsOn(1)));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'end 1 streamError 1', 'closed 1']);
    expect(server.sent()).toEqual(['reset 1 1']);
  });

  it('HEADERS that depend on their own stream: a stream error, and the connection goes on', () => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.headers, last | prioritized, 1, Buffer.concat([dependsOn(1), block(requestLines)])));
    server.receive(headers(3, requestLines, last));
    expect(server.events()).toEqual(['request 3 /pkg.Service/Method end']);
    expect(server.sent()).toEqual(['reset 1 1']);
  });

  it('an idle stream that depends on itself cannot be reset: PROTOCOL_ERROR', () => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.priority, 0, 1, dependsOn(1)));
    expect(server.events()).toEqual(['failed 1']);
  });

  it('of another length than 5 is a stream error FRAME_SIZE_ERROR', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), frame(Type.priority, 0, 1, Buffer.alloc(4)));
    expect(server.sent()).toEqual(['reset 1 6']);
  });

  it('on stream 0 is a PROTOCOL_ERROR', () => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.priority, 0, 0, dependsOn(1)));
    expect(server.events()).toEqual(['failed 1']);
  });
});

describe('owners may do anything within an event', () => {
  it('a server answers within onRequest, resets another stream and says goodbye', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines));
    server.events();
    server.during = (event, stream) => {
      if (!event.startsWith('request 3') || stream === null) return;
      server.connection.reset(server.stream(1), 8);
      server.connection.sendHeaders(stream, response, false);
      server.connection.sendData(stream, Buffer.from('xyz'), 0, 3, false);
      server.connection.sendHeaders(stream, trailers, true);
      server.connection.goaway(2 ** 31 - 1, 0);
    };
    server.receive(headers(3, requestLines, last), headers(5, requestLines));
    expect(server.events()).toEqual([
      'request 3 /pkg.Service/Method end',
      'closed 1',
      'closed 3',
      'request 5 /pkg.Service/Method',
    ]);
    expect(server.sent()).toEqual(['reset 1 8', 'headers 3', 'data 3 "xyz"', 'headers 3 end', 'goaway 2147483647 0']);
  });

  it('a socket that is lost within an event ends the reading there', () => {
    const server = Recorder.ready('server');
    server.during = (event) => {
      if (event.startsWith('request 1')) server.connection.lost('gone');
    };
    server.receive(Buffer.concat([headers(1, requestLines), headers(3, requestLines)]));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'end 1 lost flushed', 'closed 1']);
  });

  it('settings within a stream’s event reach the streams opened there', () => {
    const client = Recorder.ready('client', {}, [[4, 10]]);
    const stream = client.connection.openStream(client);
    if (stream === null) throw new Error('no room');
    client.receive(settings([4, 50]));
    client.connection.sendHeaders(stream, fields(requestLines), false);
    expect(client.connection.sendData(stream, Buffer.alloc(60), 0, 60, false)).toBe(50);
  });
});
