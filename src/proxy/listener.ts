import net from 'node:net';
import tls from 'node:tls';
import { createConnection } from '../http2/connection.js';
import { bindSocket, type SocketBinding } from '../http2/socket.js';
import { ErrorCode, type Http2Settings } from '../http2/types.js';
import type { Turn } from '../runtime/ports.js';
import { ClientConnection } from './client-connection.js';
import type { ProxyParts } from './parts.js';
import { http1Answer, sniff } from './sniff.js';

/** Where clients come in. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

export interface ListenerOptions {
  readonly addresses: readonly ListenAddress[];
  readonly settings: Http2Settings;
  /** Connections in all; further ones are closed as they come. */
  readonly maxConnections: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly turn: Turn;
  /** A connection ended for a broken rule, or never spoke HTTP/2: for the log. */
  readonly onRefused: (peer: string, detail: string) => void;
}

/** How long a cleartext connection may take to say what it speaks, and a TLS one for its handshake (ms). */
const helloTimeout = 5000;
/** The most that a drain waits for a client's answer between its two GOAWAYs (ms; contract, SIGTERM). */
const drainPing = 1000;

/** The sockets that clients connect to. */
export interface Listener {
  /** Binds all addresses. Rejects with a sentence that names the address in the way. */
  start(): Promise<void>;
  /** The addresses really bound, as the ready line prints them. */
  readonly bound: readonly string[];
  readonly connections: number;
  readonly openCalls: number;
  /**
   * Takes no new connections, sends both GOAWAYs (A9) and resolves when no call is left, at the latest after `graceMs`;
   * calls left then have ended UNAVAILABLE `drain_timeout`.
   */
  drain(graceMs: number): Promise<void>;
  /** Closes everything now. */
  close(): void;
}

