import { describe, expect, it } from 'vitest';
import {
  block,
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  type Line,
  pad,
  padded,
  ping,
  prioritized,
  requestLines,
  responseLines,
  Type,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;

/** A block cut into HEADERS and CONTINUATION frames of `size` bytes. */
function inFrames(streamId: number, bytes: Buffer, size: number, flags: number): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const end = Math.min(at + size, bytes.length);
    const own = (at === 0 ? flags : 0) | (end === bytes.length ? endHeaders : 0);
    frames.push(frame(at === 0 ? Type.headers : Type.continuation, own, streamId, bytes.subarray(at, end)));
  }
  return frames;
}

/** The request's lines, some changed, left out (null) or added. */
function changed(changes: Record<string, string | null>, more: readonly Line[] = []): Line[] {
  const lines: Line[] = [];
  for (const [name, value] of requestLines) {
    const change = changes[name];
    if (change !== null) lines.push([name, change ?? value]);
  }
  return [...lines, ...more];
}

describe('header blocks (RFC 9113 6.2, 6.10)', () => {
  it('one in many CONTINUATION frames, empty ones too', () => {
    const server = Recorder.ready('server');
    const bytes = block(requestLines);
    server.receive(
      frame(Type.headers, endStream, 1, bytes.subarray(0, 10)),
      frame(Type.continuation, 0, 1),
      frame(Type.continuation, 0, 1, bytes.subarray(10, 60)),
      frame(Type.continuation, endHeaders, 1, bytes.subarray(60)),
    );
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end']);
  });

  it('padding and priority are taken off', () => {
    const server = Recorder.ready('server');
    const priority = Buffer.of(0, 0, 0, 0, 15);
    server.receive(
      frame(Type.headers, last | padded | prioritized, 1, pad(Buffer.concat([priority, block(requestLines)]), 40)),
    );
    server.receive(frame(Type.headers, last | padded, 3, pad(block(requestLines), 0)));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end', 'request 3 /pkg.Service/Method end']);
  });

  it.each([
    ['another type', ping('abcdefgh')],
    ['an unknown type', frame(0x77, 0, 0)],
    ['another stream', frame(Type.continuation, endHeaders, 3, block(requestLines))],
    ['HEADERS again', headers(1, requestLines)],
  ])('within a block %s is a PROTOCOL_ERROR', (_name, bytes) => {
    const server = Recorder.ready('server');
    server.receive(frame(Type.headers, 0, 1, block(requestLines)), bytes);
    expect(server.events()).toEqual(['failed 1']);
  });

  it.each([
    ['CONTINUATION without HEADERS', frame(Type.continuation, endHeaders, 1, block(requestLines)), 1],
    [
      'CONTINUATION after END_HEADERS',
      Buffer.concat([headers(1, requestLines), frame(Type.continuation, endHeaders, 1)]),
      1,
    ],
    ['padding longer than the frame', frame(Type.headers, last | padded, 1, Buffer.of(200, 0, 0)), 1],
    ['a padded frame without a pad length', frame(Type.headers, last | padded, 1), 6],
    ['priority cut short', frame(Type.headers, last | prioritized, 1, Buffer.alloc(4)), 6],
    [
      'padding that reaches into the priority',
      frame(Type.headers, last | prioritized | padded, 1, Buffer.of(1, 0, 0, 0, 0, 0)),
      1,
    ],
    [
      'a block that HPACK cannot decode (4.3)',
      frame(Type.headers, last, 1, Buffer.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff)),
      9,
    ],
  ])('%s is a connection error', (_name, bytes, code) => {
    const server = Recorder.ready('server');
    server.receive(bytes);
    expect(server.events()).toContain(`failed ${code}`);
  });

  it('a block longer than the peer’s frames goes out as HEADERS and CONTINUATION, and arrives', () => {
    const client = Recorder.ready('client');
    const server = Recorder.ready('server', { maxHeaderListSize: 100_000 });
    const stream = client.connection.openStream(client);
    if (stream === null) throw new Error('no room');
    // Bytes without a short Huffman code, so that the block is long however it is encoded.
    const value = '\u00fe'.repeat(40_000);
    client.connection.sendHeaders(stream, fields([...requestLines, ['x-long', value]]), true);
    const bytes = client.bytes();
    server.receive(bytes);
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end']);
    const types: number[] = [];
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      expect(bytes.readUIntBE(at, 3)).toBeLessThanOrEqual(16_384);
      types.push(bytes.readUInt8(at + 3));
    }
    expect(types[0]).toBe(Type.headers);
    expect(types.slice(1).every((type) => type === Type.continuation)).toBe(true);
    expect(types.length).toBeGreaterThan(2);
  });
});

