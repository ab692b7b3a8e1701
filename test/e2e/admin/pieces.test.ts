import { once } from 'node:events';
import http from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type Admin, createAdmin } from '../../../src/admin/server.js';
import { SharedText } from '../../../src/admin/shared-text.js';
import { bindServer } from '../../../src/runtime/bind-server.js';
import { alive } from '../../support/alive.js';
import { World } from '../../unit/admin/backends.js';

const started: Admin[] = [];
afterEach(async () => {
  for (const admin of started.splice(0)) await alive('the admin listener to stop', admin.stop());
});

/** Where /metrics answers what `render` makes, and what went wrong there. */
async function start(
  render: () => Iterable<string>,
): Promise<{ url: string; defects: unknown[]; metrics: SharedText }> {
  const defects: unknown[] = [];
  const metrics = new SharedText(render, turn, () => 0);
  const admin = createAdmin({
    bind: (server) => bindServer(server, '--admin', { kind: 'tcp', host: '127.0.0.1', port: 0 }),
    listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    hosts: [],
    token: null,
    state: Object.assign(new World([]), { metrics }),
    onDefect: (error) => defects.push(error),
  });
  await admin.start();
  started.push(admin);
  return { url: `http://${admin.address}/metrics`, defects, metrics };
}

/** A response of which nothing is read yet. */
async function open(url: string): Promise<http.IncomingMessage> {
  const request = http.get(url, { agent: false });
  const [response] = (await alive('an answer', once(request, 'response'))) as [http.IncomingMessage];
  return response;
}

async function bytesOf(response: http.IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const part of response) bytes += (part as Buffer).length;
  return bytes;
}

test('the pieces of /metrics are one text; HEAD has none made', async () => {
  let begun = 0;
  const { url } = await start(() => {
    begun += 1;
    return ['a 1\n', '', 'b 2\n'];
  });
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text(), begun]).toEqual([200, null, '', 0]);
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await response.text()).toBe('a 1\nb 2\n');
  expect(await (await fetch(url)).text()).toBe('a 1\nb 2\n');
  expect(begun).toBe(2);
});

test('a fault before the first piece is answered 500, a later one cuts the answer off', async () => {
  let pieces: string[] = [];
  const { url, defects } = await start(function* () {
    yield* pieces;
    throw new Error('broken');
  });
  const early = await fetch(url);
  expect([early.status, await early.json()]).toEqual([
    500,
    { error: expect.stringContaining('a defect of the proxy') },
  ]);
  expect(defects).toEqual([new Error('broken')]);
  pieces = ['a 1\n'];
  const late = await fetch(url);
  expect(late.status).toBe(200);
  await expect(late.text()).rejects.toThrow();
  expect(defects).toEqual([new Error('broken'), new Error('broken')]);
});

test('no more is made than its reader takes', async () => {
  const size = 1024 * 1024;
  let made = 0;
  const { url } = await start(function* () {
    for (let at = 0; at < 64; at += 1) {
      made += 1;
      yield 'x'.repeat(size);
    }
  });
  const response = await open(url);
  for (let before = 0; before !== made; ) {
    before = made;
    for (let at = 0; at < 200; at += 1) await turn();
  }
  // What the kernel and the streams on both sides hold.
  expect(made).toBeLessThan(32);
  expect(await alive('the rest', bytesOf(response))).toBe(64 * size);
  expect(made).toBe(64);
});

test('a reader that goes away has nothing made for it any more', async () => {
  let begun = 0;
  const { url } = await start(function* () {
    begun += 1;
    for (;;) yield 'x'.repeat(65_536);
  });
  (await open(url)).destroy();
  // As long as the first is read, whoever comes reads the same one.
  await alive(
    'a rendering of its own',
    (async () => {
      while (begun < 2) (await open(url)).destroy();
    })(),
  );
});

test('what is too much at a time is refused', async () => {
  const admin = await start(() => []);
  Object.defineProperty(admin.metrics, 'full', { value: true });
  const response = await fetch(admin.url);
  expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
    503,
    '5',
    { error: expect.stringContaining('scrapes are under way') },
  ]);
});
