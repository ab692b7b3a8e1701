import { describe, expect, it } from 'vitest';
import { failure, lost, Rig, success } from './health-rig.js';

/** Away since so many milliseconds before now; null: not away. */
function awayFor(rig: Rig): number | null {
  const since = rig.backend.absentSince(rig.now);
  return since === null ? null : rig.now - since;
}

describe('since when a backend is away', () => {
  it('HEA-88: parks by failures with no answer between are one, and what has lapsed is not away meanwhile', () => {
    const rig = new Rig().parked();
    expect(awayFor(rig.pass(29_999))).toBe(29_999);
    expect(awayFor(rig.pass(1))).toBeNull();
    rig.meets(failure);
    expect(awayFor(rig)).toBe(30_000);
    rig.pass(60_000).meets(success);
    expect(awayFor(rig)).toBeNull();
    rig.pass(60_000).parked().pass(1);
    expect(awayFor(rig)).toBe(1);
  });

  it('HEA-88: a park by hand that ended by its time is not the begin of one by failures', () => {
    const rig = new Rig();
    rig.backend.park(5000, rig.now);
    expect(awayFor(rig.pass(4999))).toBe(4999);
    expect(awayFor(rig.pass(1))).toBeNull();
    rig.pass(3_600_000).parked();
    expect(awayFor(rig)).toBe(0);
  });

  it('HEA-88: an answer that ends a park by failures leaves one by hand, and what of the absence is over', () => {
    const rig = new Rig().parked();
    const mark = rig.began();
    rig.pass(10);
    rig.backend.park(null, rig.now);
    rig.pass(10).end(mark, success);
    expect(awayFor(rig.pass(10_000_000))).toBe(10_000_020);
    rig.backend.unpark(rig.now);
    expect(awayFor(rig)).toBeNull();
  });

  it('HEA-88: parked again by hand while it is parked is one absence', () => {
    const rig = new Rig();
    rig.backend.park(1000, rig.now);
    rig.pass(999).backend.park(1000, rig.now);
    expect(awayFor(rig.pass(999))).toBe(1998);
  });

  it('HEA-88: down, then parked before it is up again, is one absence; and the other way round', () => {
    const rig = new Rig();
    rig.backend.disconnected(rig.now, rig.now);
    rig.pass(1000).backend.disconnected(rig.now, rig.now);
    rig.backend.checked(false, rig.now);
    rig.pass(1000).backend.connected(rig.now);
    expect(awayFor(rig)).toBe(2000);
    rig.pass(1000).backend.disconnected(rig.now, rig.now);
    rig.backend.checked(true, rig.now);
    expect(awayFor(rig)).toBe(3000);
    rig.backend.connected(rig.now);
    expect(awayFor(rig)).toBeNull();
    rig.pass(500).backend.disconnected(rig.now, rig.now);
    expect(awayFor(rig.pass(1))).toBe(1);
  });

  it('HEA-88: a connection that voids the failures ends the absence, and it has no part in the next', () => {
    const rig = new Rig().parked(lost);
    rig.backend.disconnected(rig.now, rig.now);
    rig.pass(100).backend.connected(rig.now);
    expect(awayFor(rig)).toBeNull();
    rig.pass(100).parked(lost);
    expect(awayFor(rig)).toBe(0);
  });

  it('HEA-88: down since before it was told, as a new connection is awaited', () => {
    const rig = new Rig();
    rig.backend.disconnected(rig.now - 300, rig.now);
    expect(awayFor(rig)).toBe(300);
  });

  it('HEA-88: down long after its park lapsed is away since it is down', () => {
    const rig = new Rig().parked();
    rig.pass(3_600_000).backend.disconnected(rig.now, rig.now);
    expect(awayFor(rig.pass(7))).toBe(7);
  });

  it('HEA-88: one that leaves takes it along', () => {
    const rig = new Rig().parked();
    rig.health.forget(rig.id, rig.now);
    expect(rig.health.absentSince(rig.id, rig.now)).toBeNull();
    expect(rig.health.of(rig.id).absentSince(rig.now)).toBeNull();
  });

  it('HEA-89: a health check that is asked no more ends its own park and no other', () => {
    const rig = new Rig();
    expect(rig.backend.unchecked()).toBeNull();
    rig.parked();
    rig.backend.checked(false, rig.now);
    expect(rig.backend.unchecked()).toMatchObject({ kind: 'released', reason: 'not_serving', route: 'removed' });
    expect(rig.stats).toMatchObject({ standing: 'parked', park_reason: 'consecutive_failures' });
    expect(rig.backend.unchecked()).toBeNull();
  });
});
