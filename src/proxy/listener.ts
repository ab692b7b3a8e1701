import net from 'node:net';
import type tls from 'node:tls';
import { type Forwarding, originOf } from '../grpc/forwarding.js';
import type { MetadataField } from '../grpc/metadata.js';
import { createConnection } from '../http2/connection.js';
import { bindSocket, type SocketBinding } from '../http2/socket.js';
import { type ConnectionTraffic, ErrorCode, type Http2Settings } from '../http2/types.js';
import type { WireTally } from '../http2/wire-tally.js';
import { type BindAddress, bindServer, showAddress } from '../runtime/bind-server.js';
import type { Turn } from '../runtime/ports.js';
import { type SocketFacts, socketFacts } from '../runtime/socket-facts.js';
import { forwardedCertificate } from './client-certificate.js';
import { ClientConnection } from './client-connection.js';
import type { ClientMemory } from './client-memory.js';
import { type ClientLifetime, ClientSession } from './client-session.js';
import { type ClientTls, createHandshakes, handshakeProblem } from './client-tls.js';
import { greet } from './greeting.js';
import type { ClientRefusal } from './meters.js';
import type { ProxyParts } from './parts.js';

export interface ListenerOptions {
  readonly addresses: readonly BindAddress[];
  readonly settings: Http2Settings;
  /** Connections in all; further ones are closed as they come. */
  readonly maxConnections: number;
  /** Streams open at a time over all connections; further ones are refused. */
  readonly maxTotalStreams: number;
  /** What clients make us hold, all together. */
  readonly memory: ClientMemory;
  /** For a TLS handshake, for a cleartext connection's first bytes, and then for HTTP/2's SETTINGS (ms). */
  readonly prefaceTimeout: number;
  /** See SocketOptions.headerTimeout (ms). */
  readonly headerTimeout: number;
  readonly lifetime: ClientLifetime;
  /** Null: cleartext, for good. */
  readonly tls: ClientTls | null;
  readonly forwarding: ForwardingOptions;
  readonly turn: Turn;
  /** Counts what its connections read and write. */
  readonly tally: WireTally;
  /** For channelz: a client is served from now on; what is returned is called at its end. Absent: nobody looks. */
  readonly onClient?: ((client: ClientView) => () => void) | undefined;
  /** A connection ended for a broken rule, or never spoke HTTP/2: for the log. */
  readonly onRefused: (peer: string, detail: string) => void;
  /** --relay-buffer-limit has been exceeded, and this client has most waiting: for the log. */
  readonly onCrowded: (peer: string, detail: string) => void;
}

/** A client's connection, read when somebody looks. */
export interface ClientView {
  /** `host:port` of the client, or `a client` on a unix socket. */
  readonly peer: string;
  readonly traffic: ConnectionTraffic;
  /** PINGs that asked whether it lives. */
  readonly keepalives: number;
  readonly socket: SocketFacts;
}

/** What backends are told of a call's way. */
export interface ForwardingOptions {
  /** --forwarded and --trust-forwarded. */
  readonly forwarded: 'off' | 'address' | 'certificate';
  readonly trusted: boolean;
  /** Our `via` line; null where it is off. */
  readonly via: MetadataField | null;
}

/** Silence after which the system asks whether a client's host is there (ms). */
const tcpKeepalive = 60_000;

/** The sockets that clients connect to. */
export interface Listener {
  /** Binds all addresses. Rejects with a sentence that names the address in the way. */
  start(): Promise<void>;
  /** The addresses really bound, as the ready line prints them. */
  readonly bound: readonly string[];
  readonly connections: number;
  readonly openCalls: number;
  /** TLS with other certificates, for handshakes from now on. Throws where they are not usable. Not from cleartext. */
  secure(tls: ClientTls): void;
  /**
   * Takes no new connections, sends both GOAWAYs (A9), lets the calls finish for `graceMs`, ends those left then UNAVAILABLE
   * `drain_timeout`, and resolves when every client has its last bytes or has been given up.
   */
  drain(graceMs: number): Promise<void>;
  /** Closes everything now. */
  close(): void;
}

