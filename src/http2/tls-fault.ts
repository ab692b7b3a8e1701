/**
 * What is wrong with a TLS connection, whichever side found it: the alerts of RFC 8446 6.2 and the codes of OpenSSL for what
 * it finds itself, by kind. A kind has its words where the peer has a name: a client, a backend, or only a peer.
 */
export type TlsFault =
  /** What came is no TLS. */
  | 'notTls'
  /** No version that both speak. */
  | 'version'
  /** No application protocol that both speak (ALPN). */
  | 'protocol'
  /** A certificate is asked for, and none was shown. */
  | 'certificateMissing'
  /** The peer does not know our certificate's issuer. */
  | 'issuerUnknown'
  | 'certificateExpired'
  | 'certificateRevoked'
  /** Our certificate is for another use. */
  | 'certificateUnsupported'
  /** Our certificate is refused, without more of a reason. */
  | 'certificateRefused'
  /** The handshake is refused, without more of a reason. */
  | 'handshakeRefused'
  /** Records do not decrypt, or are none: damaged or tampered with on the way, or the peer has a defect. */
  | 'damaged';

const faults: ReadonlyMap<string, TlsFault> = new Map([
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'notTls'],
  // What newer versions of OpenSSL say of the same on a connection that is up.
  ['ERR_SSL_BAD_RECORD_TYPE', 'notTls'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'version'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'version'],
  ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'protocol'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'certificateMissing'],
  ['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', 'certificateMissing'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'issuerUnknown'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'certificateExpired'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED', 'certificateRevoked'],
  ['ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE', 'certificateUnsupported'],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'certificateRefused'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', 'certificateRefused'],
  ['ERR_SSL_TLSV1_ALERT_ACCESS_DENIED', 'certificateRefused'],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'handshakeRefused'],
  ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'damaged'],
  ['ERR_SSL_CIPHER_OPERATION_FAILED', 'damaged'],
  ['ERR_SSL_INVALID_AAD', 'damaged'],
  ['ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC', 'damaged'],
  ['ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR', 'damaged'],
  ['ERR_SSL_TLSV1_ALERT_DECODE_ERROR', 'damaged'],
]);

/**
 * The kind of fault that an error's code stands for.
 * @returns null where it is none of TLS, or one without a kind of its own (`isTlsCode` tells them apart)
 */
export function tlsFault(code: string): TlsFault | null {
  return faults.get(code) ?? null;
}

/** Whether a code is one of TLS: such an error's message holds OpenSSL's addresses and the names of its source files. */
export function isTlsCode(code: string): boolean {
  // EPROTO is what a write comes to after TLS has failed.
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
}

/** The code of a system's or OpenSSL's error; empty where it has none. */
export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
