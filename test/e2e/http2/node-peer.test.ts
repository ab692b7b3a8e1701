import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { alarms, ClientCall, connect, type EnginePeer, type EngineServer, listen } from '../../support/engine-peers.js';
import { headers, preface, requestLines, settings } from '../../support/frames.js';

const cert = readFileSync(new URL('../../support/tls/localhost.crt', import.meta.url));
const key = readFileSync(new URL('../../support/tls/localhost.key', import.meta.url));

const mebibyte = Buffer.from(Array.from({ length: 1024 * 1024 }, (_unused, at) => (at * 31 + (at >> 8)) & 0xff));

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function engineServer(...options: Parameters<typeof listen>): Promise<EngineServer> {
  const server = await listen(...options);
  cleanups.push(() => server.close());
  return server;
}

async function nodeClient(
  port: number,
  options: http2.SecureClientSessionOptions = {},
  scheme = 'http',
): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(`${scheme}://127.0.0.1:${port}`, options);
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  await new Promise<void>((resolve) => session.once('remoteSettings', () => resolve()));
  return session;
}

interface Answer {
  readonly headers: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(session: http2.ClientHttp2Session, body: Buffer, more: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': '/pkg.Service/Method', te: 'trailers', ...more });
    const parts: Buffer[] = [];
    let got: http2.IncomingHttpHeaders = {};
    let trailers: http2.IncomingHttpHeaders = {};
    stream.on('response', (fields) => {
      got = fields;
    });
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('data', (chunk: Buffer) => parts.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve({ headers: got, trailers, body: Buffer.concat(parts) }));
    stream.end(body);
  });
}