describe('limits on header blocks', () => {
  it('more frames than permitted end the connection ENHANCE_YOUR_CALM', () => {
    const server = Recorder.ready('server', { maxHeaderBlockFrames: 8 });
    const bytes = block(requestLines);
    const fine = inFrames(1, bytes, Math.ceil(bytes.length / 8), endStream);
    expect(fine).toHaveLength(8);
    server.receive(...fine);
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method end']);
    server.receive(frame(Type.headers, 0, 3));
    for (let i = 0; i < 7; i += 1) server.receive(frame(Type.continuation, 0, 3));
    expect(server.events()).toEqual([]);
    server.receive(frame(Type.continuation, 0, 3));
    expect(server.events()).toEqual(['failed 11', 'end 1 lost flushed', 'closed 1']);
  });

  it('a request over the size limit is the owner’s to answer, and the connection goes on', () => {
    const server = Recorder.ready('server', { maxHeaderListSize: 1000 });
    const bytes = block([...requestLines, ['x-long', 'v'.repeat(20_000)]]);
    server.receive(...inFrames(1, bytes, 16_384, endStream), headers(3, requestLines, last));
    expect(server.events()).toEqual([
      'request 1 /pkg.Service/Method end too-large',
      'request 3 /pkg.Service/Method end',
    ]);
    server.connection.sendHeaders(server.stream(1), fields(responseLines), true);
    expect(server.sent()).toEqual(['headers 1 end']);
  });

  it('the limit is exact: RFC 9113 6.5.2’s count', () => {
    const size = requestLines.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    const server = Recorder.ready('server', { maxHeaderListSize: size });
    server.receive(
      headers(1, requestLines, last),
      headers(
        3,
        changed({ te: null }, [
          ['te', 'trailers'],
          ['x', ''],
        ]),
        last,
      ),
    );
    expect(server.events()).toEqual([
      'request 1 /pkg.Service/Method end',
      'request 3 /pkg.Service/Method end too-large',
    ]);
  });

  it('a response over it ends its stream alone', () => {
    const client = Recorder.ready('client', { maxHeaderListSize: 1000 });
    client.request(true);
    client.request(true);
    client.bytes();
    client.receive(
      headers(1, [...responseLines, ['x-long', 'v'.repeat(2000)]]),
      data(1, 'late'),
      headers(3, responseLines, last),
    );
    expect(client.events()).toEqual(['end 1 headersTooLarge', 'closed 1', 'headers 3 2 end', 'closed 3']);
    expect(client.sent()).toEqual(['reset 1 8']);
  });

  it('trailers over it end their stream alone', () => {
    const client = Recorder.ready('client', { maxHeaderListSize: 1000 });
    client.request(true);
    client.receive(headers(1, responseLines), headers(1, [['x-long', 'v'.repeat(2000)]], last));
    expect(client.events()).toEqual(['headers 1 2', 'end 1 headersTooLarge', 'closed 1']);
  });
});

describe('request trailers over the size limit', () => {
  it('are the owner’s to answer, and the connection goes on', () => {
    const server = Recorder.ready('server', { maxHeaderListSize: 1000 });
    server.receive(headers(1, requestLines), data(1, 'abc'), headers(1, [['x-long', 'v'.repeat(2000)]], last));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'data 1 "abc"', 'trailers 1 0 too-large']);
    expect(server.stream(1).receiveClosed).toBe(true);
    server.connection.sendHeaders(server.stream(1), fields(responseLines), true);
    server.receive(headers(3, requestLines, last));
    expect(server.events()).toEqual(['closed 1', 'request 3 /pkg.Service/Method end']);
    expect(server.sent()).toEqual(['headers 1 end']);
  });

  it('are still trailers: without END_STREAM, or before content-length is reached, they are malformed', () => {
    const server = Recorder.ready('server', { maxHeaderListSize: 1000 });
    server.receive(headers(1, requestLines), headers(1, [['x-long', 'v'.repeat(2000)]]));
    server.receive(headers(3, [...requestLines, ['content-length', '1']]));
    server.receive(headers(3, [['x-long', 'v'.repeat(2000)]], last));
    expect(server.sent()).toEqual(['reset 1 1', 'reset 3 1']);
  });
});

