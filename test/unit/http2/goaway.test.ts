import { describe, expect, it } from 'vitest';
import {
  data,
  endHeaders,
  endStream,
  frame,
  goaway,
  headers,
  ping,
  requestLines,
  responseLines,
  Type,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;
const soon = 2 ** 31 - 1;

describe('GOAWAY from the peer (RFC 9113 6.8)', () => {
  it('streams above its last id were not processed, whatever the code; the others go on', () => {
    for (const code of [0, 0xb]) {
      const client = Recorder.ready('client');
      for (let i = 0; i < 3; i += 1) client.request(true);
      client.receive(goaway(3, code, 'too_many_pings'));
      expect(client.events()).toEqual([`end 5 goaway ${code}`, 'closed 5', `goaway 3 ${code} "too_many_pings"`]);
      expect(client.connection.ready).toBe(false);
      expect(client.connection.room).toBe(0);
      client.receive(headers(1, responseLines, last), headers(3, responseLines, last));
      expect(client.events()).toEqual(['headers 1 2 end', 'closed 1', 'headers 3 2 end', 'closed 3']);
    }
  });

  it('CON-04: twice, the second one lower', () => {
    const client = Recorder.ready('client');
    for (let i = 0; i < 3; i += 1) client.request(true);
    client.receive(goaway(soon, 0));
    expect(client.events()).toEqual([`goaway ${soon} 0 ""`]);
    client.receive(goaway(1, 0));
    expect(client.events()).toEqual(['end 3 goaway 0', 'closed 3', 'end 5 goaway 0', 'closed 5', 'goaway 1 0 ""']);
  });

  it('CON-31: a last id that rises changes nothing: the lower one holds, and what it left goes on', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.request(true);
    client.receive(goaway(1, 0), goaway(3, 0xb));
    expect(client.events()).toEqual(['end 3 goaway 0', 'closed 3', 'goaway 1 0 ""', 'goaway 1 11 ""']);
    client.receive(headers(3, responseLines), headers(1, responseLines, last));
    expect(client.events()).toEqual(['headers 1 2 end', 'closed 1']);
  });

  it('is not told any more when an owner gives the connection up meanwhile', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.request(true);
    client.during = (event) => {
      if (event === 'end 3 goaway 0') client.connection.lost('given up');
    };
    client.receive(goaway(1, 0));
    expect(client.events()).toEqual(['end 3 goaway 0', 'end 1 lost unsent', 'closed 1', 'closed 3']);
  });

  it('a stream that has no id yet counts as above', () => {
    const client = Recorder.ready('client');
    client.connection.openStream(client);
    client.receive(goaway(soon, 0));
    expect(client.events().slice(0, 2)).toEqual(['end 0 goaway 0', 'closed 0']);
  });

  it('frames that were under way for a disowned stream are ignored', () => {
    const client = Recorder.ready('client');
    client.request(true);
    client.receive(goaway(0, 0));
    client.events();
    client.receive(headers(1, responseLines), data(1, 'x'));
    expect(client.events()).toEqual([]);
  });

  it('a loss after it says so', () => {
    const client = Recorder.ready('client');
    client.request(true);
    const details: string[] = [];
    client.onEnd = (_stream, end) => {
      if (end.kind === 'lost') details.push(end.detail);
    };
    client.receive(goaway(1, 0xb, 'too_many_pings\u0007'));
    client.connection.lost('the peer closed the connection');
    expect(details).toEqual(['the peer closed the connection, after GOAWAY with code 11 (too_many_pings?)']);
  });

  it.each([
    ['on a stream', frame(Type.goaway, 0, 1, Buffer.alloc(8)), 1],
    ['of 7 bytes', frame(Type.goaway, 0, 0, Buffer.alloc(7)), 6],
  ])('%s is a connection error', (_name, bytes, code) => {
    const client = Recorder.ready('client');
    client.receive(bytes);
    expect(client.events()).toEqual([`failed ${code}`]);
  });

  it('from a client: its calls go on', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), goaway(0, 0), data(1, 'x', endStream));
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'goaway 0 0 ""', 'data 1 "x" end']);
  });
});

describe('our GOAWAY', () => {
  it('CON-16: "soon" still lets streams in; after the last one they are ignored, but decoded and counted', () => {
    const client = Recorder.ready('client');
    const server = Recorder.ready('server', { connectionWindow: 65_535 });
    for (let i = 0; i < 4; i += 1) client.request();
    const blocks = client.frames().map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, payload));
    const [one, three, five, seven] = blocks;
    if (one === undefined || three === undefined || five === undefined || seven === undefined)
      throw new Error('no HEADERS');
    server.receive(one);
    server.connection.goaway(soon, 0, 'draining');
    server.receive(three);
    server.connection.goaway(server.connection.lastPeerStreamId, 0, 'draining');
    server.receive(five, data(5, Buffer.alloc(16_384)), data(5, Buffer.alloc(16_384), endStream), seven);
    expect(server.events()).toEqual(['request 1 /pkg.Service/Method', 'request 3 /pkg.Service/Method']);
    expect(server.sent()).toEqual([`goaway ${soon} 0`, 'goaway 3 0', 'windowUpdate 0 32768']);
    expect(server.connection.lastPeerStreamId).toBe(3);
    server.connection.sendHeaders(server.stream(1), fields(responseLines), true);
    server.receive(ping('abcdefgh'));
    expect(server.sent()).toEqual(['headers 1 end', 'ping abcdefgh ack']);
  });

  it('never disowns a stream that was let in, and never raises its id', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), headers(3, requestLines));
    server.connection.goaway(1, 0);
    server.connection.goaway(soon, 0);
    expect(server.sent()).toEqual(['goaway 3 0', 'goaway 3 0']);
  });

  it('carries its words', () => {
    const server = Recorder.ready('server');
    server.connection.goaway(soon, 0, 'max connection age');
    expect(server.frames()[0]?.payload.subarray(8).toString()).toBe('max connection age');
    expect(server.connection.ready).toBe(false);
  });
});
