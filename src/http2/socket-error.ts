import { codeOf, isTlsCode, type TlsFault, tlsFault } from './tls-fault.js';

/** What ends a connection that was up. A TLS 1.3 peer judges our certificate when the handshake is over for us. */
const faultWords: Readonly<Record<TlsFault, string>> = {
  notTls: 'the peer sent what is no TLS',
  version: 'the peer refuses our TLS version',
  protocol: 'the peer refuses HTTP/2 over TLS (ALPN h2)',
  certificateMissing: 'the peer asks for a certificate, and was shown none',
  issuerUnknown: 'the peer does not know the issuer of our certificate',
  certificateExpired: 'the peer refuses our certificate: it has expired',
  certificateRevoked: 'the peer refuses our certificate: it has been revoked',
  certificateUnsupported: 'the peer refuses our certificate: it is for another use',
  certificateRefused: 'the peer refuses our certificate',
  handshakeRefused: 'the peer refuses the TLS handshake',
  damaged: 'TLS records were damaged on the way',
};

const systemWords: ReadonlyMap<string, string> = new Map([
  ['ECONNRESET', 'the connection was reset by the peer'],
  ['EPIPE', 'the peer closed the connection'],
  ['ETIMEDOUT', 'the connection timed out'],
]);

/**
 * The error of a socket that was connected, in a few words. The system's own words stand for what has none here; those of
 * OpenSSL never do: they hold addresses and the names of its source files.
 */
export function describeSocketError(error: Error): string {
  const code = codeOf(error);
  const words = systemWords.get(code);
  if (words !== undefined) return words;
  const fault = tlsFault(code);
  if (fault !== null) return `${faultWords[fault]} (${code})`;
  return isTlsCode(code) ? `TLS failed (${code})` : `the connection failed: ${error.message}`;
}
