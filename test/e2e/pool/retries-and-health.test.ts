import { describe, expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { retryConfig, useScene } from '../../support/scene.js';
import { answerer, type Behave, park, several, unavailable } from './several.js';

/*
 * Retries and what is known of backends: where a retry goes, and what its attempts say (A50, A62; D32).
 */

const scene = useScene();
const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });
const names = ['a', 'b', 'c'];

/** HealthCheckResponse.status (grpc.health.v1). */
const notServing = Buffer.from([0x08, 2]);
const serving = Buffer.from([0x08, 1]);

/** Answers a Watch with what it is to say, and leaves it open; calls go to the other. */
function watched(says: Record<string, Buffer>, watches: Map<string, RecordedStream>, calls: Behave): Behave {
  return (stream) => {
    if (stream.header(':path') !== '/grpc.health.v1.Health/Watch') return calls(stream);
    watches.set(stream.backend, stream);
    stream.sendHeaders().sendMessage(says[stream.backend] ?? serving);
  };
}

describe('a retry', () => {
  it('CON-11: goes to no backend that is parked, though that one has not been tried', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    const { length } = pool.backend('a').streams;
    for (const name of ['b', 'c']) pool.backend(name).behave(behave.fail(unavailable));
    const call = pool.begin();
    for (let n = 0; n < 2; n += 1) {
      await pool.settled();
      pool.time.advance(1);
    }
    expect((await call.done()).status).toBe(unavailable);
    expect(call.trailer('hedgerow-retries')).toBe('2');
    expect(pool.streams()[0]).toBe(length);
    expect(pool.streams().slice(1).toSorted()).toEqual([1, 2]);
  });

  it('CON-11: counts for the backend that it went to, each attempt of a call for its own', async () => {
    const pool = await several(scene, names, { serviceConfig });
    for (const name of ['a', 'b']) pool.backend(name).behave(behave.fail(unavailable));
    // Each call tries three backends, c the last of the three or the first: a and b fail once in a call, or not at all.
    while (pool.proxy.healthChanges.length < 2) {
      const call = pool.begin();
      for (let at = 0; at < 2; at += 1) {
        await pool.settled();
        pool.time.advance(1);
      }
      expect(answerer(await call.done())).toBe('c');
    }
    expect(pool.proxy.healthChanges.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
    // Three failures each, and no more: what it takes to park one, however the calls that made them ended.
    expect(pool.streams().slice(0, 2)).toEqual([3, 3]);
  });

  it('CON-12: goes to no backend that says NOT_SERVING, until it says SERVING', async () => {
    const watches = new Map<string, RecordedStream>();
    const fails = behave.fail(unavailable);
    const onStream = watched({ a: notServing }, watches, fails);
    const pool = await several(scene, names, { serviceConfig, onStream, flags: ['--health-check', 't.S'] });
    expect(await pool.proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a', reason: 'not_serving' });
    const calls = (name: string): number =>
      pool.backend(name).streams.filter((stream) => stream.header(':path') === '/t.S/M').length;
    const fail = async (): Promise<void> => {
      const call = pool.begin();
      for (let n = 0; n < 2; n += 1) {
        await pool.settled();
        pool.time.advance(1);
      }
      expect((await call.done()).status).toBe(unavailable);
    };
    await fail();
    expect([calls('a'), calls('b') + calls('c')]).toEqual([0, 3]);
    watches.get('a')?.sendMessage(serving);
    expect(await pool.proxy.health(1)).toMatchObject({ kind: 'released', id: 'a' });
    await fail();
    expect(calls('a')).toBe(1);
  });
});