describe('malformed requests (RFC 9113 8.1.1, 8.2, 8.3.1)', () => {
  it.each<[string, readonly Line[]]>([
    ['an upper-case name', changed({}, [['X-Thing', '1']])],
    ['a name with a space', changed({}, [['x thing', '1']])],
    ['a name with a byte above 127', changed({}, [['x-th\u00efng', '1']])],
    ['an empty name', changed({}, [['', '1']])],
    ['a name with a colon inside', changed({}, [['x:thing', '1']])],
    ['a value with NUL', changed({}, [['x-thing', 'a\u0000b']])],
    ['a value with a line feed', changed({}, [['x-thing', 'a\nb']])],
    ['a value with a carriage return', changed({}, [['x-thing', 'a\rb']])],
    ['connection', changed({}, [['connection', 'close']])],
    ['keep-alive', changed({}, [['keep-alive', '1']])],
    ['proxy-connection', changed({}, [['proxy-connection', '1']])],
    ['transfer-encoding', changed({}, [['transfer-encoding', 'chunked']])],
    ['upgrade', changed({}, [['upgrade', 'h2c']])],
    ['te other than trailers', changed({ te: 'gzip' })],
    ['te with more than trailers', changed({ te: 'trailers, gzip' })],
    ['no :method', changed({ ':method': null })],
    ['no :scheme', changed({ ':scheme': null })],
    ['no :path', changed({ ':path': null })],
    ['an empty :path', changed({ ':path': '' })],
    ['a second :path', [[':path', '/other'], ...requestLines]],
    ['an unknown pseudo-header field', [[':protocol', 'websocket'], ...requestLines]],
    ['a response’s pseudo-header field', [[':status', '200'], ...requestLines]],
    ['a pseudo-header field after a regular one', changed({ ':authority': null }, [[':authority', 'late']])],
    ['a line feed in a pseudo-header field', changed({ ':path': '/a\nb' })],
    ['content-length that is no number', changed({}, [['content-length', '1a']])],
    ['content-length that is negative', changed({}, [['content-length', '-1']])],
    [
      'two different content-lengths',
      changed({}, [
        ['content-length', '1'],
        ['content-length', '2'],
      ]),
    ],
    ['CONNECT with a :path', changed({ ':method': 'CONNECT' })],
  ])('%s: the stream is reset PROTOCOL_ERROR, nobody hears of it, the connection goes on', (_name, lines) => {
    const server = Recorder.ready('server');
    server.receive(headers(1, lines), headers(3, requestLines, last));
    expect(server.events()).toEqual(['request 3 /pkg.Service/Method end']);
    expect(server.sent()).toEqual(['reset 1 1']);
    expect(server.connection.openStreams).toBe(1);
  });

  it.each<[string, readonly Line[]]>([
    ['te: trailers', requestLines],
    ['no :authority', changed({ ':authority': null })],
    ['an unknown scheme with any path', changed({ ':scheme': 'grpc', ':path': '' })],
    ['bytes above 127 and a tab in a value', changed({}, [['x-thing', 'a\u00ff\tb']])],
    ['all the characters of a token', changed({}, [["!#$%&'*+-.^_`|~09az", 'v']])],
    [
      'CONNECT',
      [
        [':method', 'CONNECT'],
        [':authority', 'host:1'],
      ],
    ],
    [
      'the same content-length twice',
      changed({}, [
        ['content-length', '0'],
        ['content-length', '0'],
      ]),
    ],
  ])('%s is well formed', (_name, lines) => {
    const server = Recorder.ready('server');
    server.receive(headers(1, lines, last));
    expect(server.events()).toHaveLength(1);
  });

  it('spaces at the ends of a value are stripped, as gRPC permits, and the field’s marks kept', () => {
    const server = Recorder.ready('server');
    const seen: (readonly [string, string, boolean])[] = [];
    server.connection.receive(Buffer.alloc(0));
    const inner = server.onRequest.bind(server);
    server.onRequest = (stream, list, end, tooLarge) => {
      for (const field of list) seen.push([field.name, field.value, field.neverIndexed]);
      inner(stream, list, end, tooLarge);
    };
    const secret = Buffer.concat([Buffer.of(0x10), block([['x-b', '\t secret']]).subarray(1)]);
    server.receive(
      frame(
        Type.headers,
        last,
        1,
        Buffer.concat([block([...requestLines, ['x-a', ' a b ']]), secret, block([['x-c', '  ']])]),
      ),
    );
    expect(seen.slice(requestLines.length)).toEqual([
      ['x-a', 'a b', false],
      ['x-b', 'secret', true],
      ['x-c', '', false],
    ]);
  });
});

