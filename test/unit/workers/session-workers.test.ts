import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { asks, heldBy, SessionGroup } from './session-rig.js';

/*
 * Sessions of several workers, which the primary owns (D31).
 */

const [a, b] = [backendId('a'), backendId('b')];
const minute = 60_000;

describe('a session that comes to two workers', () => {
  it('WRK-05: has one backend, for which each of them asks once', () => {
    const group = new SessionGroup();
    expect(group.serve(1, 'k', a)).toBe(a);
    expect(group.serve(2, 'k', b)).toBe(a);
    for (const worker of [1, 2, 1, 2]) expect(group.serve(worker, 'k', b)).toBe(a);
    expect([asks(group.worker(1)), asks(group.worker(2))]).toEqual([1, 1]);
    group.settle();
    expect(group.stats()).toMatchObject({ size: 1, calls: 0, outcomes: { created: 1, used: 5, refused: 0 } });
  });

  it('WRK-05: has one backend also where both ask at once', () => {
    const group = new SessionGroup();
    const told: string[] = [];
    for (const [worker, candidate] of [[1, a] as const, [2, b] as const, [2, b] as const])
      group.worker(worker).client.ask('k', candidate, (found) => {
        const { backend, fresh } = heldBy(found);
        told.push(`${worker} ${backend} ${fresh}`);
      });
    group.settle();
    expect(told).toEqual(['1 a true', '2 a false', '2 a false']);
    expect(group.stats()).toMatchObject({ size: 1, calls: 3, outcomes: { created: 1, used: 2 } });
  });

  it("WRK-05: is nobody's where nobody can be picked, and anybody's afterwards", () => {
    const group = new SessionGroup();
    expect(group.call(1, 'k', null)).toEqual({ kind: 'none' });
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(heldBy(group.call(1, 'k', null)).backend).toBe(b);
  });

  it('WRK-05: a question that is given up leaves nothing behind', () => {
    const group = new SessionGroup();
    const { client } = group.worker(1);
    const never = (): void => expect.unreachable();
    client.ask('k', a, never)();
    group.settle();
    expect(group.stats()).toMatchObject({ size: 0, calls: 0, outcomes: { created: 1, released: 1 } });

    expect(group.serve(2, 'k', b)).toBe(b);
    group.settle();
    client.ask('k', a, never)();
    group.settle();
    expect(group.book.stats(group.now)).toMatchObject({ size: 1, calls: 0 });
    expect([group.time.alarms.pending, client.asking]).toEqual([0, 0]);
  });

  it('WRK-05: there is no room for more in use than one process permits', () => {
    const group = new SessionGroup({ maxEntries: 1 });
    const first = heldBy(group.call(1, 'k', a));
    expect(group.call(2, 'l', a)).toEqual({ kind: 'full' });
    first.ended(group.now);
    group.settle();
    expect(group.call(2, 'l', a)).toEqual({ kind: 'full' });
    group.time.advance(minute);
    expect(heldBy(group.call(2, 'l', b)).backend).toBe(b);
    expect(group.stats().outcomes).toMatchObject({ created: 2, refused: 2, evicted: 1 });
  });
});

describe('a first call that never comes to its backend', () => {
  it('WRK-06: gives the claim back, and the next choice is claimed', () => {
    const group = new SessionGroup();
    const hold = heldBy(group.call(1, 'k', a));
    expect([hold.fresh, hold.release()]).toEqual([true, true]);
    expect(heldBy(group.call(1, 'k', b))).toMatchObject({ backend: b, fresh: true });
    expect(group.serve(2, 'k', a)).toBe(b);
    expect(group.stats().outcomes).toMatchObject({ created: 2, released: 1, used: 1 });
  });

  it('WRK-06: is given the standing claim where another worker has come to it meanwhile', () => {
    const group = new SessionGroup();
    const hold = heldBy(group.call(1, 'k', a));
    const other = heldBy(group.call(2, 'k', b));
    expect([other.backend, other.fresh, other.release()]).toEqual([a, false, false]);
    expect(hold.release()).toBe(true);
    const again = heldBy(group.call(1, 'k', b));
    expect([again.backend, again.fresh]).toEqual([a, false]);
    again.ended(group.now);
    other.ended(group.now);
    group.settle();
    expect(group.stats()).toMatchObject({ size: 1, calls: 0, outcomes: { created: 1, released: 0 } });
    expect(group.book.stats(group.now).calls).toBe(0);
  });
});

