import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { alive } from './alive.js';
import { frame, Type, windowUpdate } from './frames.js';
import { frameMessage } from './grpc-lines.js';
import { behave, connectRawClient, startRawBackend } from './raw-peer.js';

/*
 * The scripted peers judge the proxy; here node:http2 judges them.
 */

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Answer {
  readonly headers: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders | null;
  readonly body: Buffer;
  readonly code: number;
}

async function nodeClient(port: number): Promise<(path: string, body: Buffer) => Promise<Answer>> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return (path, body) =>
    alive(
      path,
      new Promise((resolve) => {
        const request = session.request({
          ':method': 'POST',
          ':path': path,
          'x-secret': 's',
          'x-huff': 'Huffman, too',
        });
        const seen = { headers: {}, trailers: null as http2.IncomingHttpHeaders | null, parts: [] as Buffer[] };
        request.on('response', (headers) => {
          seen.headers = headers;
        });
        request.on('trailers', (trailers) => {
          seen.trailers = trailers;
        });
        request.on('data', (part: Buffer) => seen.parts.push(part));
        request.on('error', () => {});
        request.on('close', () =>
          resolve({
            headers: seen.headers,
            trailers: seen.trailers,
            body: Buffer.concat(seen.parts),
            code: request.rstCode,
          }),
        );
        request.end(body);
      }),
    );
}

test('a backend records requests and answers by its script', async () => {
  const backend = await startRawBackend({ name: 'b1' });
  cleanups.push(() => backend.close());
  backend.script([behave.fail(14, [['grpc-message', 'no']]), behave.reset(7), behave.ok('one', 'two')]);
  const call = await nodeClient(backend.port);
  const body = frameMessage('hello');

  const failed = await call('/a', body);
  expect(failed.headers).toMatchObject({ ':status': 200, 'grpc-status': '14', 'grpc-message': 'no' });
  expect(failed.trailers).toBeNull();
  expect((await call('/b', body)).code).toBe(7);
  const answered = await call('/c', body);
  expect(answered.body).toEqual(Buffer.concat([frameMessage('one'), frameMessage('two')]));
  expect(answered.headers['grpc-status']).toBeUndefined();
  expect(answered.trailers).toMatchObject({ 'grpc-status': '0' });

  const third = await backend.waitForStream(3);
  expect(backend.streams.map((stream) => stream.header(':path'))).toEqual(['/a', '/b', '/c']);
  expect(third.header('x-huff')).toBe('Huffman, too');
  expect(third.messages.map(String)).toEqual(['hello']);
  expect(third.ended).toBe(true);
  expect(backend.connections).toHaveLength(1);
});

test('a stream beyond the script fails the close', async () => {
  const backend = await startRawBackend();
  backend.script([]);
  const call = await nodeClient(backend.port);
  expect((await call('/a', Buffer.alloc(0))).headers['grpc-status']).toBe('2');
  await expect(backend.close()).rejects.toThrow('beyond its script of 0');
});

test('what a behaviour throws fails the close', async () => {
  const backend = await startRawBackend({
    onStream: async (stream) => {
      await stream.answer([]);
      throw new Error('a broken expectation');
    },
  });
  const call = await nodeClient(backend.port);
  await call('/a', Buffer.alloc(0));
  await expect(backend.close()).rejects.toThrow('a broken expectation');
});

test('a backend keeps to the windows of its peer, and its trailers stay behind the data', async () => {
  const large = Buffer.alloc(1_000_000, 'x');
  const backend = await startRawBackend({ onStream: (stream) => stream.answer([large]) });
  cleanups.push(() => backend.close());
  const call = await nodeClient(backend.port);
  const { body, trailers, code } = await call('/large', Buffer.alloc(0));
  expect(code).toBe(0);
  expect(body.equals(frameMessage(large))).toBe(true);
  expect(trailers).toMatchObject({ 'grpc-status': '0' });
});

test('a backend gives windows back, so that a large request comes through', async () => {
  const backend = await startRawBackend({ onStream: behave.echo });
  cleanups.push(() => backend.close());
  const call = await nodeClient(backend.port);
  const large = Buffer.alloc(1_000_000, 'y');
  expect((await call('/echo', large)).body.equals(large)).toBe(true);
});

