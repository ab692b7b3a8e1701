import { expect, test } from 'vitest';
import { describeSocketError } from '../../../src/http2/socket-error.js';

/** As OpenSSL words it, through Node. */
const raw = '804C:error:0A00010B:SSL routines:x:y:../deps/openssl/openssl/ssl/record/x.c:330:SSL alert number 42\n';

function failure(code: string | undefined, message = raw): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

test.each([
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'the peer asks for a certificate, and was shown none'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'the peer does not know the issuer of our certificate'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'the peer refuses our certificate: it has expired'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED', 'the peer refuses our certificate: it has been revoked'],
  ['ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE', 'the peer refuses our certificate: it is for another use'],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'the peer refuses our certificate'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', 'the peer refuses our certificate'],
  ['ERR_SSL_TLSV1_ALERT_ACCESS_DENIED', 'the peer refuses our certificate'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'the peer refuses our TLS version'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the peer sent what is no TLS'],
  ['ERR_SSL_BAD_RECORD_TYPE', 'the peer sent what is no TLS'],
  ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'TLS records were damaged on the way'],
  ['ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC', 'TLS records were damaged on the way'],
  ['ERR_SSL_UNHEARD_OF', 'TLS failed'],
  ['EPROTO', 'TLS failed'],
])('TLS-20: %s on a connection that is up is put into words, with its code', (code, words) => {
  expect(describeSocketError(failure(code))).toBe(`${words} (${code})`);
});

test.each([
  ['ECONNRESET', 'the connection was reset by the peer'],
  ['EPIPE', 'the peer closed the connection'],
  ['ETIMEDOUT', 'the connection timed out'],
])('%s is put into words', (code, words) => {
  expect(describeSocketError(failure(code, 'read X'))).toBe(words);
});

test('what has no words here keeps the system’s', () => {
  expect(describeSocketError(failure('ENETDOWN', 'read ENETDOWN'))).toBe('the connection failed: read ENETDOWN');
  expect(describeSocketError(failure(undefined, 'odd'))).toBe('the connection failed: odd');
});
