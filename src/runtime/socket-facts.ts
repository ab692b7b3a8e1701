import type net from 'node:net';
import tls from 'node:tls';

/** Where a socket is, or its peer; `host` is an IP literal. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** What TLS has agreed on; certificates in DER. */
export interface TlsFacts {
  /** The cipher suite's IANA name. */
  readonly cipher: string;
  /** Ours; null: none was shown. */
  readonly local: Uint8Array | null;
  /** The peer's; null: none was shown. */
  readonly remote: Uint8Array | null;
}

/** What a socket knows of itself. An address is null on a unix socket, and once the socket is closed. */
export interface SocketFacts {
  readonly local: SocketAddress | null;
  readonly remote: SocketAddress | null;
  /** Null: cleartext. */
  readonly tls: TlsFacts | null;
}

/** Reads them off an open socket. */
export function socketFacts(socket: net.Socket): SocketFacts {
  return {
    local: addressOf(socket.localAddress, socket.localPort),
    remote: addressOf(socket.remoteAddress, socket.remotePort),
    tls: socket instanceof tls.TLSSocket ? tlsFacts(socket) : null,
  };
}

function addressOf(host: string | undefined, port: number | undefined): SocketAddress | null {
  return host === undefined || port === undefined ? null : { host, port };
}

function tlsFacts(socket: tls.TLSSocket): TlsFacts {
  const { standardName } = socket.getCipher();
  // Not getPeerX509Certificate: on a client's socket Node 20 gives it once, and then no certificate by any call.
  return {
    cipher: standardName,
    local: rawOf(socket.getCertificate()),
    remote: rawOf(socket.getPeerCertificate()),
  };
}

/** Null where there is none, for which Node has null, or an object without properties. */
function rawOf(certificate: object | null): Uint8Array | null {
  return certificate !== null && 'raw' in certificate && certificate.raw instanceof Uint8Array ? certificate.raw : null;
}
