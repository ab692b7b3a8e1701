import { describe, expect, it } from 'vitest';
import type { Http2Settings } from '../../../src/http2/types.js';
import {
  ack,
  data,
  endHeaders,
  endStream,
  frame,
  headers,
  pad,
  padded,
  requestLines,
  reset,
  responseLines,
  Type,
} from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const last = endHeaders | endStream;
const cancel = 8;
const calm = 'failed 11';
/** Two are spent by SETTINGS and their acknowledgement. */
const budget = 22;
const left = budget - 2;
const trailers = [['grpc-status', '0']] as const;

function client(changes: Partial<Http2Settings> = {}): Recorder {
  return Recorder.ready('client', { floodBudget: budget, ...changes });
}

/** A client that has reset its stream 1, whose answer had begun. */
function answered(changes: Partial<Http2Settings> = {}): Recorder {
  const peer = client(changes);
  const stream = peer.request(true);
  peer.receive(headers(1, responseLines));
  peer.connection.reset(stream, cancel);
  peer.events();
  peer.bytes();
  return peer;
}

/** How many more frames that spend a credit each it takes to end the connection. */
function creditsOf(peer: Recorder): number {
  for (let n = 0; n < 1000; n += 1) {
    peer.receive(frame(0x99, 0, 0));
    if (peer.events().includes(calm)) return n;
  }
  return Number.POSITIVE_INFINITY;
}

function tiny(streamId: number, count: number, bytes = 1): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => data(streamId, Buffer.alloc(bytes))));
}

describe('what was under way on a stream that we reset costs nothing', () => {
  it('CON-32: tiny DATA, as many as the stream had window for, and its trailers', () => {
    const peer = answered({ streamWindow: 1000 });
    peer.receive(tiny(1, 1000), headers(1, trailers, last));
    expect(peer.events()).toEqual([]);
    expect(creditsOf(peer)).toBe(left);
  });

  it('CON-32: of 100 streams of one connection at once, whose other stream goes on', () => {
    const peer = client();
    const other = peer.request(true);
    const streams = Array.from({ length: 100 }, () => peer.request(true));
    for (const { id } of streams) peer.receive(headers(id, responseLines));
    for (const stream of streams) peer.connection.reset(stream, cancel);
    peer.events();
    for (const { id } of streams) peer.receive(tiny(id, 1000, 15));
    peer.receive(headers(other.id, responseLines), data(other.id, 'still here'));
    expect(peer.events()).toEqual(['headers 1 2', 'data 1 "still here"']);
  });

  it('CON-32: the whole answer, where none had come', () => {
    const peer = client();
    peer.connection.reset(peer.request(true), cancel);
    peer.events();
    peer.receive(headers(1, responseLines), data(1, 'x'), headers(1, trailers, last));
    expect(creditsOf(peer)).toBe(left);
  });

  it('CON-32: an upload, and its END_STREAM on an empty frame', () => {
    const peer = Recorder.ready('server', { floodBudget: budget });
    peer.receive(headers(1, requestLines));
    peer.connection.sendHeaders(peer.stream(1), fields(responseLines), true);
    peer.connection.reset(peer.stream(1), 0);
    peer.events();
    peer.receive(tiny(1, 1000), data(1, '', endStream));
    expect(creditsOf(peer)).toBe(left);
  });

  it('CON-32: the upload of a request that was refused for its number', () => {
    const peer = Recorder.ready('server', { floodBudget: budget, maxConcurrentStreams: 1 });
    peer.receive(headers(1, requestLines), headers(3, requestLines));
    peer.events();
    peer.receive(tiny(3, 1000), data(3, 'x', endStream));
    expect(creditsOf(peer)).toBe(left - 6);
  });

  it('a RST_STREAM of the backend that crosses ours', () => {
    const peer = answered();
    peer.receive(reset(1, cancel));
    expect(creditsOf(peer)).toBe(left);
    const server = Recorder.ready('server', { floodBudget: budget });
    server.receive(headers(1, requestLines));
    server.connection.sendHeaders(server.stream(1), fields(responseLines), true);
    server.connection.reset(server.stream(1), 0);
    server.events();
    server.receive(reset(1, cancel));
    expect(creditsOf(server)).toBe(left - 1);
  });

  it('is dropped, and the connection given its window back', () => {
    const peer = answered({ connectionWindow: 65_535 });
    peer.receive(data(1, Buffer.alloc(16_384)), data(1, Buffer.alloc(16_384)));
    expect(peer.sent()).toEqual(['windowUpdate 0 32768']);
  });
});

