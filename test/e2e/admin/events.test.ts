import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { AdminState } from '../../../src/admin/admin-state.js';
import { createEventHub, mostStreams } from '../../../src/admin/event-hub.js';
import { type Admin, createAdmin } from '../../../src/admin/server.js';
import { bindServer } from '../../../src/runtime/bind-server.js';
import { alive } from '../../support/alive.js';
import { type EventReader, readEvents } from '../../support/event-reader.js';
import { backend, live } from '../../support/live.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';
import { World } from '../../unit/admin/backends.js';
import { failed } from '../../unit/admin/call-records.js';

/*
 * The streams of /events on real sockets; their time is virtual.
 */

const loopback = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Stage {
  readonly admin: Admin;
  readonly address: string;
  readonly time: VirtualTime;
  readonly world: World;
  /** The listener's side of each connection. */
  readonly sockets: readonly Socket[];
  read(lastEventId?: string): Promise<EventReader>;
}

/** @param backends each makes a snapshot longer by some 800 bytes */
async function start(backends = 1): Promise<Stage> {
  const time = createVirtualTime();
  const world = new World();
  const snapshot = live({ backends: Array.from({ length: backends }, (_, at) => backend(`b${at}`)) });
  const source = { instance: 'first', ring: world.ring, snapshot: () => snapshot };
  const watch: AdminState['watch'] = { ...source, hub: createEventHub(time, source, () => {}) };
  const sockets: Socket[] = [];
  const admin = createAdmin({
    bind(server) {
      server.on('connection', (socket: Socket) => sockets.push(socket));
      return bindServer(server, '--admin', loopback);
    },
    listen: loopback,
    hosts: [],
    token: null,
    state: Object.assign(world, { watch }),
    onDefect: () => {},
  });
  await admin.start();
  closing.push(() => alive('the admin listener to stop', admin.stop()));
  const address = admin.address ?? '';
  return {
    admin,
    address,
    time,
    world,
    sockets,
    async read(lastEventId) {
      const reader = await readEvents(address, lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
      closing.push(() => reader.close());
      return reader;
    },
  };
}

const isLive = ({ event }: { readonly event: string }): boolean => event === 'live';

test('a reader that does not read costs bounded memory, and is cut off after 15 s', async () => {
  const stage = await start(1200);
  const reader = await stage.read();
  await reader.until('a snapshot', isLive);
  const size = reader.text.length;
  expect(size).toBeGreaterThan(500_000);
  reader.pause();
  const [socket] = stage.sockets;
  if (socket === undefined) throw new Error('there is no connection');
  let most = 0;
  let seconds = 0;
  // Until the kernel's buffers are full the reader is none of ours to tell from one that reads.
  for (; !socket.destroyed && seconds < 200; seconds += 1) {
    stage.time.advance(1000);
    most = Math.max(most, socket.writableLength);
    await new Promise(setImmediate);
  }
  expect(socket.destroyed).toBe(true);
  expect(seconds).toBeGreaterThanOrEqual(15);
  expect(most).toBeGreaterThan(1024 * 1024);
  expect(most).toBeLessThan(1024 * 1024 + 2 * size);
  if (!socket.closed) await once(socket, 'close');
  expect(stage.time.alarms.pending).toBe(0);
});

test('a reader that reads again goes on where it was', async () => {
  const stage = await start(1200);
  const reader = await stage.read();
  await reader.until('a snapshot', isLive);
  reader.pause();
  const [socket] = stage.sockets;
  if (socket === undefined) throw new Error('there is no connection');
  while (socket.writableLength <= 1024 * 1024) {
    stage.time.advance(1000);
    await new Promise(setImmediate);
  }
  stage.world.ring.onCallEnded(failed({ id: 'missed' }));
  stage.time.advance(1000);
  reader.resume();
  while (socket.writableLength > 0) await once(socket, 'drain');
  stage.time.advance(200);
  await reader.until('the call', ({ event, data }) => event === 'calls' && JSON.stringify(data).includes('missed'));
});

test('a reader that goes away takes its stream with it', async () => {
  const stage = await start();
  const reader = await stage.read();
  await reader.until('a snapshot', isLive);
  expect(stage.time.alarms.pending).toBe(1);
  reader.close();
  const [socket] = stage.sockets;
  if (socket !== undefined && !socket.closed) await once(socket, 'close');
  expect(stage.time.alarms.pending).toBe(0);
});

test('there are 16 streams at most: the next is told so in a sentence', async () => {
  const stage = await start();
  const readers = await Promise.all(Array.from({ length: mostStreams }, () => stage.read()));
  expect(readers.map(({ status }) => status)).toEqual(Array(16).fill(200));
  const refused = await fetch(`http://${stage.address}/events`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await refused.json()).toEqual({ error: expect.stringContaining('16 readers have /events open') });
});

test('HEAD has the headers of a stream and ends', async () => {
  const stage = await start();
  const response = await fetch(`http://${stage.address}/events`, { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(stage.time.alarms.pending).toBe(0);
});

test('a stream is admitted as any GET is', async () => {
  const stage = await start();
  const status = await new Promise((resolve) => {
    http.get(`http://${stage.address}/events`, { headers: { host: 'evil.example' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
  });
  expect(status).toBe(421);
});

test('a stream is whole when the listener stops', async () => {
  const stage = await start();
  const reader = await stage.read();
  await reader.until('a snapshot', isLive);
  await stage.admin.stop();
  await reader.closed();
  expect(reader.whole).toBe(true);
});
