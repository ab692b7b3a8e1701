import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import {
  defaultHttp2Settings,
  type HeaderField,
  type Http2Connection,
  type Http2Stream,
  type StreamEnd,
  type StreamEvents,
} from '../../../src/http2/types.js';
import { createUpstreamPool, type UpstreamPoolOptions } from '../../../src/upstream/pool.js';
import type {
  BackendChange,
  Endpoint,
  StreamWaiter,
  UpstreamBackend,
  UpstreamPool,
  WaiterPlace,
} from '../../../src/upstream/types.js';
import { Signal } from '../../support/engine-peers.js';
import { clock, NodeAlarms, turn } from '../../support/node-ports.js';
import { fields } from '../../support/recorder.js';

const cert = readFileSync(new URL('../../support/tls/localhost.crt', import.meta.url), 'utf8');
const key = readFileSync(new URL('../../support/tls/localhost.key', import.meta.url), 'utf8');

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const request = fields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/pkg.Service/Method'],
  [':authority', 'test'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]);

/** A call that waits for a stream if it has to, and tells when what happened. */
class Call implements StreamWaiter, StreamEvents {
  place: WaiterPlace | null = null;
  readonly opened = new Signal<Http2Connection>();
  readonly answered = new Signal<void>();
  readonly over = new Signal<StreamEnd | 'whole'>();
  readonly failed = new Signal<string>();
  private stream: Http2Stream | null = null;
  private connection: Http2Connection | null = null;
  private readonly order: Call[];

  constructor(backend: UpstreamBackend, order: Call[] = []) {
    this.order = order;
    const opened = backend.tryOpen(this);
    if (opened === null) backend.wait(this);
    else this.onOpened(opened.stream, opened.connection);
  }

  get events(): StreamEvents {
    return this;
  }
  /** Half-closes: the server below answers then. */
  finish(): void {
    if (this.stream !== null) this.connection?.sendData(this.stream, Buffer.alloc(0), 0, 0, true);
  }
  onOpened(stream: Http2Stream, connection: Http2Connection): void {
    this.stream = stream;
    this.connection = connection;
    this.order.push(this);
    connection.sendHeaders(stream, request, false);
    this.opened.give(connection);
  }
  onFailed(why: string, detail: string): void {
    this.failed.give(`${why}: ${detail}`);
  }
  onHeaders(_stream: Http2Stream, _fields: readonly HeaderField[], endStream: boolean): void {
    this.answered.give();
    if (endStream) this.over.give('whole');
  }
  onTrailers(): void {
    this.over.give('whole');
  }
  onData(stream: Http2Stream, _chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    this.connection?.consume(stream, end - start);
    if (endStream) this.over.give('whole');
  }
  onWritable(): void {}
  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    this.over.give(end);
  }
}

interface Fixture {
  readonly pool: UpstreamPool;
  readonly backend: UpstreamBackend;
  readonly alarms: NodeAlarms;
  readonly changes: BackendChange[];
  /** Resolves with the first such change after the last one that was waited for. */
  next(event: BackendChange['event']): Promise<BackendChange>;
}

