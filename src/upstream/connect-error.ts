import { codeOf, isTlsCode, type TlsFault, tlsFault } from '../http2/tls-fault.js';

/** What Node says of a socket that could not be connected, in words; those without an entry keep Node's own. */
const causes: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connect refused'],
  ['ECONNRESET', 'the connection was reset while connecting'],
  ['EHOSTUNREACH', 'connect failed: no route to the host'],
  ['ENETUNREACH', 'connect failed: no route to the network'],
  ['ETIMEDOUT', 'connect timed out'],
  ['ENOENT', 'connect failed: there is no such socket'],
  ['EACCES', 'connect failed: permission denied'],
  ['EADDRNOTAVAIL', 'connect failed: no local address or port is free'],
  ['EMFILE', 'connect failed: this process has too many open files'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the backend's certificate is for another name; see --backend-server-name"],
  ['CERT_NOT_YET_VALID', "the backend's certificate is not valid yet"],
  ['INVALID_PURPOSE', "the backend's certificate is not one for servers"],
  ['CERT_HAS_EXPIRED', "the backend's certificate has expired"],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', "the backend's certificate is signed by itself; see --backend-ca"],
  ['SELF_SIGNED_CERT_IN_CHAIN', "the backend's certificate has an unknown issuer; see --backend-ca"],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', "the backend's certificate has an unknown issuer; see --backend-ca"],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', "the backend's certificate has an unknown issuer; see --backend-ca"],
]);

/** What a backend and we cannot agree on in the TLS handshake. */
const faultWords: Readonly<Record<TlsFault, string>> = {
  notTls: 'the TLS handshake failed: the backend does not speak TLS',
  version: 'the backend speaks no TLS version from 1.2 on',
  protocol: 'the backend refuses HTTP/2 over TLS (ALPN h2)',
  certificateMissing: 'the backend asks for a certificate; see --backend-cert',
  issuerUnknown: 'the backend does not know the issuer of our certificate; see --backend-cert',
  certificateExpired: 'the backend refuses our certificate: it has expired; see --backend-cert',
  certificateRevoked: 'the backend refuses our certificate: it has been revoked; see --backend-cert',
  certificateUnsupported: 'the backend refuses our certificate: it is not one for clients; see --backend-cert',
  certificateRefused: 'the backend refuses our certificate; see --backend-cert',
  handshakeRefused: 'the backend refuses the TLS handshake; it may ask for --backend-cert',
  damaged: 'the TLS handshake failed: its records were damaged on the way',
};

/** A connect's error as `connect refused (ECONNREFUSED)`. */
export function describeConnectError(error: Error): string {
  const code = codeOf(error);
  if (code === '') return `connect failed: ${error.message}`;
  const fault = tlsFault(code);
  const cause = fault === null ? causes.get(code) : faultWords[fault];
  if (cause !== undefined) return `${cause} (${code})`;
  return isTlsCode(code) ? `the TLS handshake failed (${code})` : `connect failed: ${error.message} (${code})`;
}

/** A backend that goes away in the TLS handshake without a word of TLS, as cleartext servers do. */
export const leftHandshake = 'the backend closed the connection in the TLS handshake; does it speak TLS?';

/**
 * What its first bytes tell of a backend that was spoken to in cleartext HTTP/2, and does not answer so: a TLS alert, or the
 * HTTP/1.x answer that some servers have for cleartext on their TLS port.
 *
 * @returns null where they tell nothing
 */
export function foreignAnswer(first: Uint8Array): string | null {
  if (first[0] === 0x15 && first[1] === 0x03) return 'it speaks TLS; see --backend-tls';
  const text = Buffer.from(first.subarray(0, 5)).toString('latin1');
  return text === 'HTTP/'
    ? 'it does not speak HTTP/2: it answers in HTTP/1.x, as some TLS ports do (--backend-tls)'
    : null;
}

/** What may be the matter where a backend ends a connection before its SETTINGS, and gives no reason. */
export function silentEnd(tls: { readonly ownCertificate: boolean } | null): string {
  if (tls === null) return 'does it speak TLS (--backend-tls)?';
  return tls.ownCertificate
    ? 'does it accept our certificate (--backend-cert)?'
    : 'does it ask for a certificate (--backend-cert)?';
}
