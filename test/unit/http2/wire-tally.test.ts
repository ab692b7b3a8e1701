import { expect, test } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import { type ConnectionEvents, defaultHttp2Settings } from '../../../src/http2/types.js';
import { WireTally } from '../../../src/http2/wire-tally.js';

const deaf: ConnectionEvents = {
  onRequest() {},
  onSettings() {},
  onGoaway() {},
  onStreamClosed() {},
  onOutput() {},
  onFailed() {},
};

test('both ends of a connection count the same frames and bytes, one as sent and one as received', () => {
  const [near, far] = [new WireTally(), new WireTally()];
  const client = createConnection('client', defaultHttp2Settings, deaf, near);
  const server = createConnection(
    'server',
    defaultHttp2Settings,
    {
      ...deaf,
      onRequest(stream) {
        server.sendHeaders(stream, [{ name: ':status', value: '200', neverIndexed: false }], false);
        server.sendData(stream, Buffer.alloc(20_000), 0, 20_000, true);
      },
    },
    far,
  );
  client.start();
  server.start();
  const pass = (): void => {
    for (const part of client.takeOutput()) server.receive(part);
    for (const part of server.takeOutput()) client.receive(part);
  };
  pass();
  const stream = client.openStream({ onHeaders() {}, onTrailers() {}, onData() {}, onWritable() {}, onEnd() {} });
  if (stream === null) throw new Error('there is room for a stream');
  const long = 'x'.repeat(10_000);
  const fields = [':method', ':path', ':scheme'].map((name, at) => ({
    name,
    value: ['POST', `/${long}`, 'http'][at] ?? '',
    neverIndexed: false,
  }));
  client.sendHeaders(stream, fields, true);
  client.ping(() => {});
  pass();
  pass();
  expect(near.sentBytes).toBe(far.receivedBytes);
  expect(near.receivedBytes).toBe(far.sentBytes);
  expect(near.sentBytes).toBeGreaterThan(5000);
  expect([...near.sentFrames]).toEqual([...far.receivedFrames]);
  expect([...near.receivedFrames]).toEqual([...far.sentFrames]);
  expect(WireTally.named(far.receivedFrames)).toMatchObject({ HEADERS: 1, PING: 1, DATA: 0, PUSH_PROMISE: 0 });
  expect(WireTally.named(far.sentFrames)).toMatchObject({ HEADERS: 1, DATA: 2, PING: 1 });
});

test('a frame of a type that nobody knows counts as unknown', () => {
  const tally = new WireTally();
  for (const type of [0x0a, 0xff, 9]) tally.received(type);
  expect(WireTally.named(tally.receivedFrames)).toMatchObject({ unknown: 2, CONTINUATION: 1 });
});
