import { expect, it } from 'vitest';
import { describeConnectError, foreignAnswer, silentEnd } from '../../../src/upstream/connect-error.js';
import { formatEndpoint } from '../../../src/upstream/endpoint.js';

function failure(message: string, code?: unknown): Error {
  return code === undefined ? new Error(message) : Object.assign(new Error(message), { code });
}

it('says in words why a connect failed, with the system’s code', () => {
  expect(describeConnectError(failure('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'))).toBe(
    'connect refused (ECONNREFUSED)',
  );
  expect(describeConnectError(failure('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'))).toBe(
    "the backend's certificate is signed by itself; see --backend-ca (DEPTH_ZERO_SELF_SIGNED_CERT)",
  );
});

it('keeps the system’s own words where it knows no better', () => {
  expect(describeConnectError(failure('odd thing', 'EODD'))).toBe('connect failed: odd thing (EODD)');
  expect(describeConnectError(failure('odd thing'))).toBe('connect failed: odd thing');
  expect(describeConnectError(failure('odd thing', 7))).toBe('connect failed: odd thing');
});

it('keeps from the log what OpenSSL says, but for its code', () => {
  const words = '804C:error:0A000001:SSL routines:x:odd:../deps/openssl/x.c:1601:SSL alert number 7\n';
  expect(describeConnectError(failure(words, 'ERR_SSL_ODD'))).toBe('the TLS handshake failed (ERR_SSL_ODD)');
});

it.each([
  ['a TLS alert', [0x15, 3, 1, 0, 2, 2, 70], /^it speaks TLS; see --backend-tls$/],
  ['HTTP/1.x', [...Buffer.from('HTTP/1.1 400 Bad Request')], /^it does not speak HTTP\/2: it answers in HTTP\/1\.x/],
])('knows %s from its first bytes', (_what, bytes, words) => {
  expect(foreignAnswer(Uint8Array.from(bytes))).toMatch(words);
});

it.each([[[]], [[0, 0, 18, 4, 0, 0, 0, 0, 0]], [[0x15]], [[...Buffer.from('HTTP')]]])(
  'takes %j for nothing else than HTTP/2',
  (bytes) => expect(foreignAnswer(Uint8Array.from(bytes))).toBeNull(),
);

it('asks what may be the matter where a backend leaves without a word', () => {
  expect(silentEnd(null)).toContain('--backend-tls');
  expect(silentEnd({ ownCertificate: false })).toContain('ask for a certificate (--backend-cert)');
  expect(silentEnd({ ownCertificate: true })).toContain('accept our certificate');
});

it('writes an endpoint the way it is configured', () => {
  expect(formatEndpoint({ kind: 'tcp', host: '10.0.0.1', port: 80 })).toBe('10.0.0.1:80');
  expect(formatEndpoint({ kind: 'tcp', host: '::1', port: 80 })).toBe('[::1]:80');
  expect(formatEndpoint({ kind: 'unix', path: '/run/b.sock' })).toBe('unix:/run/b.sock');
});
