import net from 'node:net';
import tls from 'node:tls';
import {
  CallCredentials,
  ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
} from '@grpc/grpc-js';
import { type BackendTls, nameCheck, secureContextOf } from './connect.js';
import { authorityOf } from './endpoint.js';
import { decodeHealthResponse, encodeHealthRequest, watchPath } from './health-messages.js';
import type { OpenWatch } from './health-watch.js';
import type { Endpoint } from './types.js';

/** Stock servers put up with a PING every five minutes (see keepalive.ts): a connection that died silently is noticed so late. */
const keepaliveTime = 310_000;
const keepaliveTimeout = 20_000;
/** A HealthCheckResponse has a few bytes; what is larger is none. */
const maxResponseBytes = 4096;

const options: ClientOptions = {
  // One connection a stream, closed with it: each try is a connect of its own, when the watch says so.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // The data path goes through none either.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  'grpc.keepalive_time_ms': keepaliveTime,
  'grpc.keepalive_timeout_ms': keepaliveTimeout,
  'grpc.max_receive_message_length': maxResponseBytes,
};

/**
 * Opens Watch at one backend, on a connection beside those of the calls.
 *
 * @param host the name that led to the endpoint; null: none did
 * @param service what is asked for; empty: the whole server
 * @param tlsNow asked at each connect: certificates may have changed; null: cleartext. Its texts are valid ones
 */
export function watchOf(
  endpoint: Endpoint,
  host: string | null,
  service: string,
  tlsNow: () => BackendTls | null,
): OpenWatch {
  const request = encodeHealthRequest(service);
  return (events) => {
    const secure = tlsNow();
    const client = new Client(
      targetOf(endpoint),
      secure === null
        ? credentials.createInsecure()
        : new WatchCredentials(endpoint, { ...secure, serverName: secure.serverName ?? host }),
      { ...options, 'grpc.default_authority': authorityOf(endpoint) },
    );
    let over = false;
    const call: ClientReadableStream<number> = client.makeServerStreamRequest(
      watchPath,
      (bytes: Buffer) => bytes,
      decodeHealthResponse,
      request,
    );
    call.on('data', (status: number) => {
      if (!over) events.onStatus(status);
    });
    // What it says comes as the status as well.
    call.on('error', () => {});
    call.on('status', ({ code, details }) => {
      client.close();
      if (over) return;
      over = true;
      events.onEnded(code, details);
    });
    return {
      cancel() {
        if (over) return;
        over = true;
        call.cancel();
        client.close();
      },
    };
  };
}

/** As grpc-js reads names: with a scheme, so that nothing in them is guessed. */
function targetOf(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const { host, port } = endpoint;
  switch (net.isIP(host)) {
    case 4:
      return `ipv4:${host}:${port}`;
    case 6:
      return `ipv6:[${host}]:${port}`;
    default:
      return `dns:${host}:${port}`;
  }
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * TLS as the connections of the calls have it. grpc-js's own sends an IP address as SNI, which RFC 6066 3 forbids and Node
 * warns of, and cannot be told to check one name and send none.
 */
class WatchCredentials extends ChannelCredentials {
  private readonly endpoint: Endpoint;
  private readonly serverName: string | null;
  private readonly context: tls.SecureContext;

  constructor(endpoint: Endpoint, secure: BackendTls) {
    super();
    this.endpoint = endpoint;
    this.serverName = secure.serverName;
    this.context = secureContextOf(secure);
  }

  override compose(): ChannelCredentials {
    return this;
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(): Connector {
    const { endpoint, serverName, context } = this;
    return {
      connect: (socket) =>
        new Promise((resolve, reject) => {
          const secured = tls.connect({
            socket,
            ...(endpoint.kind === 'tcp' ? { host: endpoint.host } : {}),
            secureContext: context,
            ALPNProtocols: ['h2'],
            ...nameCheck(serverName),
          });
          secured.once('secureConnect', () => {
            if (secured.alpnProtocol === 'h2') resolve({ socket: secured, secure: true });
            else secured.destroy(new Error('the backend does not offer HTTP/2 over TLS (ALPN h2)'));
          });
          // Stays: the socket's errors after the handshake are the HTTP/2 session's to tell, and must not be thrown.
          secured.on('error', reject);
          secured.once('close', () => reject(new Error('the connection was closed in the TLS handshake')));
        }),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => CallCredentials.createEmpty(),
      destroy() {},
    };
  }
}
