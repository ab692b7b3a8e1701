import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { frameMessage, splitMessages } from '../../support/grpc-lines.js';
import type { ProxyOptions, TestProxy } from '../../support/proxy.js';
import { pattern, proxyTo, retry } from '../../support/rig.js';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A backend of node:http2. */
async function serve(
  onStream: (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void,
): Promise<number> {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function connect(proxy: TestProxy, settings: http2.Settings = {}): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${proxy.port}`, { settings });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

async function meet(
  onStream: Parameters<typeof serve>[0],
  options: Omit<ProxyOptions, 'backends'> = {},
): Promise<{ session: http2.ClientHttp2Session; proxy: TestProxy }> {
  const proxy = await proxyTo([{ name: 'b', port: await serve(onStream) }], options);
  return { session: connect(proxy), proxy };
}

interface Answer {
  readonly headers: http2.IncomingHttpHeaders;
  /** Null for Trailers-Only. */
  readonly trailers: http2.IncomingHttpHeaders | null;
  readonly data: Buffer;
  readonly resetCode: number;
}

async function call(
  session: http2.ClientHttp2Session,
  body: Buffer,
  extra: http2.OutgoingHttpHeaders = {},
): Promise<Answer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/n.S/M',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...extra,
  });
  const parts: Buffer[] = [];
  let headers: http2.IncomingHttpHeaders = {};
  let trailers: http2.IncomingHttpHeaders | null = null;
  stream.on('response', (given) => {
    headers = given;
  });
  stream.on('trailers', (given) => {
    trailers = given;
  });
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.on('error', () => {});
  stream.end(body);
  await once(stream, 'close');
  return { headers, trailers, data: Buffer.concat(parts), resetCode: stream.rstCode };
}

/** Answers what came, with grpc-status 0. */
function echo(stream: http2.ServerHttp2Stream): void {
  stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.pipe(stream);
}

describe('node:http2 on both sides', () => {
  it('a unary call: headers, message and trailers stay apart; nothing is invented', async () => {
    let seen: http2.IncomingHttpHeaders = {};
    const { session, proxy } = await meet((stream, headers) => {
      seen = headers;
      stream.respond({ 'content-type': 'application/grpc+proto', 'x-head': '1' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-trail': '2' }));
      stream.pipe(stream);
    });
    const { headers, trailers, data, resetCode } = await call(session, frameMessage('hello'), {
      'user-agent': 'ours/1',
    });
    expect(splitMessages(data).map(String)).toEqual(['hello']);
    expect(headers).toEqual({
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'x-head': '1',
      // Node's server writes it; the proxy would not.
      date: expect.any(String),
      'hedgerow-backend': 'b',
      [http2.sensitiveHeaders]: [],
    });
    expect({ ...trailers }).toEqual({
      'grpc-status': '0',
      'x-trail': '2',
      'hedgerow-backend': 'b',
      'hedgerow-retries': '0',
      [http2.sensitiveHeaders]: [],
    });
    expect(resetCode).toBe(0);
    expect(seen).toMatchObject({ ':path': '/n.S/M', ':scheme': 'http', te: 'trailers', 'user-agent': 'ours/1' });
    expect(seen[':authority']).toBe(`127.0.0.1:${proxy.port}`);
  });

  it('Trailers-Only stays one block', async () => {
    const { session } = await meet((stream) => {
      stream.respond(
        { 'content-type': 'application/grpc', 'grpc-status': '5', 'grpc-message': 'none' },
        { endStream: true },
      );
    });
    const { headers, trailers, data } = await call(session, frameMessage('m'));
    expect(headers).toMatchObject({
      ':status': 200,
      'grpc-status': '5',
      'grpc-message': 'none',
      'hedgerow-backend': 'b',
    });
    expect([trailers, data.length]).toEqual([null, 0]);
  });

  it('8 MiB there and back, while a small call on the same connection is not held up', async () => {
    const { session } = await meet(echo);
    const large = pattern(8 * 1024 * 1024);
    const both = await Promise.all([call(session, frameMessage(large)), call(session, frameMessage('small'))]);
    expect(splitMessages(both[0].data)[0]?.equals(large)).toBe(true);
    expect(splitMessages(both[1].data).map(String)).toEqual(['small']);
  });

  it('a client with the smallest windows and frames gets everything', async () => {
    const proxy = await proxyTo([{ name: 'b', port: await serve(echo) }]);
    const session = connect(proxy, { initialWindowSize: 1, headerTableSize: 0, maxHeaderListSize: 2000 });
    const message = pattern(300);
    const { data, trailers } = await call(session, frameMessage(message));
    expect([splitMessages(data)[0]?.equals(message), trailers?.['grpc-status']]).toEqual([true, '0']);
  });

  it('more calls than the client’s connection may have open wait their turn; none is refused', async () => {
    const { session, proxy } = await meet(echo, { flags: ['--max-concurrent-streams', '5'] });
    await once(session, 'remoteSettings');
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => call(session, frameMessage(`${i}`))));
    expect(answers.map(({ data }) => splitMessages(data).map(String))).toEqual(answers.map((_, i) => [`${i}`]));
    expect(proxy.calls).toHaveLength(60);
  });

  it('a stream that the server refuses goes again; one that it fails is retried', async () => {
    let count = 0;
    const { session, proxy } = await meet(
      (stream) => {
        count += 1;
        if (count === 1) stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
        else if (count === 2) stream.respond({ ':status': 503 }, { endStream: true });
        else echo(stream);
      },
      { serviceConfig: retry() },
    );
    const { trailers } = await call(session, frameMessage('m'));
    expect(trailers).toMatchObject({ 'grpc-status': '0', 'hedgerow-retries': '1' });
    expect((await proxy.call(0)).attempts.map(({ cause }) => cause)).toEqual(['first', 'transparent', 'retry']);
  });

  it('what is not gRPC: 415 for a content-type, 405 for a method, as plain text', async () => {
    const { session } = await meet(echo);
    const web = await call(session, frameMessage('m'), { 'content-type': 'application/grpc-web' });
    expect(web.headers).toMatchObject({ ':status': 415, 'content-type': expect.stringMatching(/^text\/plain/) });
    expect(String(web.data)).toMatch(/\w+/);
    const get = session.request({ ':method': 'GET', ':path': '/n.S/M' });
    const [headers] = await once(get, 'response');
    expect(headers).toMatchObject({ ':status': 405 });
    get.resume();
    await once(get, 'close');
  });

  it('CON-16: a drain: both GOAWAYs come, the open call finishes, the session closes by itself', async () => {
    let hold: (stream: http2.ServerHttp2Stream) => void = () => {};
    const held = new Promise<http2.ServerHttp2Stream>((resolve) => {
      hold = resolve;
    });
    const { session, proxy } = await meet((stream) => hold(stream));
    const goaways: [code: number, last: number][] = [];
    session.on('goaway', (code: number, last: number) => goaways.push([code, last]));
    const answer = call(session, frameMessage('held'));
    const stream = await held;
    const closed = once(session, 'close');
    const drained = proxy.app.drain();
    await once(session, 'goaway');
    echo(stream);
    expect(splitMessages((await answer).data).map(String)).toEqual(['held']);
    await Promise.all([closed, drained]);
    expect(goaways[0]).toEqual([0, 2 ** 31 - 1]);
  });
});
