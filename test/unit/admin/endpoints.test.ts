import { expect, test } from 'vitest';
import type { RequestFacts } from '../../../src/admin/admission.js';
import { type Answer, createEndpoints } from '../../../src/admin/endpoints.js';
import type { UpstreamBackend } from '../../../src/upstream/types.js';
import { backend, down } from './backends.js';

interface World {
  draining?: boolean;
  backends?: readonly UpstreamBackend[];
  beyondLoopback?: boolean;
}

function ask(url: string, world: World = {}, facts: Partial<RequestFacts> = {}): Answer {
  const { draining = false, backends = [backend()], beyondLoopback = false } = world;
  const answer = createEndpoints(
    { draining: () => draining, backends: () => backends, now: () => 1000 },
    { hosts: new Set(), beyondLoopback, isToken: () => false },
  );
  const plain = { method: 'GET', host: 'localhost', origin: undefined, fetchSite: undefined, authorization: undefined };
  return answer({ ...plain, ...facts }, url);
}

test('/healthz says alive, whatever else is wrong', () => {
  expect(ask('/healthz')).toEqual({ status: 200, body: { status: 'alive' } });
  expect(ask('/healthz', { draining: true, backends: [] }).status).toBe(200);
});

test('/readyz is 200 while one backend has a live connection', () => {
  expect(ask('/readyz', { backends: [down, backend(), backend()] })).toEqual({
    status: 200,
    body: { status: 'ready', connected_backends: 2 },
  });
});

test('/readyz is 503 while no backend has a live connection', () => {
  const message = { status: 503, body: { status: 'no backend has a live connection' } };
  expect(ask('/readyz', { backends: [] })).toEqual(message);
  expect(ask('/readyz', { backends: [down] })).toEqual(message);
  expect(ask('/readyz', { backends: [backend({ link: 'full', connections: 0, queued: 1000 })] })).toEqual(message);
});

test('/readyz is 503 while draining, though backends are up', () => {
  expect(ask('/readyz', { draining: true })).toEqual({ status: 503, body: { status: 'draining' } });
});

test('/backends is an object with a row for each backend, in order', () => {
  const { status, body } = ask('/backends', { backends: [backend(), down] });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    backends: [
      { name: 'b1', state: 'ready' },
      { name: 'b2', state: 'down', next_connect_in_ms: 250 },
    ],
  });
});

test('a query changes nothing; HEAD is answered as GET', () => {
  expect(ask('/healthz?x=1/2')).toEqual(ask('/healthz'));
  expect(ask('/readyz', {}, { method: 'HEAD' })).toEqual(ask('/readyz'));
});

test.each(['/', '/healthz/', '/HEALTHZ', '//healthz', '*', 'constructor', '__proto__', 'http://localhost/healthz', ''])(
  'there is no %s',
  (url) => {
    const { status, body } = ask(url);
    expect(status).toBe(404);
    expect(body).toEqual({ error: expect.stringContaining('see /healthz, /readyz, /backends') });
  },
);

test('a long path is not repeated whole', () => {
  expect(JSON.stringify(ask(`/${'x'.repeat(10_000)}`).body).length).toBeLessThan(200);
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
  '%s on an endpoint that only answers GET is 405 with allow',
  (method) => {
    const { status, headers, body } = ask('/backends', {}, { method });
    expect(status).toBe(405);
    expect(headers).toEqual({ allow: 'GET, HEAD' });
    expect(body).toEqual({ error: '/backends answers GET and HEAD' });
  },
);

test('what is not admitted gets no answer but the refusal, for paths that are not there too', () => {
  expect(ask('/backends', {}, { host: 'evil.example' })).toEqual({
    status: 421,
    body: { error: expect.stringContaining('--admin-host') },
  });
  expect(ask('/nothing', {}, { host: 'evil.example' }).status).toBe(421);
  expect(ask('/backends', { beyondLoopback: true }, { method: 'POST' })).toEqual({
    status: 401,
    body: { error: expect.stringContaining('--admin-token-file') },
    headers: { 'www-authenticate': 'Bearer' },
  });
});
