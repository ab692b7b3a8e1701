import { describe, expect, it } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import {
  type BoundConnection,
  type ConnectionEvents,
  defaultHttp2Settings,
  type Http2Stream,
} from '../../../src/http2/types.js';

const deaf: ConnectionEvents = {
  onRequest() {},
  onSettings() {},
  onGoaway() {},
  onStreamClosed() {},
  onOutput() {},
  onFailed() {},
};
const ears = { onHeaders() {}, onTrailers() {}, onData() {}, onWritable() {}, onEnd() {} };
const field = (name: string, value: string) => ({ name, value, neverIndexed: false });
const request = [field(':method', 'POST'), field(':path', '/'), field(':scheme', 'http')];
const response = [field(':status', '200')];

/** Two ends of a connection that are up, and the server's streams. */
class Ends {
  readonly opened: Http2Stream[] = [];
  readonly client = createConnection('client', defaultHttp2Settings, deaf);
  readonly server: BoundConnection = createConnection('server', defaultHttp2Settings, {
    ...deaf,
    onRequest: (stream) => {
      stream.events = ears;
      this.opened.push(stream);
    },
  });

  constructor() {
    this.client.start();
    this.server.start();
    this.pass(0);
  }

  /** Brings across what each has to say. @param now when it is read */
  pass(now: number): void {
    for (let turn = 0; turn < 3; turn += 1) {
      for (const part of this.client.takeOutput()) this.server.receive(part, now);
      for (const part of this.server.takeOutput()) this.client.receive(part, now);
    }
  }

  /** Opens a stream, HEADERS sent; both ends of it. */
  open(now: number, endStream = false): { readonly near: Http2Stream; readonly far: Http2Stream } {
    const near = this.client.openStream(ears);
    if (near === null) throw new Error('there is room for a stream');
    this.client.sendHeaders(near, request, endStream);
    this.pass(now);
    const far = this.opened.at(-1);
    if (far === undefined) throw new Error('the server has the stream');
    return { near, far };
  }
}

describe('streams by what became of them (A14, SocketData)', () => {
  it('counts one whose END_STREAM came or went as well, whatever became of the other half', () => {
    const ends = new Ends();
    const { client, server } = ends;
    const whole = ends.open(10, true);
    server.sendHeaders(whole.far, response, true);
    ends.pass(11);
    const early = ends.open(20);
    server.sendHeaders(early.far, response, true);
    ends.pass(21);
    expect(client.streamCounts).toMatchObject({ started: 2, succeeded: 1, failed: 0 });
    // The answer is whole; the request is no longer wanted.
    client.reset(early.near, 0);
    ends.pass(22);
    expect(client.streamCounts).toMatchObject({ started: 2, succeeded: 2, failed: 0 });
    expect(server.streamCounts).toMatchObject({ started: 2, succeeded: 2, failed: 0 });
  });

  it('counts one without it as failed: reset by either end, or lost', () => {
    const ends = new Ends();
    const { client, server } = ends;
    client.reset(ends.open(1).near, 8);
    ends.pass(2);
    server.reset(ends.open(3, true).far, 2);
    ends.pass(4);
    ends.open(5);
    client.lost('gone');
    server.lost('gone');
    expect(client.streamCounts).toMatchObject({ started: 3, succeeded: 0, failed: 3 });
    expect(server.streamCounts).toMatchObject({ started: 3, succeeded: 0, failed: 3 });
  });

  it('counts none whose HEADERS were not sent', () => {
    const { client } = new Ends();
    const stream = client.openStream(ears);
    if (stream === null) throw new Error('there is room for a stream');
    client.reset(stream, 8);
    expect(client.streamCounts).toMatchObject({ started: 0, succeeded: 0, failed: 0 });
  });

  it('knows when the peer opened the last one, and nothing of the kind where it opens none', () => {
    const ends = new Ends();
    expect(ends.server.streamCounts.lastOpenedAt).toBeNull();
    ends.open(10);
    ends.open(25);
    expect(ends.server.streamCounts.lastOpenedAt).toBe(25);
    expect(ends.client.streamCounts.lastOpenedAt).toBeNull();
  });
});

describe("a connection's windows", () => {
  it('are what the peer has granted, and what it was granted, less what was sent since', () => {
    const ends = new Ends();
    const { client, server } = ends;
    const { connectionWindow } = defaultHttp2Settings;
    expect([client.sendWindow, server.receiveWindow]).toEqual([connectionWindow, connectionWindow]);
    const { near } = ends.open(1);
    client.sendData(near, Buffer.alloc(1000), 0, 1000, false);
    ends.pass(2);
    expect([client.sendWindow, server.receiveWindow]).toEqual([connectionWindow - 1000, connectionWindow - 1000]);
  });
});
