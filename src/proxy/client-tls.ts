import tls from 'node:tls';

/** TLS for clients. PEM texts, already checked. */
export interface ClientTls {
  readonly cert: string;
  readonly key: string;
  /** Clients must show a certificate of one of these CAs; null: none is asked for. */
  readonly clientCa: string | null;
}

/**
 * A server that makes TLS connections of the sockets it is given. It stands for one state of the files: another state is
 * another server, so that handshakes under way finish as they began, and no ticket of a session that was let in under an
 * earlier CA lets one in now.
 *
 * @param timeout for a handshake (ms)
 */
export function createHandshakes({ cert, key, clientCa }: ClientTls, timeout: number): tls.Server {
  return tls.createServer({
    cert,
    key,
    ...(clientCa === null ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
    ALPNProtocols: ['h2'],
    minVersion: 'TLSv1.2',
    handshakeTimeout: timeout,
  });
}

/** What OpenSSL found wrong with a client's certificate. */
const verdicts: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'has expired'],
  ['CERT_NOT_YET_VALID', 'is not valid yet'],
  ['INVALID_PURPOSE', 'is not one for clients (extendedKeyUsage)'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not from a CA in --tls-client-ca'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'is not from a CA in --tls-client-ca'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'is not from a CA in --tls-client-ca'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'is not from a CA in --tls-client-ca'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'is not from a CA in --tls-client-ca'],
  ['CERT_SIGNATURE_FAILURE', 'is not from a CA in --tls-client-ca, though it says so'],
]);

/** What a handshake's error says, in words; those without an entry keep their code. */
const causes: ReadonlyMap<string, string> = new Map([
  ['ERR_SSL_HTTP_REQUEST', 'spoke cleartext HTTP on a TLS port'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'spoke something other than TLS on a TLS port'],
  ['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', 'showed no certificate, which --tls-client-ca asks for'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'speaks no TLS version from 1.2 on'],
  ['ERR_SSL_NO_SHARED_CIPHER', 'shares no cipher with us'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'does not trust our certificate: its issuer is unknown there'],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'does not accept our certificate'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', 'does not accept our certificate'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'does not accept our certificate: it has expired'],
]);

/**
 * Why a client's TLS handshake failed, without OpenSSL's file names and addresses.
 *
 * @returns null where the client has only gone away: a probe that connects and leaves has done nothing wrong
 */
export function handshakeProblem(error: Error, socket: tls.TLSSocket, timeout: number): string | null {
  const verdict = verdictOf(socket);
  if (verdict !== '') return `showed a certificate that ${verdicts.get(verdict) ?? `was not accepted (${verdict})`}`;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ECONNRESET') return null;
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return `did not finish its TLS handshake within ${timeout} ms`;
  return causes.get(code) ?? (code === '' ? 'the TLS handshake failed' : `the TLS handshake failed (${code})`);
}

/** Typed as an Error, it is the code of one on the server's side. */
function verdictOf({ authorizationError }: tls.TLSSocket): string {
  const given: unknown = authorizationError;
  return typeof given === 'string' ? given : '';
}
