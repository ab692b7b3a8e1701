import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { CallRecord } from '../../src/proxy/observer.js';
import { openDoor } from '../support/door.js';
import { startProxy, type TestProxy } from '../support/proxy.js';
import { behave, startRawBackend } from '../support/raw-peer.js';
import { watch } from './complaints.js';
import { Peer, peerKinds } from './peer.js';

/** Calls that are open at a time. */
const workers = 16;
const drains = 20;
const large = '/t.S/Large';
const largeAnswer = 'large '.repeat(100_000);

/**
 * What a call of grpc-java's comes to that was given to a connection in the moment in which the first GOAWAY shut it there:
 * picking a connection and starting a stream on it are two steps (grpc/grpc-java#2562). It never has a stream, nothing of it
 * is sent, and with retries on it is made again, unseen. A stream that we had refused would be told in other words.
 */
const neverSent = '14 GOAWAY shut down transport. HTTP/2 error code: NO_ERROR, debug data: draining';

describe.each(peerKinds)('a $name client under load', (kind) => {
  const peer = new Peer(kind);
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  afterAll(() => peer.close());

  it(`CON-16, BR-71: loses no call that it sends through ${drains} drains, its own retries off`, {
    timeout: 120_000,
  }, async () => {
    const backend = await startRawBackend({
      name: 'b',
      onStream: (stream) => (stream.header(':path') === large ? behave.ok(largeAnswer) : behave.ok('ok'))(stream),
    });
    cleanups.push(() => backend.close());
    const start = async (): Promise<TestProxy> => watch(await startProxy({ backends: { b: backend.port } }));
    let proxy = await start();
    cleanups.push(() => proxy.stop());
    const told: CallRecord[] = [];
    const door = await openDoor(proxy.port);
    cleanups.push(() => door.close());
    const channel = peer.newChannel();
    await peer.ask({ op: 'open', channel, target: `127.0.0.1:${door.port}`, noRetries: true }).reply;

    let over = false;
    const outcomes = new Map<string, number>();
    let ended = 0;
    let wake = (): void => {};
    const work = async (_: unknown, worker: number): Promise<void> => {
      // A quarter of them wait for answers that take several windows' worth of DATA: most drains begin in the midst of some.
      const wanted = worker % 4 === 0 ? largeAnswer : 'ok';
      while (!over) {
        const request = {
          op: 'call',
          channel,
          method: wanted === 'ok' ? '/t.S/M' : large,
          kind: 'unary',
          message: 'hi',
          metadata: [],
        } as const;
        const { status, message, messages } = await peer.ask(request).reply;
        const whole = messages?.join() === wanted ? 'OK' : 'OK, but not its whole answer';
        const outcome = status === 0 ? whole : `${status} ${message}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        ended += 1;
        wake();
      }
    };
    const load = Array.from({ length: workers }, work);
    const more = async (calls: number): Promise<void> => {
      for (const until = ended + calls; ended < until; )
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    };
    for (let n = 0; n < drains; n += 1) {
      await more(50);
      const old = proxy;
      proxy = await start();
      door.lead(proxy.port);
      await old.app.drain();
      expect(old.app.ledger()).toMatchObject({ calls: 0, clients: 0 });
      told.push(...old.calls);
    }
    await more(50);
    over = true;
    await Promise.all(load);
    await peer.ask({ op: 'close', channel }).reply;
    told.push(...proxy.calls);
    // What came to a proxy was answered there, and each of these answers came to the client.
    expect(told.filter(({ code }) => code !== 0)).toEqual([]);
    expect(outcomes.get('OK')).toBe(told.length);
    const unsent = kind.name === 'grpc-java' ? [neverSent] : [];
    expect([...outcomes.keys()].filter((outcome) => !unsent.includes(outcome))).toEqual(['OK']);
    expect(door.connections).toBeGreaterThan(drains);
  });
});
