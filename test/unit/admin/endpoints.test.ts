import { expect, test } from 'vitest';
import { ask } from './ask.js';
import { backend, down, World } from './backends.js';

test('/healthz says alive, whatever else is wrong', () => {
  expect(ask('/healthz', new World())).toEqual({ status: 200, body: { status: 'alive' } });
  const world = new World([]);
  world.isDraining = true;
  expect(ask('/healthz', world).status).toBe(200);
});

test('/readyz is 200 while one backend has a live connection', () => {
  expect(ask('/readyz', new World([down, backend(), backend()]))).toEqual({
    status: 200,
    body: { status: 'ready', connected_backends: 2 },
  });
});

test('/readyz is 503 while no backend has a live connection', () => {
  const message = { status: 503, body: { status: 'no backend has a live connection' } };
  expect(ask('/readyz', new World([]))).toEqual(message);
  expect(ask('/readyz', new World([down]))).toEqual(message);
  const full = backend({ link: 'full', connections: 0, queued: 1000 });
  expect(ask('/readyz', new World([full]))).toEqual(message);
});

test('ADM-20: parks do not count for /readyz, nor do drains while a connection is up', () => {
  const world = new World();
  world.health.of(backend().id).park(null, world.time);
  expect(ask('/readyz', world).status).toBe(200);
  expect(ask('/readyz', new World([backend({ phase: 'leaving' })])).status).toBe(200);
  expect(ask('/readyz', new World([backend({ phase: 'left', connections: 0 })])).status).toBe(503);
});

test('/backends counts the streams at an address that a backend had before', () => {
  const world = new World([backend({ inFlight: 2 })]);
  world.atOldAddress = 3;
  expect(ask('/backends', world).body).toMatchObject({ backends: [{ in_flight: 5 }] });
});

test('/readyz is 503 while draining, though backends are up', () => {
  const world = new World();
  world.isDraining = true;
  expect(ask('/readyz', world)).toEqual({ status: 503, body: { status: 'draining' } });
});

test('/backends is an object with a row for each backend, in order', () => {
  const { status, body } = ask('/backends', new World([backend(), down]));
  expect(status).toBe(200);
  expect(body).toMatchObject({
    backends: [
      { name: 'b1', state: 'ready', source: 'flags', since_ms: 0 },
      { name: 'b2', state: 'down', next_connect_in_ms: 250, since_ms: 600 },
    ],
  });
});

test('a query changes nothing; HEAD is answered as GET', () => {
  const world = new World();
  expect(ask('/healthz?x=1/2', world)).toEqual(ask('/healthz', world));
  expect(ask('/readyz', world, { method: 'HEAD' })).toEqual(ask('/readyz', world));
});

test.each([
  ...['/healthz/', '/HEALTHZ', '//healthz', '*', 'constructor', '__proto__', 'http://localhost/healthz', ''],
  ...[
    '/backends/',
    '/backends/b1',
    '/backends/b1/',
    '/backends//park',
    '/backends/b1/kill',
    '/backends/*',
    '/x/b1/park',
  ],
  ...['/backends/b1/constructor', '/sessions/', '/sessions/clear/x'],
])('there is no %s', (url) => {
  for (const method of ['GET', 'POST']) {
    const { status, body } = ask(url, new World(), { method });
    expect(status).toBe(404);
    expect(body).toEqual({ error: expect.stringContaining('see /healthz, /readyz, /metrics, /backends') });
  }
});

test('a long path is not repeated whole', () => {
  for (const path of [`/${'x'.repeat(10_000)}`, `/backends/${'x'.repeat(10_000)}/park`]) {
    expect(JSON.stringify(ask(path, new World(), { method: 'POST' }).body).length).toBeLessThan(600);
  }
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
  '%s on an endpoint that only answers GET is 405 with allow',
  (method) => {
    const { status, headers, body } = ask('/backends', new World(), { method });
    expect(status).toBe(405);
    expect(headers).toEqual({ allow: 'GET, HEAD' });
    expect(body).toEqual({ error: '/backends answers GET and HEAD' });
  },
);

test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'post'])(
  '%s on an endpoint that acts is 405, and does nothing',
  (method) => {
    const world = new World();
    for (const path of ['/backends/b1/park', '/backends/b1/drain', '/backends/b1/lost', '/sessions/clear']) {
      const { status, headers, body } = ask(path, world, { method });
      expect(status).toBe(405);
      expect(headers).toEqual({ allow: 'POST' });
      expect(body).toEqual({ error: `${path} answers POST` });
    }
    expect([world.orders, world.changes, world.lines]).toEqual([[], [], []]);
  },
);

test('what is not admitted gets no answer but the refusal, for paths that are not there too', () => {
  const world = new World();
  expect(ask('/backends', world, { host: 'evil.example' })).toEqual({
    status: 421,
    body: { error: expect.stringContaining('--admin-host') },
  });
  expect(ask('/nothing', world, { host: 'evil.example' }).status).toBe(421);
  expect(ask('/backends', world, { method: 'POST' }, { beyondLoopback: true })).toEqual({
    status: 401,
    body: { error: expect.stringContaining('--admin-token-file') },
    headers: { 'www-authenticate': 'Bearer' },
  });
});
