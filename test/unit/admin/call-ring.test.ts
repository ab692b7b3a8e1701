import { expect, test } from 'vitest';
import { type CallRing, createCallRing } from '../../../src/admin/call-ring.js';
import type { CallRecord } from '../../../src/proxy/observer.js';
import { attempt, failed, failure, record, retried } from './call-records.js';

/** Gives it each record that it wants, as the proxy does. */
function offer(ring: CallRing, ...records: readonly CallRecord[]): void {
  for (const one of records) if (ring.wants(one.code, one.attempts.length, one.endedAt)) ring.onCallEnded(one);
}

function ids(ring: CallRing, since = 0): string[] {
  return [...ring.since(since)].map(({ call }) => call);
}

/** `count` calls named prefix0, prefix1, …, `every` milliseconds apart. */
function series(make: typeof record, prefix: string, count: number, every: number): CallRecord[] {
  return Array.from({ length: count }, (_, at) =>
    make({ id: `${prefix}${at}`, startedAt: at * every, endedAt: at * every }),
  );
}

const wall = (now: number): number => 1_700_000_000_000 + now;

test('what failed or took more than one attempt is kept, newest first, with what there is to say of it', () => {
  const ring = createCallRing(10, wall);
  offer(ring, failed({ id: 'a' }), retried({ id: 'b' }));
  expect(ring.newest).toBe(2);
  expect([...ring.since(0)]).toMatchObject([
    {
      seq: 2,
      started: 1_700_000_001_000,
      call: 'b',
      method: '/shop.Stock/Get',
      code: 'OK',
      reason: 'ok',
      why: 'the call was answered',
      remedy: null,
      help: '/troubleshooting#ok',
      attempts: [
        { backend: 'b2', cause: 'first', code: 'UNAVAILABLE', message: 'not now' },
        { backend: 'b1', cause: 'retry', at: 10, ms: 3, told: true },
      ],
    },
    {
      seq: 1,
      call: 'a',
      code: 'UNAVAILABLE',
      why: 'the one attempt that the policy permits failed',
      remedy: expect.stringContaining('look at the backends'),
      help: '/troubleshooting#attempts_exhausted',
    },
  ]);
});

test('of calls that were answered at once five a second are kept', () => {
  const ring = createCallRing(500, wall);
  offer(ring, ...series(record, 'p', 1000, 10));
  expect(ids(ring)).toHaveLength(50);
  expect(ids(ring).slice(-3)).toEqual(['p40', 'p20', 'p0']);
});

test('many plain calls push out no notable one, and many notable ones no plain one', () => {
  const ring = createCallRing(10, wall);
  offer(ring, ...series(failed, 'f', 8, 1), ...series(record, 'p', 50, 1000));
  expect(ids(ring)).toEqual(['p49', 'p48', 'f7', 'f6', 'f5', 'f4', 'f3', 'f2', 'f1', 'f0']);
  offer(ring, ...series(retried, 'r', 50, 1));
  expect(ids(ring)).toEqual(['r49', 'r48', 'r47', 'r46', 'r45', 'r44', 'r43', 'r42', 'p49', 'p48']);
});

test('both kinds are told in the order in which they were kept', () => {
  const ring = createCallRing(10, wall);
  const at = (now: number): Partial<CallRecord> => ({ startedAt: now, endedAt: now });
  offer(ring, failed({ id: 'a', ...at(0) }), record({ id: 'b', ...at(0) }), failed({ id: 'c', ...at(1) }));
  offer(ring, record({ id: 'not kept', ...at(2) }), record({ id: 'd', ...at(300) }));
  expect(ids(ring)).toEqual(['d', 'c', 'b', 'a']);
  expect(ids(ring, 2)).toEqual(['d', 'c']);
  expect(ids(ring, 4)).toEqual([]);
});

test('a ring of one call keeps notable ones alone', () => {
  const ring = createCallRing(1, wall);
  offer(ring, record({ id: 'p' }), failed({ id: 'a' }), failed({ id: 'b' }), record({ id: 'q', endedAt: 9999 }));
  expect(ids(ring)).toEqual(['b']);
});

test('of many attempts the first, the last and the one that counts are told, and how many there are between', () => {
  const ring = createCallRing(10, wall);
  const attempts = Array.from({ length: 50 }, (_, at) =>
    failure({ cause: at === 0 ? 'first' : 'hedge', previous: at }),
  );
  attempts[25] = attempt({ cause: 'hedge', previous: 25 });
  offer(ring, record({ attempts, retries: 49 }));
  const [call] = ring.since(0);
  expect(call?.attempts).toHaveLength(32);
  expect(call?.attempts_left_out).toBe(18);
  expect(call?.attempts.filter(({ told }) => told)).toHaveLength(1);
  // What is counted is counted over all of them.
  expect(call?.hedges).toBe(49);
});

test('as many attempts as are told are told whole', () => {
  const ring = createCallRing(10, wall);
  offer(ring, record({ attempts: Array.from({ length: 32 }, () => failure()), code: 14 }));
  const [call] = ring.since(0);
  expect(call?.attempts).toHaveLength(32);
  expect(call).not.toHaveProperty('attempts_left_out', expect.anything());
});

test('calls of many attempts and long messages take the room of others, and their texts are cut', () => {
  const ring = createCallRing(500, wall);
  const attempts = Array.from({ length: 50 }, () => failure({ message: 'm'.repeat(16_000) }));
  const large = record({ code: 14, attempts, method: `/s/${'m'.repeat(9000)}`, message: 'x'.repeat(9000) });
  for (let at = 0; at < 1000; at += 1) offer(ring, large);
  const text = JSON.stringify([...ring.since(0)]);
  expect(text.length).toBeGreaterThan(200_000);
  expect(text.length).toBeLessThan(2 * 1024 * 1024);
  offer(ring, ...series(failed, 'f', 400, 1));
  expect(ids(ring)).toHaveLength(400);
});

test('one call that is larger than the whole room is kept all the same', () => {
  const ring = createCallRing(1, wall);
  offer(ring, failed({ id: 'a', attempts: Array.from({ length: 50 }, () => failure()) }));
  expect(ids(ring)).toEqual(['a']);
});
