import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Admin, type AdminOptions, createAdmin } from '../../../src/admin/server.js';
import { type BindAddress, bindServer } from '../../../src/runtime/bind-server.js';
import { alive } from '../../support/alive.js';
import { World } from '../../unit/admin/backends.js';

const loopback: BindAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 };
const started: Admin[] = [];
afterEach(async () => {
  for (const admin of started.splice(0)) await alive('the admin listener to stop', admin.stop());
});

async function start(listen: BindAddress, rest: Partial<AdminOptions> = {}): Promise<Admin> {
  const admin = createAdmin({
    bind: (server) => bindServer(server, '--admin', listen),
    listen,
    hosts: [],
    token: null,
    state: new World([]),
    onDefect: () => {},
    ...rest,
  });
  await admin.start();
  started.push(admin);
  return admin;
}

function portOf({ address }: Admin): number {
  return Number(address?.split(':').at(-1));
}

interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

function ask(to: http.RequestOptions): Promise<Reply> {
  return alive(
    `an answer to ${to.path}`,
    new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', agent: false, ...to }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      request.on('error', reject);
      request.end();
    }),
  );
}

/** Sends bytes as they are; all that comes back until the other side closes. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await alive('the connection to close', once(socket, 'close'));
  return text;
}

test('answers are JSON, whole, not to be kept and not to be guessed at', async () => {
  const port = portOf(await start(loopback));
  const { status, headers, text } = await ask({ port, path: '/healthz' });
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({ status: 'alive' });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(text.length),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
});

test('HEAD has the length and no body', async () => {
  const port = portOf(await start(loopback));
  const { status, headers, text } = await ask({ port, path: '/healthz', method: 'HEAD' });
  expect([status, headers['content-length'], text]).toEqual([200, '19', '']);
});

test('a name that could be rebound is refused, one given by --admin-host is not', async () => {
  const port = portOf(await start(loopback, { hosts: ['Proxy.Example.com'] }));
  expect((await ask({ port, path: '/healthz', headers: { host: 'evil.example' } })).status).toBe(421);
  expect((await ask({ port, path: '/healthz', headers: { host: 'proxy.example.com' } })).status).toBe(200);
});

test('bound beyond loopback a POST needs the token; the token alone does', async () => {
  const port = portOf(await start({ kind: 'tcp', host: '0.0.0.0', port: 0 }, { token: 'a secret' }));
  const post = async (authorization: string | undefined): Promise<number> => {
    const headers = authorization === undefined ? {} : { authorization };
    return (await ask({ port, path: '/healthz', method: 'POST', headers })).status;
  };
  expect(await post(undefined)).toBe(401);
  expect(await post('Bearer a secres')).toBe(401);
  expect(await post('Bearer a secret and more')).toBe(401);
  expect(await post('Bearer a secret')).toBe(405);
});

test.each([null, ''])('bound beyond loopback with %j for a token no POST is let through', async (token) => {
  const port = portOf(await start({ kind: 'tcp', host: '0.0.0.0', port: 0 }, { token }));
  for (const authorization of ['Bearer ', 'Bearer null', 'Bearer x']) {
    expect((await ask({ port, path: '/healthz', method: 'POST', headers: { authorization } })).status).toBe(401);
  }
});

test('on loopback, by address or by name, a POST needs no token', async () => {
  for (const host of ['127.0.0.1', '127.0.0.9', 'localhost']) {
    const admin = await start({ kind: 'tcp', host, port: 0 });
    const at = host === 'localhost' ? 'localhost' : host;
    expect((await ask({ host: at, port: portOf(admin), path: '/healthz', method: 'POST' })).status).toBe(405);
  }
});

test('a unix socket is served, whatever the Host', async () => {
  const file = path.join(tmpdir(), `hedgerow-admin-${process.pid}.sock`);
  const admin = await start({ kind: 'unix', path: file });
  expect(admin.address).toBe(`unix:${file}`);
  expect((await ask({ socketPath: file, path: '/healthz', headers: { host: 'anything' } })).status).toBe(200);
});

test('a body is not listened to: the answer comes and the connection closes', async () => {
  const port = portOf(await start(loopback));
  const head = 'POST /healthz HTTP/1.1\r\nhost: localhost\r\n';
  const text = await exchange(port, `${head}content-length: 1000000\r\n\r\nxxx`);
  expect(text).toMatch(/^HTTP\/1\.1 405 /);
  expect(text.toLowerCase()).toContain('connection: close');
  expect(await exchange(port, `${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`)).toMatch(/^HTTP\/1\.1 405 /);
});

test('what is no HTTP is told so in JSON', async () => {
  const port = portOf(await start(loopback));
  const text = await exchange(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(JSON.parse(body)).toEqual({ error: 'this is no HTTP/1.1 request' });
});

test('headers over 16 KiB are refused', async () => {
  const port = portOf(await start(loopback));
  const text = await exchange(port, `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(17_000)}`);
  expect(text).toMatch(/^HTTP\/1\.1 431 /);
});

test('silent connections hold every place for seconds at most: then whoever comes is answered', async () => {
  const port = portOf(await start(loopback));
  const silent = Array.from({ length: 256 }, () => net.connect({ port, host: '127.0.0.1' }));
  const gone = silent.map((socket) => once(socket, 'close'));
  for (const socket of silent) socket.resume();
  await alive('all places to be held', Promise.all(silent.map((socket) => once(socket, 'connect'))));
  await expect(ask({ port, path: '/healthz' })).rejects.toThrow();
  await alive('the silent ones to be closed', Promise.all(gone));
  expect((await ask({ port, path: '/healthz' })).status).toBe(200);
});

test('ADM-31: what another site’s page loads is refused, whatever it is; what it links to is not', async () => {
  const port = portOf(await start(loopback));
  const page = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' };
  for (const path of ['/', '/healthz', '/metrics', '/events', '/backends']) {
    const { status, text } = await ask({ port, path, headers: page });
    expect([status, text]).toEqual([403, '{"error":"a page of another site may link to this, not load it"}\n']);
  }
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
  expect((await ask({ port, path: '/healthz', headers: link })).status).toBe(200);
  expect((await ask({ port, path: '/healthz', headers: { ...link, 'sec-fetch-dest': 'iframe' } })).status).toBe(403);
});

test('stop waits for no kept connection', async () => {
  const admin = await start(loopback);
  const agent = new http.Agent({ keepAlive: true });
  await ask({ port: portOf(admin), path: '/healthz', agent });
  const idle = net.connect({ port: portOf(admin), host: '127.0.0.1' });
  await once(idle, 'connect');
  const closed = once(idle, 'close');
  await alive('the admin listener to stop', admin.stop());
  await alive('the idle connection to close', closed);
  agent.destroy();
});

test('an address in use is one sentence with the flag and the address', async () => {
  const port = portOf(await start(loopback));
  await expect(start({ ...loopback, port })).rejects.toThrow(`--admin 127.0.0.1:${port}: the address is in use`);
});

test('a defect ends one request with 500 and is told; the next one is answered', async () => {
  const defects: unknown[] = [];
  const world = new World([]);
  const broken = new Error('broken');
  const fail = (): never => {
    throw broken;
  };
  Object.assign(world, { throttle: fail, program: { phase: 'running', reload: () => Promise.reject(broken) } });
  const admin = await start(loopback, { state: world, onDefect: (error) => defects.push(error) });
  const to = { host: '127.0.0.1', port: portOf(admin) };
  for (const [method, path] of [
    ['GET', '/throttle'],
    ['POST', '/reload'],
  ] as const) {
    const { status, text } = await ask({ ...to, method, path });
    expect([status, text]).toEqual([500, expect.stringMatching(/^\{"error":"a defect of the proxy .*"\}\n$/)]);
  }
  expect(defects).toEqual([broken, broken]);
  expect((await ask({ ...to, path: '/healthz' })).status).toBe(200);
});
