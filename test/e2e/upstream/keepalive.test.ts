import net from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ack, type Frame, Type } from '../../support/frames.js';
import type { RawConnection } from '../../support/raw-connection.js';
import { behave, type RawBackend } from '../../support/raw-peer.js';
import { backend, client, method, one, proxyTo, retry } from '../../support/rig.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/*
 * Real sockets on virtual time: a backend falls silent, and no test waits for it.
 */

function isPing({ type, flags }: Frame): boolean {
  return type === Type.ping && (flags & ack) === 0;
}

function pings(connection: RawConnection): number {
  return connection.frames.filter(isPing).length;
}

/** All that the backend has said so far has been read by the proxy, and it says nothing more. */
async function fallSilent(made: RawBackend): Promise<RawConnection> {
  const connection = await made.waitForConnection(1);
  await connection.ping();
  connection.pause();
  return connection;
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('CON-30: the system asks after hosts of clients and backends that are silent for 60 s', async () => {
  const backends = vi.spyOn(net.Socket.prototype, 'setKeepAlive');
  const listeners = vi.spyOn(net, 'createServer');
  const b = await backend({ name: 'b' });
  await proxyTo([b]);
  expect(backends.mock.calls).toEqual([[true, 60_000]]);
  expect(listeners.mock.calls.map(([options]) => options)).toContainEqual(
    expect.objectContaining({ keepAlive: true, keepAliveInitialDelay: 60_000 }),
  );
});

describe('a backend that is cut off without a word', () => {
  it('CON-17: is asked after --keepalive-time, and lost --keepalive-timeout later; its calls end UNAVAILABLE, all at once', async () => {
    const time = createVirtualTime();
    const { backend: b, proxy, client: c } = await one({ proxy: { time } });
    b.behave(behave.silent);
    const before = c.call(method, { messages: ['before headers'] });
    await b.waitForStream(1);
    b.behave((stream) => void stream.sendHeaders().sendMessage('part'));
    const after = c.call(method, { messages: ['after headers'], end: false });
    await after.whenMessages(1);
    await fallSilent(b);
    time.advance(14_999);
    await c.ping();
    expect([before.end, after.end]).toEqual([null, null]);
    time.advance(1);
    for (const call of [before, after]) {
      await call.done();
      expect([call.status, call.trailer('hedgerow-backend'), call.trailer('hedgerow-processed')]).toEqual([
        14,
        'b',
        'unknown',
      ]);
      expect(call.message).toContain('no answer to a keepalive PING within 5000 ms');
    }
    expect(proxy.changes.at(-1)).toMatchObject({ event: 'lost', generation: 1 });
    // The next call has a connection of its own.
    b.behave(behave.ok('again'));
    await b.waitForConnection(2);
    expect((await c.call(method, { messages: ['next'] }).done()).status).toBe(0);
  });

  it('CON-17: calls with a policy go on elsewhere', async () => {
    const time = createVirtualTime();
    const [a, b] = [await backend({ name: 'a' }), await backend({ name: 'b' })];
    const proxy = await proxyTo([a, b], { time, serviceConfig: retry() });
    const c = await client(proxy);
    for (const one of [a, b]) one.behave(behave.silent);
    const calls = [c.call(method, { messages: ['1'] }), c.call(method, { messages: ['2'] })];
    await Promise.all([a.waitForStream(1), b.waitForStream(1)]);
    await fallSilent(a);
    b.behave(behave.ok('elsewhere'));
    // The other one is well, and says so.
    await (await b.waitForConnection(1)).ping();
    time.advance(10_000);
    await (await b.waitForConnection(1)).whenFrame('PING', isPing);
    await (await b.waitForConnection(1)).ping();
    time.advance(5000);
    await c.ping();
    time.advance(1000);
    const second = await b.waitForStream(2);
    expect(second.header('grpc-previous-rpc-attempts')).toBe('1');
    await (await b.waitForStream(1)).answer(['at last']);
    for (const call of calls) expect((await call.done()).status).toBe(0);
    expect(proxy.changes.filter(({ event }) => event === 'lost').map(({ name }) => name)).toEqual(['a']);
  });
});

it('CON-19: a call that is silent for minutes gets three PINGs, which the backend answers, and ends OK', async () => {
  const time = createVirtualTime();
  const { backend: b, client: c } = await one({ proxy: { time } });
  b.behave(behave.silent);
  const call = c.call(method, { messages: ['slow'] });
  const stream = await b.waitForStream(1);
  const { connection } = stream;
  await connection.ping();
  for (let asked = 1; asked <= 3; asked += 1) {
    time.advance(10_000);
    await connection.whenFrame('PING', isPing, asked - 1);
    // What this answers is read after the answer to the PING.
    await connection.ping();
  }
  for (let minutes = 0; minutes < 4; minutes += 1) {
    time.advance(60_000);
    await connection.ping();
  }
  expect(pings(connection)).toBe(3);
  await stream.answer(['at last']);
  expect((await call.done()).status).toBe(0);
});

it('CON-18: a backend that says too_many_pings is asked half as often, and its calls go by their id', async () => {
  const time = createVirtualTime();
  const { backend: b, proxy, client: c } = await one({ proxy: { time } });
  b.behave(behave.silent);
  const taken = c.call(method, { messages: ['taken'] });
  const stream = await b.waitForStream(1);
  const refused = c.call(method, { messages: ['refused'] });
  await b.waitForStream(2);
  const first = stream.connection;
  await first.ping();
  time.advance(10_000);
  await first.whenFrame('PING', isPing);
  b.behave(behave.ok('elsewhere'));
  first.goaway(stream.id, 11, 'too_many_pings');
  expect((await refused.done()).status).toBe(0);
  await stream.answer(['still here']);
  expect((await taken.done()).status).toBe(0);
  const told = proxy.changes.find(({ event }) => event === 'draining');
  expect(told?.detail).toContain(
    'PINGs to it now wait for 20000 ms of silence, at most 1 in one; let the backend permit them',
  );
  expect(proxy.changes.map(({ event }) => event)).not.toContain('lost');

  b.behave(behave.silent);
  const call = c.call(method, { messages: ['slow'] });
  const next = await b.waitForStream(4);
  await next.connection.ping();
  time.advance(19_999);
  // This ends the silence, after anything that was sent in it.
  await next.connection.ping();
  expect(pings(next.connection)).toBe(0);
  time.advance(20_000);
  await next.connection.whenFrame('PING', isPing);
  await next.answer(['done']);
  expect((await call.done()).status).toBe(0);
});

it('no PING goes to a backend without calls, nor with --keepalive-time off', async () => {
  const time = createVirtualTime();
  const idle = await one({ proxy: { time } });
  const off = await one({ proxy: { time, flags: ['--keepalive-time', 'off'] } });
  off.backend.behave(behave.silent);
  const call = off.client.call(method, { messages: ['slow'] });
  const stream = await off.backend.waitForStream(1);
  time.advance(3_600_000);
  for (const { backend: b } of [idle, off]) {
    const connection = await b.waitForConnection(1);
    await connection.ping();
    expect(pings(connection)).toBe(0);
  }
  await stream.answer(['done']);
  expect((await call.done()).status).toBe(0);
});