/** A node:http2 server that echoes with trailers, or does as `act` says. */
async function nodeServer(
  options: http2.ServerOptions = {},
  act: ((stream: http2.ServerHttp2Stream, path: string, headers: http2.IncomingHttpHeaders) => boolean) | null = null,
  secure = false,
): Promise<number> {
  const server = secure ? http2.createSecureServer({ ...options, key, cert }) : http2.createServer(options);
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, fields) => {
    stream.on('error', () => {});
    if (act?.(stream, fields[':path'] ?? '', fields)) return;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.pipe(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function engineClient(...options: Parameters<typeof connect>): Promise<EnginePeer> {
  const peer = await connect(...options);
  cleanups.push(() => peer.binding.destroy());
  return peer;
}

function request(peer: EnginePeer, payload: Uint8Array, path = '/pkg.Service/Method'): ClientCall {
  const lines = requestLines.map(([name, value]) => [name, name === ':path' ? path : value] as const);
  return new ClientCall(peer.connection, lines, payload);
}

describe('the engine as server, node:http2 as client', () => {
  it('a unary call: headers, bytes, trailers', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const answer = await ask(session, Buffer.from('hello'), { 'x-thing': 'a value', 'x-bin': 'AAEC' });
    expect(answer.headers[':status']).toBe(200);
    expect(answer.body.toString()).toBe('hello');
    expect(answer.trailers['grpc-status']).toBe('0');
    const echo = server.peers[0]?.echoes[0];
    expect(echo?.fields.find(({ name }) => name === 'x-thing')?.value).toBe('a value');
    expect(server.peers[0]?.connection.openStreams).toBe(0);
  });

  it('1 MiB both ways', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const answer = await ask(session, mebibyte);
    expect(answer.body.equals(mebibyte)).toBe(true);
  });

  it('1 MiB both ways through small windows on both sides', async () => {
    const server = await engineServer({ streamWindow: 1000, connectionWindow: 65_535 });
    const session = await nodeClient(server.port, { settings: { initialWindowSize: 777 } });
    const answer = await ask(session, mebibyte);
    expect(answer.body.equals(mebibyte)).toBe(true);
  });

  it('many streams at once', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const bodies = Array.from({ length: 500 }, (_unused, at) => Buffer.alloc(at * 20, at));
    const answers = await Promise.all(bodies.map((body) => ask(session, body)));
    answers.forEach((answer, at) => {
      expect(answer.body.equals(bodies[at] ?? Buffer.alloc(0))).toBe(true);
    });
    expect(server.peers[0]?.connection.openStreams).toBe(0);
  });

  it('headers larger than a frame, both ways', async () => {
    const server = await engineServer({ maxHeaderListSize: 200_000 });
    const session = await nodeClient(server.port);
    const value = '~^'.repeat(20_000);
    await ask(session, Buffer.alloc(1), { 'x-long': value });
    expect(server.peers[0]?.echoes[0]?.fields.find(({ name }) => name === 'x-long')?.value).toBe(value);
  });

  it('the client resets', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    // By a signal: node:http2's `close` sends END_STREAM first.
    const abort = new AbortController();
    const stream = session.request({ ':method': 'POST', ':path': '/a/b' }, { signal: abort.signal });
    stream.on('error', () => {});
    stream.write('hello');
    const echo = await server.nextEcho();
    abort.abort();
    expect(await echo.over.promise).toEqual({ kind: 'reset', code: 8 });
    expect((await ask(session, Buffer.from('next'))).body.toString()).toBe('next');
  });

  it('the server resets', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const stream = session.request({ ':method': 'POST', ':path': '/a/b' });
    stream.on('error', () => {});
    stream.write('hello');
    const echo = await server.nextEcho();
    const closed = new Promise((resolve) => stream.once('close', () => resolve(stream.rstCode)));
    echo.connection.reset(echo.stream, 0xb);
    expect(await closed).toBe(0xb);
    expect((await ask(session, Buffer.from('next'))).body.toString()).toBe('next');
  });

  it('GOAWAY "soon", PING, GOAWAY: the open call finishes, then the connection ends', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const stream = session.request({ ':method': 'POST', ':path': '/a/b' });
    stream.write('hello');
    const echo = await server.nextEcho();
    const heard: number[] = [];
    session.on('goaway', (code, last) => heard.push(code, last));
    const { connection } = echo;
    connection.goaway(2 ** 31 - 1, 0);
    await new Promise<void>((resolve) => connection.ping(resolve));
    connection.goaway(connection.lastPeerStreamId, 0);
    const done = new Promise((resolve) => stream.once('close', resolve));
    stream.resume();
    stream.end(' world');
    await done;
    expect(stream.rstCode).toBe(0);
    expect(heard).toEqual([0, 2 ** 31 - 1, 0, 1]);
    server.peers[0]?.binding.end();
    await server.peers[0]?.closed.promise;
  });

  it('the client goes: its calls are lost', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    session.request({ ':method': 'POST', ':path': '/a/b' }).on('error', () => {});
    const echo = await server.nextEcho();
    session.destroy();
    const end = await echo.over.promise;
    // node:http2 may reset its streams before it closes.
    expect(['lost', 'reset']).toContain(end.kind);
    expect(await server.peers[0]?.closed.promise).toMatch(/closed/);
  });

  it('a client that takes our PINGs and whose PINGs we take', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const payload = Buffer.from('abcdefgh');
    const echoed = await new Promise<Buffer>((resolve, reject) =>
      session.ping(payload, (error, _duration, back) => (error === null ? resolve(back) : reject(error))),
    );
    expect(echoed.equals(payload)).toBe(true);
  });
});