/** A pool of one backend, started. */
function start(endpoint: Endpoint, options: Partial<UpstreamPoolOptions> = {}): Fixture {
  const alarms = new NodeAlarms();
  const changes: BackendChange[] = [];
  let seen = 0;
  let wake = (): void => {};
  const pool = createUpstreamPool({
    backends: [{ id: backendId('b1'), name: 'b1', target: 'test', endpoint, weight: 1, priority: 0, maxCalls: null }],
    connectTimeout: 2000,
    connectBackoffMax: 5000,
    backendConnections: 4,
    queueLimit: 1000,
    drainTimeout: 5000,
    settings: defaultHttp2Settings,
    tls: null,
    clock,
    alarms,
    turn,
    random: { next: Math.random },
    onStateChange: (change) => {
      changes.push(change);
      wake();
    },
    ...options,
  });
  const [backend] = pool.backends;
  if (backend === undefined) throw new Error('no backend');
  cleanups.push(() => pool.stop(0));
  pool.start();
  return {
    pool,
    backend,
    alarms,
    changes,
    async next(event) {
      for (;;) {
        for (; seen < changes.length; seen += 1) {
          const change = changes[seen];
          if (change?.event !== event) continue;
          seen += 1;
          return change;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

interface Server {
  readonly endpoint: { readonly kind: 'tcp'; readonly host: string; readonly port: number };
  readonly sessions: http2.ServerHttp2Session[];
  readonly sockets: net.Socket[];
  close(): void;
}

/** A node:http2 server that answers each request when it has ended. */
async function serve(settings: http2.Settings = {}, port = 0, secure = false): Promise<Server> {
  const server = secure ? http2.createSecureServer({ key, cert, settings }) : http2.createServer({ settings });
  const sessions: http2.ServerHttp2Session[] = [];
  const sockets: net.Socket[] = [];
  server.on('connection', (socket: net.Socket) => sockets.push(socket));
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.on('end', () => stream.end());
    stream.resume();
  });
  const close = (): void => {
    server.close();
    for (const session of sessions) session.destroy();
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  cleanups.push(close);
  return { endpoint: tcp((server.address() as AddressInfo).port), sessions, sockets, close };
}

function tcp(port: number): Server['endpoint'] {
  return { kind: 'tcp', host: '127.0.0.1', port };
}

/** Listens with this for each socket. */
async function accept(onSocket: (socket: net.Socket) => void): Promise<Server['endpoint']> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return tcp((server.address() as AddressInfo).port);
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

describe('a backend over TCP', () => {
  it('refuses, then comes up: it is connected to without a call', async () => {
    const port = await freePort();
    const { backend, next } = start(tcp(port));
    const call = new Call(backend);
    const words = `backend b1 at 127.0.0.1:${port}: connect refused (ECONNREFUSED)`;
    expect(await call.failed.promise).toBe(`connect: ${words}`);
    expect(backend).toMatchObject({ link: 'backoff', lastError: words });
    await serve({}, port);
    await next('connected');
    expect(backend).toMatchObject({ link: 'ready', generation: 1, lastError: null });
  });

  it('carries calls to their end', async () => {
    const { endpoint } = await serve();
    const { backend, next } = start(endpoint);
    await next('connected');
    const call = new Call(backend);
    await call.answered.promise;
    expect(backend.inFlight).toBe(1);
    call.finish();
    expect(await call.over.promise).toBe('whole');
    expect(backend.inFlight).toBe(0);
  });

  it('BR-64: is killed: every stream hears of it in the same turn, and the next connection is for new calls', async () => {
    const server = await serve();
    const { backend, next } = start(server.endpoint);
    await next('connected');
    const calls = [new Call(backend), new Call(backend), new Call(backend)];
    for (const call of calls) await call.answered.promise;
    let ended = 0;
    let turns = 0;
    for (const call of calls)
      void call.over.promise.then(() => {
        if (ended === 0)
          setImmediate(() => {
            turns = ended;
          });
        ended += 1;
      });
    server.sockets[0]?.resetAndDestroy();
    for (const call of calls) expect(await call.over.promise).toMatchObject({ kind: 'lost', flushed: true });
    await next('connected');
    expect(turns).toBe(3);
    expect(backend.generation).toBe(2);
    const call = new Call(backend);
    await call.answered.promise;
  });

  it('BR-68: permits one stream: four connections, then the fifth caller queues and comes next', async () => {
    const server = await serve({ maxConcurrentStreams: 1 });
    const { backend } = start(server.endpoint);
    const order: Call[] = [];
    const calls = Array.from({ length: 6 }, () => new Call(backend, order));
    const [first, second, third, fourth, fifth, sixth] = calls as [Call, Call, Call, Call, Call, Call];
    for (const call of [first, second, third, fourth]) await call.answered.promise;
    expect(backend).toMatchObject({ connections: 4, inFlight: 4, queued: 2 });
    third.finish();
    await fifth.opened.promise;
    first.finish();
    await sixth.opened.promise;
    for (const call of [second, fourth, fifth, sixth]) call.finish();
    for (const call of calls) expect(await call.over.promise).toBe('whole');
    expect(order).toEqual([first, second, third, fourth, fifth, sixth]);
    expect(server.sessions.length).toBe(4);
  });

  it('closes connections beyond the first when they are not used any more', async () => {
    const server = await serve({ maxConcurrentStreams: 1 });
    const { backend, next, alarms } = start(server.endpoint);
    const calls = [new Call(backend), new Call(backend)];
    for (const call of calls) await call.answered.promise;
    for (const call of calls) call.finish();
    const { generation } = await next('closed');
    expect(generation).toBe(2);
    expect(backend).toMatchObject({ connections: 1, link: 'ready' });
    expect(alarms.pending).toBe(0);
  });

  it('BR-66: says GOAWAY: the long stream finishes, calls meanwhile go over a new connection, the old one is freed', async () => {
    const server = await serve();
    const { backend, next, changes } = start(server.endpoint);
    await next('connected');
    const long = new Call(backend);
    await long.answered.promise;
    server.sessions[0]?.close();
    await next('draining');
    for (let i = 0; i < 20; i += 1) {
      const call = new Call(backend);
      await call.answered.promise;
      call.finish();
      expect(await call.over.promise).toBe('whole');
    }
    long.finish();
    expect(await long.over.promise).toBe('whole');
    await next('closed');
    expect(backend).toMatchObject({ connections: 1, generation: 2, inFlight: 0 });
    expect(changes.map(({ event }) => event)).toEqual(['connected', 'draining', 'connected', 'closed']);
  });

  it('says GOAWAY while idle: the next connection comes without a call', async () => {
    const server = await serve();
    const { backend, next } = start(server.endpoint);
    await next('connected');
    server.sessions[0]?.close();
    await next('draining');
    await next('connected');
    expect(backend).toMatchObject({ link: 'ready', connections: 1, generation: 2 });
  });

  it('CON-05: says GOAWAY with an error: what it had taken goes on, what it had not is told so', async () => {
    const server = await serve();
    const { backend, next } = start(server.endpoint);
    await next('connected');
    const taken = new Call(backend);
    await taken.answered.promise;
    const refused = new Call(backend);
    await refused.answered.promise;
    server.sessions[0]?.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM, 1, Buffer.from('calm'));
    expect(await refused.over.promise).toEqual({ kind: 'goaway', code: 11 });
    expect((await next('draining')).detail).toContain('GOAWAY with code 11 (calm)');
    taken.finish();
    expect(await taken.over.promise).toBe('whole');
  });

  it('accepts and says nothing: the connect times out, and a call in wait is told', async () => {
    const endpoint = await accept(() => {});
    const { backend } = start(endpoint, { connectTimeout: 100 });
    const call = new Call(backend);
    expect(await call.failed.promise).toBe(
      `connect: backend b1 at 127.0.0.1:${endpoint.port}: connect timed out after 100 ms, waiting for HTTP/2 SETTINGS`,
    );
  });

  it('accepts and closes', async () => {
    const endpoint = await accept((socket) => socket.destroy());
    const { next } = start(endpoint);
    expect((await next('connect_failed')).detail).toContain('before its HTTP/2 SETTINGS');
  });

  it('speaks HTTP/1: the words say so', async () => {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => server.close());
    const { next } = start(tcp((server.address() as AddressInfo).port));
    expect((await next('connect_failed')).detail).toContain('connect failed: it does not speak HTTP/2');
  });
});

it('a backend over a unix socket carries calls', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'upstream-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const socketPath = path.join(folder, 'backend.sock');
  const missing = start({ kind: 'unix', path: socketPath });
  expect((await missing.next('connect_failed')).detail).toBe(
    `backend b1 at unix:${socketPath}: connect failed: there is no such socket (ENOENT)`,
  );
  const server = http2.createServer();
  server.on('stream', (stream) => stream.respond({ ':status': 200 }, { endStream: true }));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  cleanups.push(() => server.close());
  const { backend, next } = start({ kind: 'unix', path: socketPath });
  await next('connected');
  const call = new Call(backend);
  call.finish();
  expect(await call.over.promise).toBe('whole');
});

describe('a backend over TLS', () => {
  const trusting = { ca: cert, serverName: 'localhost' };

  it('carries calls where its certificate and ALPN are right', async () => {
    const { endpoint } = await serve({}, 0, true);
    const { backend, next } = start(endpoint, { tls: trusting });
    await next('connected');
    const call = new Call(backend);
    call.finish();
    expect(await call.over.promise).toBe('whole');
  });

  it('is refused where its certificate is unknown or for another name', async () => {
    const { endpoint } = await serve({}, 0, true);
    const unknown = start(endpoint, { tls: { ca: null, serverName: 'localhost' } });
    expect((await unknown.next('connect_failed')).detail).toContain('see --backend-ca');
    const other = start(endpoint, { tls: { ca: cert, serverName: 'other.example' } });
    expect((await other.next('connect_failed')).detail).toContain("the backend's certificate is for another name");
  });

  it('is refused where it does not agree to HTTP/2', async () => {
    const server = tls.createServer({ key, cert }, (socket) => socket.on('error', () => {}));
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => server.close());
    const { next } = start(tcp((server.address() as AddressInfo).port), { tls: trusting });
    expect((await next('connect_failed')).detail).toContain('the backend does not offer HTTP/2 over TLS (ALPN h2)');
  });

  it('in cleartext is refused, saying so', async () => {
    const endpoint = await accept((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    const { next } = start(endpoint, { tls: trusting });
    expect((await next('connect_failed')).detail).toContain('the backend does not speak TLS');
  });

  it('that never answers the handshake times out', async () => {
    const endpoint = await accept(() => {});
    const { next } = start(endpoint, { tls: trusting, connectTimeout: 100 });
    expect((await next('connect_failed')).detail).toContain('waiting for the TLS handshake');
  });

  it('a CA that is none is refused at once', () => {
    expect(() => start(tcp(1), { tls: { ca: 'not a certificate', serverName: null } })).toThrow(
      'TLS to backends: the CA, certificate or key is not in PEM form',
    );
  });
});

describe('stop', () => {
  it('resolves when the last stream has ended and all connections are closed', async () => {
    const server = await serve();
    const { pool, backend, next, alarms } = start(server.endpoint);
    await next('connected');
    const call = new Call(backend);
    await call.answered.promise;
    const stopped = pool.stop(10_000);
    call.finish();
    await stopped;
    expect(await call.over.promise).toBe('whole');
    expect(backend).toMatchObject({ link: 'backoff', connections: 0, inFlight: 0 });
    expect(alarms.pending).toBe(0);
  });

  it('ends what is left after the grace', async () => {
    const server = await serve();
    const { pool, backend, next } = start(server.endpoint);
    await next('connected');
    const call = new Call(backend);
    await call.answered.promise;
    await pool.stop(20);
    expect(await call.over.promise).toMatchObject({ kind: 'lost' });
  });

  it('of a pool without backends resolves at once', async () => {
    const pool = createUpstreamPool({
      backends: [],
      connectTimeout: 1,
      connectBackoffMax: 1,
      backendConnections: 1,
      queueLimit: 1,
      drainTimeout: 1,
      settings: defaultHttp2Settings,
      tls: null,
      clock,
      alarms: new NodeAlarms(),
      turn,
      random: { next: Math.random },
      onStateChange() {},
    });
    await pool.stop(60_000);
    expect(pool.backends).toEqual([]);
  });
});