/** @param parts each connection adds its own share of the relay's bytes */
export function createListener(parts: Omit<ProxyParts, 'relay'>, options: ListenerOptions): Listener {
  const servers: net.Server[] = [];
  const bound: string[] = [];
  /** Every open socket, clients' too. */
  const sockets = new Set<net.Socket>();
  /** Those that have not said yet what they speak, or are being turned away. */
  const strangers = new Set<net.Socket>();
  const sessions = new Set<ClientSession>();
  let streams = 0;
  let handshakes = options.tls === null ? null : handshakesOf(options.tls);
  let drained: Promise<void> | null = null;
  /** Judges, as each session ends, whether a drain is over. */
  let checkDrained: () => void = () => {};

  function refused(kind: ClientRefusal, peer: string, detail: string): void {
    parts.meters.clientRefused(kind);
    options.onRefused(peer, detail);
  }

  function openCalls(): number {
    let sum = 0;
    for (const { client } of sessions) sum += client.openCalls;
    return sum;
  }

  function accept(socket: net.Socket): void {
    const peer = peerName(socket);
    socket.on('error', () => {});
    if (drained !== null || sockets.size >= options.maxConnections) {
      if (drained === null) refused('max_connections', peer, 'is one connection more than --max-connections permits');
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (handshakes !== null) {
      handshakes.emit('connection', socket);
      return;
    }
    strangers.add(socket);
    socket.once('close', () => strangers.delete(socket));
    greet(socket, {
      clock: parts.clock,
      alarms: parts.alarms,
      timeout: options.prefaceTimeout,
      onHttp2: () => {
        strangers.delete(socket);
        serve(socket, peer);
      },
      onRefused: (detail) => refused('not_http2', peer, detail),
    });
  }

  function handshakesOf(secure: ClientTls): tls.Server {
    const server = createHandshakes(secure, options.prefaceTimeout);
    server.on('secureConnection', (socket) => {
      if (socket.alpnProtocol !== 'h2') {
        refused('tls', peerName(socket), 'did not offer the ALPN protocol h2');
        socket.on('error', () => {});
        socket.destroy();
      } else if (drained !== null) {
        socket.destroy();
      } else {
        serve(socket, peerName(socket));
      }
    });
    server.on('tlsClientError', (error, socket) => {
      const problem = handshakeProblem(error, socket, options.prefaceTimeout);
      if (problem !== null) refused('tls', peerName(rawOf(socket)), problem);
      socket.destroy();
    });
    return server;
  }

  function serve(socket: net.Socket, peer: string): void {
    let hoards = false;
    const memory = options.memory.open({
      evict(detail, unread) {
        hoards = true;
        binding.connection.fail(ErrorCode.ENHANCE_YOUR_CALM, detail);
        // What waits for a client that does not read is what is to be freed.
        if (unread) binding.destroy(detail);
      },
      tell: (detail) => options.onCrowded(peer, detail),
      look: () => binding.heldBytes,
    });
    const binding = bindSocket(socket, {
      create: (events) => createConnection('server', options.settings, events, options.tally),
      turn: options.turn,
      alarms: parts.alarms,
      clock: parts.clock,
      prefaceTimeout: options.prefaceTimeout,
      headerTimeout: options.headerTimeout,
      events: {
        onRequest: (stream, fields, endStream, tooLarge) => {
          streams += 1;
          if (streams <= options.maxTotalStreams) {
            client.onRequest(stream, fields, endStream, tooLarge);
            return;
          }
          refused('max_total_streams', peer, 'opened one stream more than --max-total-streams permits');
          // RFC 9113 8.7: it may be sent again.
          binding.connection.reset(stream, ErrorCode.REFUSED_STREAM);
        },
        onSettings() {},
        onGoaway() {},
        onHeld: (bytes) => memory.hold(bytes),
        onStreamClosed: () => {
          streams -= 1;
        },
        onFailed: (code, detail) => refused(hoards ? 'memory' : kindOf(code), peer, detail),
        // A client that goes away before its SETTINGS has done nothing wrong: calls are cancelled that early.
        onSilent: (detail) => refused('silent', peer, detail),
        onClosed: () => {
          sessions.delete(session);
          leave?.();
          memory.leave();
          session.closed();
          checkDrained();
        },
      },
    });
    const client = new ClientConnection(
      binding.connection,
      { ...parts, relay: memory },
      () => session.callEnded(),
      forwardingOf(socket, options.forwarding),
    );
    const session = new ClientSession(client, binding, parts, options.lifetime, (detail) =>
      refused('silent', peer, detail),
    );
    sessions.add(session);
    const leave = options.onClient?.(viewOf(peer, socket, binding, session));
    parts.meters.clientConnected();
    binding.start();
  }

  async function bind(address: BindAddress): Promise<void> {
    // A client that is gone without a word would be kept for good.
    const server = net.createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: tcpKeepalive }, accept);
    servers.push(server);
    const place = await bindServer(server, '--listen', address);
    bound.push(place);
    server.on('error', (error) => options.onRefused(place, `the listener failed: ${error.message}`));
  }

  function stopAccepting(): void {
    for (const server of servers) server.close();
    for (const socket of strangers) socket.destroy();
  }

  function drainAll(graceMs: number): Promise<void> {
    stopAccepting();
    const tooLong = parts.alarms.set(parts.clock.now() + graceMs, () => {
      for (const session of sessions) session.giveUp();
    });
    for (const session of sessions) session.leave(graceMs);
    return new Promise((resolve) => {
      checkDrained = () => {
        if (sessions.size > 0) return;
        parts.alarms.cancel(tooLong);
        resolve();
      };
      checkDrained();
    });
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
      return sessions.size;
    },
    get openCalls() {
      return openCalls();
    },
    secure(secure) {
      handshakes = handshakesOf(secure);
    },
    drain(graceMs) {
      drained ??= drainAll(graceMs);
      return drained;
    },
    close() {
      stopAccepting();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function viewOf(peer: string, socket: net.Socket, { traffic }: SocketBinding, session: ClientSession): ClientView {
  return {
    peer,
    traffic,
    get keepalives() {
      return session.keepalives;
    },
    get socket() {
      return socketFacts(socket);
    },
  };
}

/**
 * The socket below a TLS socket: one that a bad certificate has ended knows its peer no more, and the one below still does.
 * Node has no public name for it; without it the peer goes unnamed.
 */
function rawOf(socket: tls.TLSSocket): net.Socket {
  const raw: unknown = '_parent' in socket ? socket._parent : null;
  return raw instanceof net.Socket ? raw : socket;
}

/** What a client is counted as that broke a rule of HTTP/2. */
function kindOf(code: number): ClientRefusal {
  return code === ErrorCode.ENHANCE_YOUR_CALM ? 'flood' : 'protocol_error';
}

function peerName(socket: net.Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return 'a client';
  return showAddress({ kind: 'tcp', host: remoteAddress, port: remotePort ?? 0 });
}

/** The lines that all calls of a connection get; null where there are none to give, nor to take away. */
function forwardingOf(socket: net.Socket, { forwarded, trusted, via }: ForwardingOptions): Forwarding | null {
  if (forwarded === 'off') return via === null ? null : { origin: null, via };
  const shown = forwarded === 'certificate' && isSecure(socket) ? socket.getPeerX509Certificate() : undefined;
  const certificate = shown === undefined ? null : forwardedCertificate(shown);
  return { origin: originOf(socket.remoteAddress ?? null, certificate, trusted), via };
}

function isSecure(socket: net.Socket): socket is tls.TLSSocket {
  return 'getPeerX509Certificate' in socket;
}
