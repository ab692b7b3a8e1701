import { constants } from 'node:crypto';
import tls from 'node:tls';
import { codeOf, type TlsFault, tlsFault } from '../http2/tls-fault.js';

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
    // RFC 9113 9.2.1. Node would let a TLS 1.2 client have three in ten minutes.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
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

/** What a client and we cannot agree on in the TLS handshake. */
const faultWords: Readonly<Record<TlsFault, string>> = {
  notTls: 'spoke something other than TLS on a TLS port',
  version: 'speaks no TLS version from 1.2 on',
  protocol: 'did not agree to the ALPN protocol h2',
  certificateMissing: 'showed no certificate, which --tls-client-ca asks for',
  issuerUnknown: 'does not trust our certificate: its issuer is unknown there',
  certificateExpired: 'does not accept our certificate: it has expired',
  certificateRevoked: 'does not accept our certificate: it has been revoked',
  certificateUnsupported: 'does not accept our certificate: it is not one for servers',
  certificateRefused: 'does not accept our certificate',
  handshakeRefused: 'refuses the TLS handshake',
  damaged: 'sent TLS records that were damaged on the way',
};

/** What only a server meets. */
const causes: ReadonlyMap<string, string> = new Map([
  ['ERR_SSL_HTTP_REQUEST', 'spoke cleartext HTTP on a TLS port'],
  ['ERR_SSL_NO_SHARED_CIPHER', 'shares no cipher with us'],
]);

/**
 * Why a client's TLS handshake failed, without OpenSSL's file names and addresses.
 *
 * @returns null where the client has only gone away: a probe that connects and leaves has done nothing wrong
 */
export function handshakeProblem(error: Error, socket: tls.TLSSocket, timeout: number): string | null {
  const verdict = verdictOf(socket);
  if (verdict !== '') return `showed a certificate that ${verdicts.get(verdict) ?? `was not accepted (${verdict})`}`;
  const code = codeOf(error);
  if (code === 'ECONNRESET') return null;
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return `did not finish its TLS handshake within ${timeout} ms`;
  const fault = tlsFault(code);
  if (fault !== null) return faultWords[fault];
  return causes.get(code) ?? (code === '' ? 'the TLS handshake failed' : `the TLS handshake failed (${code})`);
}

/** Typed as an Error, it is the code of one on the server's side. */
function verdictOf({ authorizationError }: tls.TLSSocket): string {
  const given: unknown = authorizationError;
  return typeof given === 'string' ? given : '';
}