describe('a session that is dropped', () => {
  it('WRK-07: by being lost in one worker is lost in all, and told once', () => {
    const group = new SessionGroup();
    group.serve(1, 'k', a);
    group.serve(2, 'k', a);
    group.settle();
    group.presence.set(a, 'gone');
    expect(group.call(1, 'k', b)).toEqual({ kind: 'lost', backend: a });
    group.settle();
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.serve(1, 'k', b)).toBe(b);
    expect(group.stats()).toMatchObject({ size: 1, outcomes: { created: 2, lost: 1 } });
  });

  it('WRK-07: as lost in two workers at once does not take a newer one with it', () => {
    const group = new SessionGroup({ lostAfter: 0 });
    const holds = [heldBy(group.call(1, 'k', a)), heldBy(group.call(2, 'k', a))];
    for (const hold of holds) hold.reached(group.now);
    const [first, second] = holds;
    expect(first?.refused()).toBe(true);
    // Worker 1 asks anew before worker 2 hears.
    let again = '';
    group.worker(1).client.ask('k', a, (found) => {
      again = `${heldBy(found).backend} ${heldBy(found).fresh}`;
    });
    expect(second?.refused()).toBe(true);
    group.settle();
    expect(again).toBe('a true');
    expect(heldBy(group.call(2, 'k', b)).backend).toBe(a);
    expect(group.stats().outcomes).toMatchObject({ created: 2, lost: 1 });
  });

  it('WRK-07: by its time is picked anew wherever its next call comes', () => {
    const group = new SessionGroup({ ttl: minute });
    group.serve(1, 'k', a);
    group.serve(2, 'k', a);
    group.time.advance(minute - 50);
    // It was used on worker 2 a little later.
    expect(group.serve(1, 'k', b)).toBe(a);
    group.time.advance(2 * minute);
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.serve(1, 'k', a)).toBe(b);
    expect(group.stats().outcomes).toMatchObject({ created: 2, expired: 1, evicted: 0 });
  });

  it('WRK-07: by its age is dropped in all, whatever calls use it', () => {
    const group = new SessionGroup({ maxAge: minute });
    const long = heldBy(group.call(1, 'k', a));
    long.reached(group.now);
    expect(group.serve(2, 'k', a)).toBe(a);
    group.time.advance(minute);
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.serve(1, 'k', a)).toBe(b);
    long.ended(group.now);
    group.settle();
    expect(group.book.stats(group.now)).toMatchObject({ size: 1, calls: 0, outcomes: { expired: 1 } });
  });

  it('WRK-07: by hand goes from all workers, while their calls go on', () => {
    const group = new SessionGroup();
    const hold = heldBy(group.call(1, 'k', a));
    group.serve(2, 'k', a);
    expect(group.book.clear()).toBe(1);
    group.settle();
    expect(group.serve(2, 'k', b)).toBe(b);
    hold.reached(group.now);
    hold.ended(group.now);
    expect(group.serve(1, 'k', a)).toBe(b);
    group.settle();
    expect(group.stats()).toMatchObject({ size: 1, calls: 0, outcomes: { cleared: 1, created: 2 } });
    expect(group.book.stats(group.now).calls).toBe(0);
  });

  it('WRK-07: to make room for another is dropped by all', () => {
    const group = new SessionGroup({ maxEntries: 1 });
    group.serve(1, 'k', a);
    group.serve(2, 'k', a);
    // The primary hears of a call's end a moment later.
    group.time.advance(minute + 100);
    expect(group.serve(1, 'l', a)).toBe(a);
    group.time.advance(minute + 100);
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.serve(1, 'k', a)).toBe(b);
    expect(group.stats()).toMatchObject({ size: 1, outcomes: { created: 3, evicted: 2 } });
  });
});