describe('the engine as client, node:http2 as server', () => {
  it('a unary call: headers, bytes, trailers', async () => {
    const peer = await engineClient(await nodeServer());
    const call = request(peer, Buffer.from('hello')).end();
    expect(await call.over.promise).toBeNull();
    expect(call.headers.find(({ name }) => name === ':status')?.value).toBe('200');
    expect(call.bytes.toString()).toBe('hello');
    expect(call.trailers).toEqual([{ name: 'grpc-status', value: '0', neverIndexed: false }]);
    expect(peer.connection.openStreams).toBe(0);
  });

  it('1 MiB both ways', async () => {
    const peer = await engineClient(await nodeServer());
    const call = request(peer, mebibyte).end();
    expect(await call.over.promise).toBeNull();
    expect(call.bytes.equals(mebibyte)).toBe(true);
  });

  it('1 MiB both ways through small windows on both sides', async () => {
    const port = await nodeServer({ settings: { initialWindowSize: 777 } });
    const peer = await engineClient(port, { streamWindow: 1000, connectionWindow: 65_535 });
    const call = request(peer, mebibyte).end();
    expect(await call.over.promise).toBeNull();
    expect(call.bytes.equals(mebibyte)).toBe(true);
  });

  it('many streams at once, within the server’s limit', async () => {
    const peer = await engineClient(await nodeServer({ settings: { maxConcurrentStreams: 300 } }));
    expect(peer.connection.room).toBe(300);
    const bodies = Array.from({ length: 300 }, (_unused, at) => Buffer.alloc(at * 20, at));
    const calls = bodies.map((body) => request(peer, body).end());
    expect(peer.connection.room).toBe(0);
    for (const [at, call] of calls.entries()) {
      expect(await call.over.promise).toBeNull();
      expect(call.bytes.equals(bodies[at] ?? Buffer.alloc(0))).toBe(true);
    }
    expect(peer.connection.room).toBe(300);
  });

  it('Trailers-Only', async () => {
    const port = await nodeServer({}, (stream) => {
      stream.respond({ ':status': 200, 'grpc-status': '14' }, { endStream: true });
      return true;
    });
    const peer = await engineClient(port);
    const call = request(peer, Buffer.from('x')).end();
    await call.answered.promise;
    expect(call.headers.find(({ name }) => name === 'grpc-status')?.value).toBe('14');
    expect(call.trailers).toEqual([]);
  });

  it('interim responses are ignored', async () => {
    const port = await nodeServer({}, (stream) => {
      stream.additionalHeaders({ ':status': 103, link: '<x>' });
      return false;
    });
    const peer = await engineClient(port);
    const call = request(peer, Buffer.from('x')).end();
    expect(await call.over.promise).toBeNull();
    expect(call.headers.find(({ name }) => name === ':status')?.value).toBe('200');
  });

  it('the server resets with each code', async () => {
    const port = await nodeServer({}, (stream, path) => {
      stream.close(Number(path.slice(1)));
      return true;
    });
    const peer = await engineClient(port);
    for (const code of [1, 2, 7, 8, 0xb]) {
      const call = request(peer, Buffer.alloc(0), `/${code}`);
      expect(await call.over.promise).toEqual({ kind: 'reset', code });
    }
    expect(peer.connection.openStreams).toBe(0);
  });

  it('the client resets, and the connection goes on', async () => {
    let rstCode: ((code: number) => void) | null = null;
    const reset = new Promise<number>((resolve) => {
      rstCode = resolve;
    });
    const port = await nodeServer({}, (stream) => {
      if (rstCode === null) return false;
      const tell = rstCode;
      rstCode = null;
      stream.once('close', () => tell(stream.rstCode));
      return false;
    });
    const peer = await engineClient(port);
    const call = request(peer, Buffer.from('x'));
    await call.answered.promise;
    peer.connection.reset(call.stream, 8);
    expect(await reset).toBe(8);
    const next = request(peer, Buffer.from('next')).end();
    expect(await next.over.promise).toBeNull();
  });

  it('GOAWAY: calls below its last id finish', async () => {
    const port = await nodeServer({}, (stream) => {
      stream.session?.goaway(0, stream.id ?? 0, Buffer.from('bye'));
      return false;
    });
    const peer = await engineClient(port);
    const call = request(peer, Buffer.from('hello'));
    expect(await peer.goaway.promise).toEqual({ last: 1, code: 0, debug: 'bye' });
    expect(peer.connection.room).toBe(0);
    call.end();
    expect(await call.over.promise).toBeNull();
    expect(call.bytes.toString()).toBe('hello');
  });

  it('the server’s socket dies: the call is lost, and was flushed', async () => {
    // A bare server that takes the preface, then cuts the wire when HEADERS come.
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.write(settings());
      socket.once('data', () => socket.once('data', () => socket.resetAndDestroy()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => server.close());
    const peer = await engineClient((server.address() as AddressInfo).port);
    const call = request(peer, Buffer.from('x'));
    const end = await call.over.promise;
    expect(end).toMatchObject({ kind: 'lost', flushed: true });
    expect(await peer.closed.promise).toMatch(/reset by the peer/);
    expect(peer.connection.ready).toBe(false);
  });
});

describe('TLS with ALPN h2', () => {
  it('the engine as server', async () => {
    const server = await engineServer({}, { key, cert });
    const session = await nodeClient(server.port, { ca: cert }, 'https');
    expect(session.alpnProtocol).toBe('h2');
    const answer = await ask(session, mebibyte);
    expect(answer.body.equals(mebibyte)).toBe(true);
    expect(answer.trailers['x-trailer']).toBe('yes');
  });

  it('the engine as client', async () => {
    const peer = await engineClient(await nodeServer({}, null, true), {}, { ca: cert, servername: 'localhost' });
    const call = request(peer, mebibyte).end();
    expect(await call.over.promise).toBeNull();
    expect(call.bytes.equals(mebibyte)).toBe(true);
  });
});

describe('the socket binding', () => {
  /** A raw socket and all that came on it. */
  async function raw(port: number): Promise<{ socket: net.Socket; ended: Promise<Buffer> }> {
    const socket = net.connect(port, '127.0.0.1');
    cleanups.push(() => socket.destroy());
    socket.on('error', () => {});
    const parts: Buffer[] = [];
    socket.on('data', (chunk) => parts.push(chunk));
    const ended = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(Buffer.concat(parts))));
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    return { socket, ended };
  }

  it('a peer without preface is closed when its time is up', async () => {
    const server = await engineServer({}, null, 60);
    const { ended } = await raw(server.port);
    const peer = await server.next();
    await ended;
    expect(await peer.closed.promise).toBe('no HTTP/2 preface and SETTINGS within 60 ms');
  });

  it('a peer that breaks a rule gets its GOAWAY, then the end', async () => {
    const server = await engineServer();
    const { socket, ended } = await raw(server.port);
    socket.write(Buffer.concat([preface, settings(), headers(2, requestLines)]));
    const bytes = await ended;
    const peer = await server.next();
    expect(await peer.failed.promise).toBe(1);
    expect(bytes.includes(Buffer.from([7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))).toBe(true);
    await peer.closed.promise;
  });

  it('a client that reads nothing holds up its own stream only, and costs no more than the windows', async () => {
    const server = await engineServer();
    const slow = await nodeClient(server.port, { settings: { initialWindowSize: 16 * 1024 * 1024 } });
    const stuck = slow.request({ ':method': 'POST', ':path': '/a/b' });
    stuck.on('error', () => {});
    stuck.pause();
    for (let i = 0; i < 16; i += 1) stuck.write(mebibyte);
    const echo = await server.nextEcho();
    const quick = await nodeClient(server.port);
    for (let i = 0; i < 20; i += 1) expect((await ask(quick, Buffer.from('quick'))).body.toString()).toBe('quick');
    expect(echo.connection.outputBytes).toBeLessThan(600 * 1024);
  });

  it('end() writes what is pending before it closes', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const goaway = new Promise((resolve) => session.once('goaway', (code) => resolve(code)));
    const peer = await server.next();
    peer.connection.goaway(0, 0, 'bye');
    peer.binding.end();
    expect(await goaway).toBe(0);
    await peer.closed.promise;
  });

  it('no alarm is left when all are closed', async () => {
    const server = await engineServer();
    const session = await nodeClient(server.port);
    const peer = await server.next();
    session.close();
    await peer.closed.promise;
    expect(alarms.pending).toBe(0);
  });
});