describe('what an honest peer would not have under way spends a credit a frame', () => {
  it.each<readonly [what: string, frames: Uint8Array]>([
    ['empty DATA', data(1, '')],
    ['DATA of padding alone', frame(Type.data, padded, 1, pad(Buffer.alloc(0), 3))],
  ])('%s', (_what, one) => {
    const peer = answered();
    peer.receive(one, one, one);
    expect(creditsOf(peer)).toBe(left - 3);
  });

  it('DATA past the window that the stream had', () => {
    const peer = answered({ streamWindow: 100 });
    peer.receive(tiny(1, 105));
    expect(creditsOf(peer)).toBe(left - 5);
  });

  it('padding counts against the window', () => {
    const peer = answered({ streamWindow: 100 });
    peer.receive(...Array.from({ length: 6 }, () => frame(Type.data, padded, 1, pad(Buffer.from('x'), 18))));
    expect(creditsOf(peer)).toBe(left - 1);
  });

  it('what the stream had used of its window before is used', () => {
    const peer = client({ streamWindow: 100 });
    const stream = peer.request(true);
    peer.receive(headers(1, responseLines), tiny(1, 1, 98));
    peer.connection.reset(stream, cancel);
    peer.events();
    peer.receive(tiny(1, 5));
    expect(creditsOf(peer)).toBe(left - 3);
  });

  it('more header blocks than an answer has', () => {
    const begun = answered();
    begun.receive(...Array.from({ length: 4 }, () => headers(1, [[':status', '103']])));
    expect(creditsOf(begun)).toBe(left - 3);
    const none = client();
    none.connection.reset(none.request(true), cancel);
    none.events();
    none.receive(...Array.from({ length: 4 }, () => headers(1, [[':status', '103']])));
    expect(creditsOf(none)).toBe(left - 2);
  });

  it('anything after END_STREAM, on trailers or on DATA', () => {
    for (const end of [headers(1, trailers, last), data(1, 'x', endStream), data(1, '', endStream)]) {
      const peer = answered();
      peer.receive(end, data(1, 'x'), headers(1, trailers, last), data(1, '', endStream));
      expect(creditsOf(peer)).toBe(left - 3);
    }
  });

  it('anything on a stream whose END_STREAM had come before we reset it', () => {
    const peer = Recorder.ready('server', { floodBudget: budget });
    peer.receive(headers(1, requestLines, last));
    peer.connection.sendHeaders(peer.stream(1), fields(responseLines), false);
    peer.connection.reset(peer.stream(1), cancel);
    peer.events();
    peer.receive(data(1, 'x'), headers(1, trailers, last));
    expect(creditsOf(peer)).toBe(left - 2);
  });

  it('anything after the RST_STREAM of the peer', () => {
    const peer = answered();
    peer.receive(reset(1, cancel), data(1, 'x'), headers(1, trailers, last));
    expect(creditsOf(peer)).toBe(left - 2);
  });

  it('anything after the answer to a PING that followed our RST_STREAM; one that went before says nothing', () => {
    const peer = client();
    const stream = peer.request(true);
    peer.receive(headers(1, responseLines));
    const answers: Uint8Array[] = [];
    const pinged = (): void => {
      peer.connection.ping(() => {});
      for (const { type, payload } of peer.frames())
        if (type === Type.ping) answers.push(frame(Type.ping, ack, 0, payload));
    };
    pinged();
    peer.connection.reset(stream, cancel);
    pinged();
    const [before, after] = answers;
    if (before === undefined || after === undefined) throw new Error('two PINGs were sent');
    peer.receive(before, tiny(1, 1000));
    peer.receive(after, data(1, 'x'), headers(1, trailers, last));
    // The answers spend one each.
    expect(creditsOf(peer)).toBe(left - 2 - 2);
  });
});