describe('a session in use', () => {
  it('WRK-08: does not expire while one worker has a call of it', () => {
    const group = new SessionGroup({ ttl: minute });
    const long = heldBy(group.call(1, 'k', a));
    long.reached(group.now);
    group.serve(2, 'k', a);
    group.time.advance(10 * minute);
    expect(group.serve(2, 'k', b)).toBe(a);
    long.ended(group.now);
    group.time.advance(minute - 10);
    expect(group.serve(1, 'k', b)).toBe(a);
    group.time.advance(minute + 500);
    expect(group.serve(1, 'k', b)).toBe(b);
  });

  it('WRK-08: makes no room for another', () => {
    const group = new SessionGroup({ maxEntries: 1 });
    heldBy(group.call(1, 'k', a));
    group.time.advance(10 * minute);
    expect(group.call(2, 'l', a)).toEqual({ kind: 'full' });
  });

  it('WRK-08: is kept where it was dropped as idle in the moment that a call came to it', () => {
    const group = new SessionGroup({ maxEntries: 1 });
    group.serve(1, 'k', a);
    group.time.advance(2 * minute);
    const hold = heldBy(group.call(1, 'k', b));
    // The primary cannot know yet.
    expect(heldBy(group.call(2, 'l', b)).backend).toBe(b);
    group.settle();
    expect(group.serve(2, 'k', b)).toBe(a);
    hold.ended(group.now);
    group.settle();
    expect(group.book.stats(group.now)).toMatchObject({ size: 2, calls: 1 });
  });

  it('WRK-08: is that of another worker where it was dropped as idle and claimed anew in that moment', () => {
    const group = new SessionGroup({ maxEntries: 2 });
    group.serve(1, 'k', a);
    group.serve(1, 'm', a);
    group.time.advance(2 * minute);
    const hold = heldBy(group.worker(1).client.sessions.find('k', group.now));
    const { client } = group.worker(2);
    client.ask('l', b, (found) => heldBy(found).ended(group.now));
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.serve(1, 'k', a)).toBe(b);
    hold.reached(group.now);
    hold.ended(group.now);
    group.settle();
    expect(group.serve(1, 'k', a)).toBe(b);
    group.settle();
    expect(group.book.stats(group.now)).toMatchObject({ size: 2, calls: 0, outcomes: { evicted: 2 } });
  });
});

describe('a worker that dies', () => {
  it('WRK-09: holds no session any longer, and its claims stand', () => {
    const group = new SessionGroup({ ttl: minute });
    const first = group.worker(1);
    heldBy(group.call(1, 'k', a));
    group.time.advance(10 * minute);
    group.kill(first);
    expect(group.book.stats(group.now)).toMatchObject({ size: 1, calls: 0 });
    const { number } = group.addWorker();
    expect(group.serve(number, 'k', b)).toBe(a);
    group.time.advance(2 * minute);
    expect(group.serve(2, 'k', b)).toBe(b);
    expect(group.stats().outcomes).toMatchObject({ created: 2, expired: 1, released: 0 });
  });

  it("WRK-09: takes no other worker's hold with it", () => {
    const group = new SessionGroup({ ttl: minute });
    heldBy(group.call(1, 'k', a));
    heldBy(group.call(2, 'k', a));
    group.kill(group.worker(1));
    group.time.advance(10 * minute);
    expect(group.serve(2, 'k', b)).toBe(a);
    expect(group.book.stats(group.now)).toMatchObject({ size: 1, calls: 1 });
  });
});