describe('responses (RFC 9113 8.1, 8.3.2)', () => {
  it('interim ones are ignored', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.receive(
      headers(1, [[':status', '100']]),
      headers(1, [
        [':status', '103'],
        ['link', 'x'],
      ]),
      headers(1, responseLines, last),
    );
    expect(client.events()).toEqual(['headers 1 2 end', 'closed 1']);
  });

  it.each<[string, Buffer[]]>([
    ['an interim one with END_STREAM', [headers(1, [[':status', '100']], last)]],
    ['101 (8.6)', [headers(1, [[':status', '101']])]],
    ['no :status', [headers(1, [['content-type', 'application/grpc']])]],
    ['a :status that is no number', [headers(1, [[':status', 'abc']])]],
    ['a :status of two digits', [headers(1, [[':status', '20']])]],
    ['a :status below 100', [headers(1, [[':status', '099']])]],
    [
      'two of them',
      [
        headers(1, [
          [':status', '200'],
          [':status', '200'],
        ]),
      ],
    ],
    [
      'a request’s pseudo-header field',
      [
        headers(1, [
          [':status', '200'],
          [':path', '/'],
        ]),
      ],
    ],
    ['DATA before the headers', [data(1, 'x')]],
    ['trailers without END_STREAM', [headers(1, responseLines), headers(1, [['grpc-status', '0']])]],
    ['a pseudo-header field in trailers', [headers(1, responseLines), headers(1, [[':status', '200']], last)]],
    [
      'a connection-specific field in trailers',
      [headers(1, responseLines), headers(1, [['connection', 'close']], last)],
    ],
    [
      'fewer bytes than content-length',
      [headers(1, [...responseLines, ['content-length', '5']]), data(1, 'abc', endStream)],
    ],
    [
      'fewer bytes before trailers',
      [headers(1, [...responseLines, ['content-length', '5']]), headers(1, [['a', 'b']], last)],
    ],
    ['more bytes than content-length', [headers(1, [...responseLines, ['content-length', '2']]), data(1, 'abc')]],
    ['no bytes though content-length says so', [headers(1, [...responseLines, ['content-length', '2']], last)]],
  ])('%s: a stream error PROTOCOL_ERROR', (_name, frames) => {
    const client = Recorder.ready('client');
    client.request(true);
    client.bytes();
    client.receive(...frames);
    expect(client.events().slice(-2)).toEqual(['end 1 streamError 1', 'closed 1']);
    expect(client.sent()).toEqual(['reset 1 1']);
    expect(client.connection.ready).toBe(true);
  });

  it('content-length that is met', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.receive(
      headers(1, [...responseLines, ['content-length', '5']]),
      data(1, 'abc'),
      data(1, 'de'),
      headers(1, [['a', 'b']], last),
    );
    expect(client.events().slice(-2)).toEqual(['trailers 1 1', 'closed 1']);
  });

  it('content-length of a 304 says nothing of its bytes (RFC 9110 8.6)', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.receive(
      headers(
        1,
        [
          [':status', '304'],
          ['content-length', '5'],
        ],
        last,
      ),
    );
    expect(client.events()).toEqual(['headers 1 2 end', 'closed 1']);
  });

  it('content-length of a request, trailers with it', () => {
    const server = Recorder.ready('server');
    const lines = changed({}, [['content-length', '3']]);
    server.receive(
      headers(1, lines),
      data(1, 'abc'),
      headers(1, [['x', 'y']], last),
      headers(3, lines),
      data(3, 'abcd'),
      headers(5, lines, last),
    );
    expect(server.events()).toEqual([
      'request 1 /pkg.Service/Method',
      'data 1 "abc"',
      'trailers 1 1',
      'request 3 /pkg.Service/Method',
      'end 3 streamError 1',
      'closed 3',
    ]);
    expect(server.sent()).toEqual(['reset 3 1', 'reset 5 1']);
  });

  it('request trailers without END_STREAM are a stream error', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), headers(1, [['x', 'y']]));
    expect(server.events().slice(1)).toEqual(['end 1 streamError 1', 'closed 1']);
  });
});