test('with windows off a backend gets one window and no more, until it gives some', async () => {
  const backend = await startRawBackend({ windows: 'none' });
  cleanups.push(() => backend.close());
  const call = await nodeClient(backend.port);
  const answer = call('/large', Buffer.alloc(70_000));
  const stream = await backend.nextStream();
  await stream.whenData(65_535);
  await stream.connection.ping();
  expect(stream.data).toHaveLength(65_535);
  stream.connection.giveWindow(0, 10_000);
  stream.raw.giveWindow(10_000);
  await stream.whenEnded();
  expect(stream.data).toHaveLength(70_000);
  expect((await answer).trailers).toMatchObject({ 'grpc-status': '0' });
});

test('GOAWAY and a cut connection reach the peer', async () => {
  const backend = await startRawBackend({ onStream: behave.silent });
  cleanups.push(() => backend.close());
  const session = http2.connect(`http://127.0.0.1:${backend.port}`);
  cleanups.push(() => session.destroy());
  const said = new Promise<unknown[]>((resolve) => {
    session.on('goaway', (code: number, last: number) => resolve([code, last]));
  });
  const gone = new Promise<void>((resolve) => session.on('close', () => resolve()));
  session.on('error', () => {});
  const request = session.request({ ':method': 'POST', ':path': '/a' });
  request.on('error', () => {});
  await backend.nextStream();
  backend.goaway(1, 11, 'calm');
  expect(await alive('goaway', said)).toEqual([11, 1]);
  backend.kill();
  await alive('close', gone);
});

async function nodeServer(onStream: (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void) {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sessions };
}

test('a client sends a call and sees headers, messages and trailers apart', async () => {
  const { port } = await nodeServer((stream, headers) => {
    stream.respond({ ':status': 200, 'x-path': headers[':path'] ?? '' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '5', 'grpc-message': 'none such' }));
    stream.pipe(stream);
  });
  const client = await connectRawClient(port);
  cleanups.push(() => client.kill());
  const call = await client.call('/a.B/C', { messages: ['one', Buffer.alloc(300_000, 'z')] }).done();
  expect(call.end).toEqual({ kind: 'ended' });
  expect(call.header('x-path')).toBe('/a.B/C');
  expect(call.messages.map((message) => message.length)).toEqual([3, 300_000]);
  expect([call.status, call.message, call.trailersOnly]).toEqual([5, 'none such', false]);
});

test('a client tells a reset and a lost connection from an end', async () => {
  const { port, sessions } = await nodeServer((stream, headers) => {
    if (headers[':path'] === '/reset') stream.close(11);
    else for (const session of sessions) session.destroy();
  });
  const client = await connectRawClient(port);
  expect((await client.call('/reset').done()).end).toEqual({ kind: 'reset', code: 11 });
  expect((await client.call('/lose').done()).end).toEqual({ kind: 'lost' });
  await client.whenClosed();
});

test('a client half-closes when told, message by message, and resets', async () => {
  const { port } = await nodeServer((stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  });
  const client = await connectRawClient(port);
  cleanups.push(() => client.kill());
  const call = client.call('/chat', { end: false });
  await call.whenHeaders();
  await call.sendMessage('ping');
  expect((await call.whenMessages(1)).map(String)).toEqual(['ping']);
  await call.sendMessage('pong');
  expect((await call.whenMessages(2)).map(String)).toEqual(['ping', 'pong']);
  await call.finish();
  expect((await call.done()).end).toEqual({ kind: 'ended' });
  const other = client.call('/chat', { end: false });
  await other.whenHeaders();
  other.reset(8);
  await client.ping();
  expect(other.end).toBeNull();
});

test('a wait for what cannot come any more fails at once and says why', async () => {
  const { port } = await nodeServer((stream) => stream.close(8));
  const client = await connectRawClient(port);
  cleanups.push(() => client.kill());
  const call = client.call('/a', { end: false });
  await expect(call.whenMessages(1)).rejects.toThrow('the peer reset it with code 8');
});

test('exact frames go out as given, and GOAWAY is seen with its reason', async () => {
  const { port } = await nodeServer(() => {});
  const client = await connectRawClient(port);
  client.connection.send(frame(Type.ping, 0, 0, Buffer.alloc(7)));
  expect(await client.whenGoaway()).toMatchObject({ code: 6 });
  client.kill();
  await client.whenClosed();
  const other = await connectRawClient(port);
  other.connection.send(windowUpdate(0, 0));
  await other.whenClosed();
  expect(other.goaways).toHaveLength(1);
});
