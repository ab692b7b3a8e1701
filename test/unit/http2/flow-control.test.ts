import { describe, expect, it } from 'vitest';
import type { Http2Stream } from '../../../src/http2/types.js';
import {
  data,
  endStream,
  frame,
  headers,
  pad,
  padded,
  requestLines,
  responseLines,
  settings,
  Type,
  uint32,
  windowUpdate,
} from '../../support/frames.js';
import { Recorder } from '../../support/recorder.js';

const INITIAL_WINDOW_SIZE = 4;

/** Sends `bytes` on the stream and returns how many were taken. */
function offer(core: Recorder, stream: Http2Stream, bytes: number, end = false): number {
  return core.connection.sendData(stream, Buffer.alloc(bytes), 0, bytes, end);
}

describe('what we receive (RFC 9113 6.9)', () => {
  it('the connection window is given back as bytes arrive, in batches of half of it', () => {
    const server = Recorder.ready('server', { connectionWindow: 100_000 });
    server.receive(headers(1, requestLines));
    server.receive(data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000)));
    expect(server.sent()).toEqual([]);
    server.receive(data(1, Buffer.alloc(2000)));
    expect(server.sent()).toEqual(['windowUpdate 0 50000']);
  });

  it('a stream’s window is given back by consume, in batches of half of it', () => {
    const server = Recorder.ready('server', { streamWindow: 100_000 });
    server.receive(headers(1, requestLines));
    for (let i = 0; i < 6; i += 1) server.receive(data(1, Buffer.alloc(10_000)));
    expect(server.sent()).toEqual([]);
    server.connection.consume(server.stream(1), 49_999);
    expect(server.sent()).toEqual([]);
    server.connection.consume(server.stream(1), 1);
    expect(server.sent()).toEqual(['windowUpdate 1 50000']);
  });

  it('consume never gives back more than was received', () => {
    const server = Recorder.ready('server', { streamWindow: 100_000 });
    server.receive(headers(1, requestLines), data(1, Buffer.alloc(10_000)));
    server.connection.consume(server.stream(1), 1_000_000);
    expect(server.sent()).toEqual([]);
    for (let i = 0; i < 4; i += 1) server.receive(data(1, Buffer.alloc(10_000)));
    server.connection.consume(server.stream(1), 1_000_000);
    expect(server.sent()).toEqual(['windowUpdate 1 50000']);
  });

  it('nothing is given back on a stream after its END_STREAM', () => {
    const server = Recorder.ready('server', { streamWindow: 1000 });
    server.receive(headers(1, requestLines), data(1, Buffer.alloc(900), endStream));
    server.connection.consume(server.stream(1), 900);
    expect(server.sent()).toEqual([]);
  });

  it('more than the stream window is a stream error FLOW_CONTROL_ERROR; others go on (6.9.1)', () => {
    const server = Recorder.ready('server', { streamWindow: 1000 });
    server.receive(
      headers(1, requestLines),
      headers(3, requestLines),
      data(1, Buffer.alloc(1000)),
      data(1, 'x'),
      data(3, 'y'),
    );
    expect(server.events().slice(2)).toEqual(['data 1 1000', 'end 1 streamError 3', 'closed 1', 'data 3 "y"']);
    expect(server.sent()).toEqual(['reset 1 3']);
  });

  it('more than the connection window is a connection error FLOW_CONTROL_ERROR (6.9.1)', () => {
    // The window comes back as bytes arrive, so that only a single frame can be too much.
    const server = Recorder.ready('server', {
      connectionWindow: 65_535,
      streamWindow: 1_000_000,
      maxFrameSize: 100_000,
    });
    server.receive(headers(1, requestLines), data(1, Buffer.alloc(65_536)));
    expect(server.events()).toContain('failed 3');
  });

  it('a connection window below the default cannot be asked for: the default holds', () => {
    const server = Recorder.ready('server', { connectionWindow: 1000 });
    server.receive(headers(1, requestLines), data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000)));
    expect(server.events()).toContain('data 1 16000');
    expect(server.sent()).toEqual([]);
  });

  it('padding counts in both windows and is given back at once (6.1)', () => {
    const server = Recorder.ready('server', { streamWindow: 400 });
    server.receive(headers(1, requestLines), frame(Type.data, padded, 1, pad(Buffer.from('abc'), 199)));
    expect(server.events().slice(1)).toEqual(['data 1 "abc"']);
    // Pad length and padding: 200 of 400.
    expect(server.sent()).toEqual(['windowUpdate 1 200']);
    // 397 are left: the three bytes of content are the owner's.
    server.receive(data(1, Buffer.alloc(397)));
    expect(server.events()).toEqual(['data 1 397']);
    server.receive(data(1, 'x'));
    expect(server.events()).toEqual(['end 1 streamError 3', 'closed 1']);
  });

  it('padding is not given back a second time by consume', () => {
    const server = Recorder.ready('server', { streamWindow: 400 });
    server.receive(headers(1, requestLines), frame(Type.data, padded, 1, pad(Buffer.from('abc'), 199)));
    server.bytes();
    server.connection.consume(server.stream(1), 203);
    server.receive(data(1, Buffer.alloc(197)));
    server.connection.consume(server.stream(1), 197);
    // The three bytes of content and these: exactly half a window.
    expect(server.sent()).toEqual(['windowUpdate 1 200']);
  });

  it('padding may be all there is', () => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), frame(Type.data, padded | endStream, 1, pad(Buffer.alloc(0), 9)));
    expect(server.events().slice(1)).toEqual(['data 1 "" end']);
  });

  it.each([
    ['padding longer than the frame (6.1)', frame(Type.data, padded, 1, Buffer.of(5, 0, 0, 0, 0)), 1],
    ['a padded frame without a pad length', frame(Type.data, padded, 1), 6],
  ])('%s is a connection error', (_name, bytes, code) => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), bytes);
    expect(server.events()).toContain(`failed ${code}`);
  });

  it('DATA that nobody takes counts for the connection and is given back', () => {
    const server = Recorder.ready('server', { connectionWindow: 65_535, maxConcurrentStreams: 0 });
    server.receive(headers(1, requestLines));
    for (let i = 0; i < 2; i += 1) server.receive(data(1, Buffer.alloc(16_384)));
    expect(server.sent()).toEqual(['reset 1 7', 'windowUpdate 0 32768']);
  });
});

