import { expect, it } from 'vitest';
import { describeConnectError } from '../../../src/upstream/connect-error.js';
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

it('writes an endpoint the way it is configured', () => {
  expect(formatEndpoint({ kind: 'tcp', host: '10.0.0.1', port: 80 })).toBe('10.0.0.1:80');
  expect(formatEndpoint({ kind: 'tcp', host: '::1', port: 80 })).toBe('[::1]:80');
  expect(formatEndpoint({ kind: 'unix', path: '/run/b.sock' })).toBe('unix:/run/b.sock');
});
