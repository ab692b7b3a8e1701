import { constants, X509Certificate } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { createConnection } from '../http2/connection.js';
import { bindSocket, type SocketBinding } from '../http2/socket.js';
import { codeOf } from '../http2/tls-fault.js';
import { ErrorCode, type Http2Settings } from '../http2/types.js';
import type { WireTally } from '../http2/wire-tally.js';
import type { Alarms, Clock, Turn } from '../runtime/ports.js';
import { socketFacts } from '../runtime/socket-facts.js';
import { describeConnectError, foreignAnswer, leftHandshake, silentEnd } from './connect-error.js';
import type { Dial, Link, LinkEvents, LinkView } from './link.js';
import type { Endpoint } from './types.js';

/** Silence after which the system asks whether a backend's host is there (ms). */
const tcpKeepalive = 60_000;

/** TLS to backends. PEM texts. */
export interface BackendTls {
  /** Certificates that backends are checked against; null: the system's. */
  readonly ca: string | null;
  /** Our own certificate chain and its key, for backends that ask for one. */
  readonly cert?: string | null;
  readonly key?: string | null;
  /** The name that the certificate must carry, and that SNI says; null: the address. */
  readonly serverName: string | null;
}

/** What every connect of a pool needs. */
export interface ConnectOptions {
  readonly settings: Http2Settings;
  /** Counts what its connections read and write. */
  readonly tally?: WireTally | undefined;
  readonly tls: BackendTls | null;
  /** Milliseconds; the owner keeps it over all stages, the socket's own limit for SETTINGS is the same. */
  readonly connectTimeout: number;
  /** See SocketOptions.headerTimeout. */
  readonly headerTimeout?: number;
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly turn: Turn;
}

/** Makes the connections of a pool. */
export interface Connector {
  /** One per backend. @param host the name that led to the endpoint, which its certificate carries; null: none did */
  dialOf(endpoint: Endpoint, host: string | null): Dial;
  /** TLS with other texts, for connections from now on. Throws one sentence where they are no certificates or keys. */
  secure(tls: BackendTls): void;
}

/** Throws one sentence where the TLS texts are no certificates or keys. */
export function createConnector(options: ConnectOptions): Connector {
  let security = options.tls === null ? null : securityOf(options.tls);
  return {
    dialOf: (endpoint, host) => (events) =>
      new SocketLink(openSocket(endpoint, host, security), security, events, options),
    secure(next) {
      security = securityOf(next);
    },
  };
}

/** What a TLS connection is made with. */
interface Security {
  readonly context: tls.SecureContext;
  readonly serverName: string | null;
  readonly ownCertificate: boolean;
}

function securityOf(secure: BackendTls): Security {
  const { serverName, cert = null } = secure;
  return { context: secureContextOf(secure), serverName, ownCertificate: cert !== null };
}

/** Throws one sentence where the texts are no certificates or keys. */
export function secureContextOf({ ca, cert = null, key = null }: BackendTls): tls.SecureContext {
  try {
    // Node takes a CA text without a certificate for an empty list, and no backend would be trusted.
    if (ca !== null) new X509Certificate(ca);
    return tls.createSecureContext({
      // RFC 9113 9.2.1.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert }),
      ...(key === null ? {} : { key }),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`TLS to backends: the CA, certificate or key is not in PEM form: ${reason}`, { cause: error });
  }
}

function openSocket(endpoint: Endpoint, host: string | null, security: Security | null): net.Socket | tls.TLSSocket {
  const address = endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port };
  const socket =
    security === null
      ? net.connect(address)
      : tls.connect({
          ...address,
          secureContext: security.context,
          ALPNProtocols: ['h2'],
          ...nameCheck(security.serverName ?? host),
        });
  if (endpoint.kind === 'tcp') {
    socket.setNoDelay(true);
    // Keepalive by PING asks while calls are open. One that died without a word while it had none would be given the next call.
    socket.setKeepAlive(true, tcpKeepalive);
  }
  return socket;
}

/** The name that the certificate must carry. An IP address is checked, and not sent: SNI holds host names (RFC 6066 3). */
export function nameCheck(name: string | null): Pick<tls.ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  if (name === null) return {};
  if (net.isIP(name) === 0) return { servername: name };
  return { checkServerIdentity: (_address, certificate) => tls.checkServerIdentity(name, certificate) };
}

