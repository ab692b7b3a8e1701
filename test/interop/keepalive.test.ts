import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { alive } from '../support/alive.js';
import { startProxy, type TestProxy } from '../support/proxy.js';
import { connectRawClient } from '../support/raw-peer.js';
import { watch } from './complaints.js';
import { type InteropServer, startServer } from './implementations.js';

/*
 * Stock servers count the PINGs that come while they are silent, whatever the time between them under five minutes: short
 * intervals show in a second what the defaults come to in a minute.
 */

const cleanups: (() => unknown)[] = [];
async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
afterEach(cleanUp);

const kinds = ['grpc-go', 'grpcio', 'grpc-java'] as const;
const servers = new Map<(typeof kinds)[number], InteropServer>();
beforeAll(async () => {
  for (const of of kinds) {
    servers.set(of, await startServer(of));
    // What a server does once, at its first call, is past.
    await silentCall(await proxyTo(of, []), 0);
    await cleanUp();
  }
});
afterAll(async () => {
  for (const { stop } of servers.values()) await stop();
});

/** Each with a connection of its own. */
async function proxyTo(
  of: (typeof kinds)[number],
  flags: readonly string[],
  expected: readonly RegExp[] = [],
): Promise<TestProxy> {
  const port = servers.get(of)?.port;
  if (port === undefined) throw new Error(`${of} has not been started`);
  const proxy = watch(await startProxy({ backends: { b: port }, flags }), expected);
  cleanups.push(() => proxy.stop());
  return proxy;
}

/** Silence (ms) that PINGs may end or not; and one that they do end, however slowly a busy machine sends them. */
const bearable = 1200;
const endless = 50_000;
/** A silence in which the default settings send all the PINGs that they ration, at 10, 20 and 30 s, and would send three more. */
const minute = 60_000;

/** A StreamingOutputCallRequest for one answer of a byte after so long (response_parameters: size 1, interval_us). */
function answerAfter(ms: number): Buffer {
  const interval: number[] = [];
  let left = ms * 1000;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) interval.push((left % 0x80) + 0x80);
  interval.push(left);
  return Buffer.from([0x12, 3 + interval.length, 0x08, 1, 0x10, ...interval]);
}

/** What the backend's connections have come to since the first was up: a server that is slow to accept is not meant here. */
function changesSinceUp({ changes }: TestProxy): string[] {
  return changes.slice(changes.findIndex(({ event }) => event === 'connected') + 1).map(({ detail }) => detail);
}

async function silentCall(
  proxy: TestProxy,
  silence = bearable,
): Promise<{ readonly status: number | null; readonly message: string }> {
  const client = await connectRawClient(proxy.port);
  cleanups.push(() => client.kill());
  const call = client.call('/grpc.testing.TestService/FullDuplexCall', { messages: [answerAfter(silence)] });
  // A call waits 10 s for its end; how this one ended is known before.
  if (silence === minute) await alive('a silent call to end', proxy.call(proxy.calls.length), 2 * minute);
  const { status, message } = await call.done();
  return { status, message: message ?? '' };
}

describe.each(['grpc-go', 'grpcio'] as const)('%s’s server', (of) => {
  it('CON-19: does not cut a call that is silent for many intervals, with the default number of PINGs', async () => {
    const proxy = await proxyTo(of, ['--keepalive-time', '100ms']);
    for (let n = 0; n < 2; n += 1) expect(await silentCall(proxy)).toEqual({ status: 0, message: '' });
    expect(changesSinceUp(proxy)).toEqual([]);
  });
});

/** Takes minutes: by hand, `INTEROP_LONG=1`. */
describe.runIf(process.env['INTEROP_LONG'] === '1').each(['grpc-go', 'grpcio'] as const)(
  '%s’s server, by default',
  (of) => {
    it('CON-19: does not cut calls that are silent for 60 s, one after another on one connection', {
      timeout: 6 * minute,
    }, async () => {
      const proxy = await proxyTo(of, []);
      for (let n = 0; n < 2; n += 1) {
        const begun = performance.now();
        expect(await silentCall(proxy, minute)).toEqual({ status: 0, message: '' });
        expect(performance.now() - begun).toBeGreaterThanOrEqual(minute);
      }
      expect(changesSinceUp(proxy)).toEqual([]);
    });
  },
);

it('CON-18: grpc-java’s server cuts a young connection one PING sooner, once: there are fewer from then on', async () => {
  const proxy = await proxyTo('grpc-java', ['--keepalive-time', '100ms'], [/too_many_pings/]);
  expect((await silentCall(proxy, endless)).status).toBe(14);
  expect(await silentCall(proxy)).toEqual({ status: 0, message: '' });
  expect(changesSinceUp(proxy).join()).toContain('200 ms of silence, at most 2 in one');
});

it('CON-19: grpc-java’s server does not cut it with two PINGs in a silence', async () => {
  const proxy = await proxyTo('grpc-java', ['--keepalive-time', '100ms', '--keepalive-max-pings', '2']);
  for (let n = 0; n < 2; n += 1) expect(await silentCall(proxy)).toEqual({ status: 0, message: '' });
  expect(changesSinceUp(proxy)).toEqual([]);
});

it('CON-18: grpc-go’s server cuts it where PINGs have no limit; the interval doubles until it does not', async () => {
  const flags = ['--keepalive-time', '100ms', '--keepalive-max-pings', '0'];
  const proxy = await proxyTo('grpc-go', flags, [/too_many_pings/]);
  const statuses = [(await silentCall(proxy, endless)).status];
  while (statuses.length < 6 && !statuses.includes(0)) statuses.push((await silentCall(proxy)).status);
  expect(statuses[0]).toBe(14);
  expect(statuses.at(-1)).toBe(0);
  const told = proxy.changes.filter(({ event }) => event === 'draining').map(({ detail }) => detail);
  expect(told).toHaveLength(statuses.length - 1);
  expect(told[0]).toContain('GOAWAY with code 11 (too_many_pings): PINGs to it now wait for 200 ms of silence');
  expect(proxy.changes.map(({ event }) => event)).not.toContain('lost');
});