describe('WINDOW_UPDATE (RFC 9113 6.9)', () => {
  it.each([
    ['by 0 on the connection', windowUpdate(0, 0), 'failed 1'],
    ['by 0 on a stream: a stream error', windowUpdate(1, 0), 'end 1 streamError 1'],
    ['over 2^31-1 on the connection', windowUpdate(0, 2 ** 31 - 1), 'failed 3'],
    ['over 2^31-1 on a stream: a stream error', windowUpdate(1, 2 ** 31 - 1), 'end 1 streamError 3'],
    ['of 3 bytes', frame(Type.windowUpdate, 0, 0, Buffer.alloc(3)), 'failed 6'],
  ])('%s', (_name, bytes, event) => {
    const server = Recorder.ready('server');
    server.receive(headers(1, requestLines), bytes);
    expect(server.events()).toContain(event);
  });

  it('the reserved bit of the increment is ignored', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 0]]);
    const stream = client.request();
    offer(client, stream, 10);
    client.receive(frame(Type.windowUpdate, 0, 1, uint32(0x8000_0005)));
    expect(offer(client, stream, 10)).toBe(5);
  });
});

describe('what we send', () => {
  it('takes no more than the stream window, ends the stream with the last byte only', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 10]]);
    const stream = client.request();
    expect(offer(client, stream, 15, true)).toBe(10);
    client.bytes();
    client.events();
    client.receive(windowUpdate(1, 3));
    expect(client.events()).toEqual(['writable 1']);
    expect(offer(client, stream, 5, true)).toBe(3);
    client.receive(windowUpdate(1, 100));
    expect(offer(client, stream, 2, true)).toBe(2);
    expect(client.frames().map(({ payload, flags }) => [payload.length, flags])).toEqual([
      [3, 0],
      [2, endStream],
    ]);
  });

  it('takes no more than the connection window', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 1_000_000]]);
    const stream = client.request();
    expect(offer(client, stream, 70_000)).toBe(65_535);
    client.bytes();
    client.events();
    client.receive(windowUpdate(0, 100));
    expect(client.events()).toEqual(['writable 1']);
    expect(offer(client, stream, 70_000)).toBe(100);
  });

  it('a stream whose own window is shut does not stop the others', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 40_000]]);
    const [first, second, third] = [client.request(), client.request(), client.request()];
    expect(offer(client, first, 50_000)).toBe(40_000);
    expect(offer(client, second, 50_000)).toBe(25_535);
    expect(offer(client, third, 50_000)).toBe(0);
    client.bytes();
    client.events();
    client.receive(windowUpdate(0, 100_000));
    expect(client.events()).toEqual(['writable 3', 'writable 5']);
    client.receive(windowUpdate(1, 1));
    expect(client.events()).toEqual(['writable 1']);
  });

  it('waiting streams are served first come, first served, each a share', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 1_000_000]]);
    const streams = [client.request(), client.request(), client.request()];
    const took: string[] = [];
    for (const stream of streams) offer(client, stream, 200_000);
    client.bytes();
    client.events();
    client.during = (event, stream) => {
      if (stream !== null && event.startsWith('writable')) took.push(`${stream.id}:${offer(client, stream, 200_000)}`);
    };
    client.receive(windowUpdate(0, 32_768 * 4));
    // Last in the queue was the third; the first has the whole window before anybody waits.
    expect(took).toEqual(['1:32768', '3:32768', '5:32768', '1:32768']);
  });

  it('a stream whose window SETTINGS shut while it waited for others is not forgotten', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 70_000]]);
    const [first, second] = [client.request(), client.request()];
    expect(offer(client, first, 65_535)).toBe(65_535);
    expect(offer(client, second, 100)).toBe(0);
    client.receive(settings([INITIAL_WINDOW_SIZE, 0]), windowUpdate(0, 1000));
    expect(client.events().filter((event) => event.startsWith('writable'))).toEqual([]);
    client.receive(windowUpdate(3, 10));
    expect(client.events()).toEqual(['writable 3']);
  });

  it('a stream that closes while it waits is forgotten', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 1_000_000]]);
    const [first, second, third] = [client.request(), client.request(), client.request()];
    for (const stream of [first, second, third]) offer(client, stream, 100_000);
    client.connection.reset(second, 8);
    client.connection.reset(third, 8);
    client.bytes();
    client.events();
    client.receive(windowUpdate(0, 100));
    expect(client.events()).toEqual(['writable 1']);
  });

  it('takes less when some 256 KiB wait, and the stream hears when they are taken', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 10_000_000]]);
    client.receive(windowUpdate(0, 10_000_000));
    const stream = client.request();
    const first = offer(client, stream, 1_000_000);
    expect(first).toBeGreaterThan(255 * 1024);
    expect(first).toBeLessThanOrEqual(256 * 1024);
    expect(offer(client, stream, 1000)).toBe(0);
    client.events();
    expect(client.bytes().length).toBeLessThan(257 * 1024);
    expect(client.events()).toEqual(['writable 1']);
    expect(offer(client, stream, 1000)).toBe(1000);
  });

  it('takes nothing while the socket is backed up; control frames still go', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    client.connection.setOutputBlocked(true);
    expect(offer(client, stream, 10)).toBe(0);
    client.connection.ping(() => {});
    expect(client.frames().map(({ type }) => type)).toEqual([Type.headers, Type.ping]);
    client.events();
    client.receive(windowUpdate(1, 100), windowUpdate(0, 100));
    expect(client.events()).toEqual([]);
    client.connection.setOutputBlocked(false);
    expect(client.events()).toEqual(['writable 1']);
    expect(offer(client, stream, 10)).toBe(10);
  });

  it('nothing is sent after END_STREAM', () => {
    const client = Recorder.ready('client');
    const stream = client.request(true);
    client.bytes();
    expect(offer(client, stream, 10, true)).toBe(0);
    expect(client.frames()).toEqual([]);
  });

  it('onOutput comes once until the output is taken', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    offer(client, stream, 10);
    offer(client, stream, 10);
    expect(client.log).toEqual(['output']);
    client.bytes();
    offer(client, stream, 10);
    expect(client.log).toEqual(['output', 'output']);
  });

  it('small and large payloads keep their order and their bytes', () => {
    const client = Recorder.ready('client', {}, [[INITIAL_WINDOW_SIZE, 1_000_000]]);
    const stream = client.request();
    const sizes = [1, 95, 96, 97, 5000, 16_384, 3, 30_000, 10];
    const whole: Buffer[] = [];
    sizes.forEach((size, index) => {
      const chunk = Buffer.alloc(size + 20, index + 1);
      whole.push(chunk.subarray(7, 7 + size));
      expect(client.connection.sendData(stream, chunk, 7, 7 + size, false)).toBe(size);
    });
    const payloads = client
      .frames()
      .filter(({ type }) => type === Type.data)
      .map(({ payload }) => payload);
    expect(Buffer.concat(payloads).equals(Buffer.concat(whole))).toBe(true);
  });

  it('bytes that were taken are not overwritten by later output', () => {
    const client = Recorder.ready('client');
    const stream = client.request();
    offer(client, stream, 50);
    const taken = client.connection.takeOutput();
    const before = Buffer.concat(taken);
    for (let i = 0; i < 50; i += 1) {
      offer(client, stream, 60);
      client.connection.takeOutput();
    }
    expect(Buffer.concat(taken).equals(before)).toBe(true);
  });

  it('a client’s response window: DATA up to it arrives whole', () => {
    const client = Recorder.ready('client', { streamWindow: 20 });
    client.request();
    client.receive(headers(1, responseLines), data(1, Buffer.alloc(20)));
    expect(client.events().slice(-1)).toEqual([
      'data 1 "\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000"',
    ]);
  });
});