class SocketLink implements Link {
  stage: Link['stage'] = 'a TCP connection';
  private readonly socket: net.Socket;
  private readonly security: Security | null;
  private readonly events: LinkEvents;
  private readonly options: ConnectOptions;
  private binding: SocketBinding | null = null;
  private up = false;
  /** What went wrong before there was a binding; from then on, what TLS alone can tell. */
  private failure = '';
  /** The backend ended the connection: it gave no reason of its own. */
  private left = false;
  /** What its first bytes tell in cleartext, if they are not HTTP/2. */
  private foreign: string | null = null;
  private readonly onError = (error: Error): void => {
    const code = codeOf(error);
    const { stage } = this;
    this.left ||= code === 'ECONNRESET';
    // A TLS 1.3 backend judges our certificate when the handshake is over for us.
    if (this.failure !== '' || (stage === 'HTTP/2 SETTINGS' && !code.startsWith('ERR_SSL_'))) return;
    this.failure = stage === 'the TLS handshake' && this.left ? leftHandshake : describeConnectError(error);
  };
  private readonly onClose = (): void => {
    const unexpected = `the backend closed the connection, waiting for ${this.stage}`;
    this.events.onClosed(this.failure === '' ? unexpected : this.failure);
  };

  constructor(
    socket: net.Socket | tls.TLSSocket,
    security: Security | null,
    events: LinkEvents,
    options: ConnectOptions,
  ) {
    this.socket = socket;
    this.security = security;
    this.events = events;
    this.options = options;
    socket.on('error', this.onError);
    socket.on('close', this.onClose);
    if (!(socket instanceof tls.TLSSocket)) {
      socket.once('connect', () => this.bind());
      return;
    }
    socket.once('connect', () => {
      this.stage = 'the TLS handshake';
    });
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol === 'h2') this.bind();
      else this.destroy('the backend does not offer HTTP/2 over TLS (ALPN h2)');
    });
  }

  get lastReadAt(): number {
    return this.binding?.lastReadAt ?? Number.NEGATIVE_INFINITY;
  }

  view(): LinkView | null {
    const { binding, socket } = this;
    if (binding === null) return null;
    return {
      traffic: binding.traffic,
      get socket() {
        return socketFacts(socket);
      },
    };
  }

  readOn(): boolean {
    return this.binding?.readOn() ?? false;
  }

  end(): void {
    const { binding } = this;
    if (binding === null) {
      this.destroy('the connection was closed by us');
      return;
    }
    // RFC 9113 5.2, 6.8: no peer opened a stream here.
    binding.connection.goaway(0, ErrorCode.NO_ERROR);
    binding.end();
  }

  destroy(detail: string): void {
    if (this.binding !== null) {
      this.binding.destroy(detail);
      return;
    }
    if (this.failure === '') this.failure = detail;
    this.socket.destroy();
  }

  private bind(): void {
    const { socket, events, options } = this;
    if (socket.destroyed) return;
    this.stage = 'HTTP/2 SETTINGS';
    socket.off('close', this.onClose);
    socket.once('end', () => {
      this.left = true;
    });
    if (this.security === null) {
      socket.once('data', (first: Buffer) => {
        this.foreign = foreignAnswer(first);
      });
    }
    const binding = bindSocket(socket, {
      create: (connectionEvents) => createConnection('client', options.settings, connectionEvents, options.tally),
      turn: options.turn,
      alarms: options.alarms,
      clock: options.clock,
      prefaceTimeout: options.connectTimeout,
      ...(options.headerTimeout === undefined ? {} : { headerTimeout: options.headerTimeout }),
      events: {
        // Pushes are refused by the engine: a client never hears of a request.
        onRequest() {},
        onSettings: () => {
          this.up = true;
          events.onSettings(binding.connection);
        },
        onGoaway: (_last, code, debug) => events.onGoaway(code, debug),
        onStreamClosed: () => events.onStreamClosed(),
        onFailed: (_code, detail) =>
          events.onFailed(
            this.up ? detail : `connect failed: ${this.foreign ?? `it does not speak HTTP/2: ${detail}`}`,
          ),
        // Before it was up the words for it are those of onClosed.
        onLost: (detail) => {
          if (this.up) events.onFailed(detail);
        },
        onClosed: (detail) => events.onClosed(this.up ? detail : this.neverUp(detail)),
      },
    });
    this.binding = binding;
    binding.start();
  }

  /** Why a connection never came up, from how its socket ended. */
  private neverUp(detail: string): string {
    if (this.failure !== '') return this.failure;
    if (this.foreign !== null) return `connect failed: ${this.foreign}`;
    const early = `${detail} before its HTTP/2 SETTINGS`;
    return this.left ? `${early}; ${silentEnd(this.security)}` : early;
  }
}