export function createListener(parts: ProxyParts, options: ListenerOptions): Listener {
  const servers: net.Server[] = [];
  const bound: string[] = [];
  const clients = new Map<ClientConnection, SocketBinding>();
  /** Sockets that have not said yet what they speak. */
  const strangers = new Set<net.Socket>();
  let draining = false;
  let whenIdle: (() => void) | null = null;

  function openCalls(): number {
    let sum = 0;
    for (const client of clients.keys()) sum += client.openCalls;
    return sum;
  }

  function checkIdle(): void {
    if (!draining) return;
    for (const [client, binding] of clients) if (client.openCalls === 0 && client.saidLast) binding.end();
    if (whenIdle !== null && openCalls() === 0) whenIdle();
  }

  function serve(socket: net.Socket): void {
    const holder: { client: ClientConnection | null } = { client: null };
    const binding = bindSocket(socket, {
      create: (events) => createConnection('server', options.settings, events),
      turn: options.turn,
      alarms: parts.alarms,
      clock: parts.clock,
      events: {
        onRequest: (stream, fields, endStream, tooLarge) =>
          holder.client?.onRequest(stream, fields, endStream, tooLarge),
        onSettings() {},
        onGoaway() {},
        onStreamClosed() {},
        onFailed: (_code, detail) => options.onRefused(peerName(socket), detail),
        onClosed: () => {
          if (holder.client !== null) clients.delete(holder.client);
          checkIdle();
        },
      },
    });
    const client = new ClientConnection(binding.connection, parts, checkIdle);
    holder.client = client;
    clients.set(client, binding);
    binding.start();
    if (draining) sayGoodbye(client);
  }

  /** Cleartext: the first bytes tell HTTP/2 from what must be turned away with a sentence. */
  function greet(socket: net.Socket): void {
    strangers.add(socket);
    let seen: Buffer = Buffer.alloc(0);
    const tooLate = parts.alarms.set(parts.clock.now() + helloTimeout, () => {
      options.onRefused(peerName(socket), `said nothing that tells its protocol within ${helloTimeout} ms`);
      socket.destroy();
    });
    const settle = (): void => {
      parts.alarms.cancel(tooLate);
      strangers.delete(socket);
      socket.off('data', onData);
      socket.off('close', settle);
      socket.off('error', onError);
    };
    const onError = (): void => {
      socket.destroy();
    };
    const onData = (chunk: Buffer): void => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const kind = sniff(seen);
      if (kind === 'more') return;
      settle();
      if (kind === 'http2') {
        socket.pause();
        socket.unshift(seen);
        serve(socket);
        return;
      }
      socket.on('error', onError);
      if (kind === 'http1') {
        options.onRefused(peerName(socket), 'spoke HTTP/1.x; only HTTP/2 is served here');
        socket.end(http1Answer, () => socket.destroySoon());
        socket.resume();
        return;
      }
      const looksLikeTls = seen[0] === 0x16;
      const what = looksLikeTls ? 'began a TLS handshake on a cleartext port' : 'spoke neither HTTP/2 nor HTTP/1.x';
      options.onRefused(peerName(socket), what);
      socket.destroy();
    };
    socket.on('data', onData);
    socket.on('close', settle);
    socket.on('error', onError);
  }

  function accept(socket: net.Socket): void {
    if (draining || clients.size + strangers.size >= options.maxConnections) {
      options.onRefused(
        peerName(socket),
        draining ? 'came while draining' : 'is one connection more than --max-connections permits',
      );
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    if (options.tls === null) {
      greet(socket);
      return;
    }
    if (!(socket instanceof tls.TLSSocket)) return;
    if (socket.alpnProtocol !== 'h2') {
      options.onRefused(peerName(socket), 'did not offer the ALPN protocol h2');
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    serve(socket);
  }

  function createServer(): net.Server {
    if (options.tls === null) return net.createServer({ noDelay: true }, accept);
    const server = tls.createServer(
      { ...options.tls, ALPNProtocols: ['h2'], minVersion: 'TLSv1.2', handshakeTimeout: helloTimeout },
      accept,
    );
    server.on('tlsClientError', (error, socket) => {
      options.onRefused(peerName(socket), `TLS handshake failed: ${error.message}`);
      socket.destroy();
    });
    return server;
  }

  function bind(address: ListenAddress): Promise<void> {
    const server = createServer();
    servers.push(server);
    return new Promise((resolve, reject) => {
      const place = nameOf(address);
      server.once('error', (error: NodeJS.ErrnoException) => reject(new Error(bindProblem(place, error))));
      const done = (): void => {
        const real = server.address();
        bound.push(
          real === null || typeof real === 'string'
            ? place
            : nameOf({ kind: 'tcp', host: real.address, port: real.port }),
        );
        server.removeAllListeners('error');
        server.on('error', (error) => options.onRefused(place, `the listener failed: ${error.message}`));
        resolve();
      };
      if (address.kind === 'unix') server.listen(address.path, done);
      else server.listen(address.port, address.host, done);
    });
  }

  function sayGoodbye(client: ClientConnection): void {
    const { connection } = client;
    connection.goaway(2 ** 31 - 1, ErrorCode.NO_ERROR, 'draining');
    const sayLast = (): void => {
      if (client.saidLast) return;
      client.saidLast = true;
      parts.alarms.cancel(late);
      connection.goaway(connection.lastPeerStreamId, ErrorCode.NO_ERROR, 'draining');
      checkIdle();
    };
    const late = parts.alarms.set(parts.clock.now() + drainPing, sayLast);
    connection.ping(sayLast);
  }

  function stopAccepting(): void {
    for (const server of servers) server.close();
    for (const socket of strangers) socket.destroy();
  }

  return {
    async start() {
      try {
        for (const address of options.addresses) await bind(address);
      } catch (error) {
        stopAccepting();
        throw error;
      }
    },
    get bound() {
      return bound;
    },
    get connections() {
      return clients.size;
    },
    get openCalls() {
      return openCalls();
    },
    drain(graceMs) {
      if (draining) return Promise.resolve();
      draining = true;
      stopAccepting();
      for (const client of clients.keys()) sayGoodbye(client);
      return new Promise((resolve) => {
        const finish = (): void => {
          parts.alarms.cancel(tooLong);
          whenIdle = null;
          resolve();
        };
        const tooLong = parts.alarms.set(parts.clock.now() + graceMs, () => {
          whenIdle = null;
          for (const client of clients.keys()) client.abandonCalls();
          resolve();
        });
        // A client that has not heard the last GOAWAY yet may still open a call: idle is judged after it.
        whenIdle = () => {
          for (const client of clients.keys()) if (!client.saidLast) return;
          finish();
        };
        whenIdle();
      });
    },
    close() {
      stopAccepting();
      for (const binding of clients.values()) binding.destroy();
    },
  };
}

function peerName(socket: net.Socket): string {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined ? 'a client' : nameOf({ kind: 'tcp', host: remoteAddress, port: remotePort ?? 0 });
}

function nameOf(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

function bindProblem(place: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `--listen ${place}: the address is in use; stop what holds it or choose another port`;
    case 'EACCES':
      return `--listen ${place}: not permitted; choose a port above 1023 or another path`;
    case 'EADDRNOTAVAIL':
      return `--listen ${place}: this machine has no such address`;
    default:
      return `--listen ${place}: ${error.message}`;
  }
}
