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
  ['EPROTO', 'the TLS handshake failed'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed: the backend does not speak TLS'],
  ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'the backend refuses HTTP/2 over TLS (ALPN h2)'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the backend's certificate is for another name; see --backend-server-name"],
  ['CERT_HAS_EXPIRED', "the backend's certificate has expired"],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', "the backend's certificate is signed by itself; see --backend-ca"],
  ['SELF_SIGNED_CERT_IN_CHAIN', "the backend's certificate has an unknown issuer; see --backend-ca"],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', "the backend's certificate has an unknown issuer; see --backend-ca"],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', "the backend's certificate has an unknown issuer; see --backend-ca"],
]);

/** A connect's error as `connect refused (ECONNREFUSED)`. */
export function describeConnectError(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '') return `connect failed: ${error.message}`;
  const cause = causes.get(code);
  return cause === undefined ? `connect failed: ${error.message} (${code})` : `${cause} (${code})`;
}
