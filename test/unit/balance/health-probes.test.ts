import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { failure, limit, lost, neutral, Rig, success } from './health-rig.js';

describe('a probe', () => {
  it('HEA-40: of twelve calls at once on a lapsed backend one is the probe', () => {
    const rig = new Rig().parked().pass(30_000);
    let probes = 0;
    for (let call = 0; call < 12; call += 1) {
      if (!rig.mayProbe(true)) continue;
      probes += 1;
      rig.began();
    }
    expect([probes, rig.standing]).toEqual([1, 'probing']);
  });

  it('HEA-41: is a call with a policy at once, any call 30 s after the park ended, exactly', () => {
    const rig = new Rig().parked();
    expect(rig.pass(29_999.9).mayProbe(true)).toBe(false);
    expect([rig.pass(0.1).mayProbe(true), rig.mayProbe(false)]).toEqual([true, false]);
    expect(rig.pass(29_999.9).mayProbe(false)).toBe(false);
    expect(rig.pass(0.1).mayProbe(false)).toBe(true);
  });

  it('HEA-41: of a backend that is well, or unknown, there is none', () => {
    const rig = new Rig();
    expect(rig.mayProbe(true)).toBe(false);
    expect(rig.health.mayProbe(backendId('x'), rig.now, true)).toBe(false);
  });

  it('HEA-42: that ends neutral, or is rate limited, gives its place back', () => {
    for (const verdict of [neutral, limit(0)]) {
      const rig = new Rig().parked().pass(30_000);
      expect(rig.end(rig.began(), verdict)).toBeNull();
      expect([rig.standing, rig.mayProbe(true)]).toEqual(['lapsed', true]);
    }
  });

  it('HEA-42: another attempt that ends neutral beside it does not', () => {
    const rig = new Rig().parked().pass(30_000);
    rig.began();
    const pinned = rig.began();
    rig.end(pinned, neutral);
    expect(rig.standing).toBe('probing');
  });

  it('HEA-43: of a pinned call beside it the failure parks, the success releases', () => {
    const failing = new Rig().parked().pass(30_000);
    failing.began();
    const pinned = failing.began();
    expect(failing.end(pinned, failure)).toMatchObject({ parkMs: 60_000 });
    const well = new Rig().parked().pass(30_000);
    const probe = well.began();
    expect(well.end(well.began(), success)).toMatchObject({ route: 'success' });
    expect(well.standing).toBe('clean');
    expect(well.end(probe, failure)).toBeNull();
    expect(well.standing).toBe('recent');
  });

  it('HEA-44: that is under way for 30 s, as a stream may be, makes room for another', () => {
    const rig = new Rig().parked().pass(30_000);
    const first = rig.began();
    expect(rig.pass(29_999.9).standing).toBe('probing');
    expect(rig.pass(0.1).standing).toBe('lapsed');
    const second = rig.began();
    expect(rig.standing).toBe('probing');
    expect(rig.end(first, neutral)).toBeNull();
    expect(rig.standing).toBe('probing');
    expect(rig.end(second, success)).toMatchObject({ route: 'lapsed_probe' });
  });

  it('HEA-45: whose response headers come ends the park, and a failure after them parks again, for longer', () => {
    const rig = new Rig().parked().pass(30_000);
    const probe = rig.began();
    expect(rig.backend.answered(probe, rig.now)).toMatchObject({ kind: 'released', route: 'lapsed_probe' });
    expect([rig.standing, rig.health.calm]).toEqual(['clean', true]);
    expect(rig.backend.answered(probe, rig.now)).toBeNull();
    expect(rig.end(probe, lost)).toMatchObject({ parkMs: 60_000, streak: 2 });
  });

  it('HEA-45: headers of other attempts say nothing: three broken streams in a row park', () => {
    const rig = new Rig();
    for (const last of [false, false, true]) {
      const mark = rig.began();
      expect(rig.backend.answered(mark, rig.now)).toBeNull();
      expect(rig.end(mark, lost)?.kind ?? null).toBe(last ? 'parked' : null);
    }
    expect(rig.backend.answered(rig.began(), rig.now)).toBeNull();
    expect(rig.standing).toBe('parked');
  });
});

describe('a new connection', () => {
  it('HEA-60: ends a park whose failures were all of the transport; the next is longer', () => {
    const rig = new Rig().parked(lost).pass(1000);
    expect(rig.backend.connected(rig.now)).toEqual({
      kind: 'released',
      id: 'a',
      reason: 'consecutive_failures',
      route: 'connected',
      parkMs: 29_000,
    });
    expect([rig.standing, rig.health.calm, rig.stats.park_streak]).toEqual(['recent', true, 1]);
    expect(rig.meets(lost, lost)).toBeNull();
    expect(rig.meets(lost)).toMatchObject({ parkMs: 60_000, streak: 2 });
  });

  it('HEA-61: does not end one of which a failure was a status', () => {
    for (const mixed of [
      [failure, lost, lost],
      [lost, failure, lost],
      [lost, lost, failure],
    ]) {
      const rig = new Rig();
      rig.meets(...mixed);
      expect(rig.backend.connected(rig.now)).toBeNull();
      expect(rig.standing).toBe('parked');
    }
    const rig = new Rig();
    rig.meets(failure, success, lost, lost, lost, lost, lost, lost, lost);
    expect(rig.backend.connected(rig.now)?.kind).toBe('released');
  });

  it('HEA-62: ends a breach of the transport too, and is nothing to a backend that is well', () => {
    const rig = new Rig();
    rig.meets(success, lost, lost, lost);
    expect(rig.standing).toBe('breached');
    expect(rig.backend.connected(rig.now)).toBeNull();
    expect(rig.standing).toBe('recent');
    expect(new Rig().backend.connected(0)).toBeNull();
  });
});

describe('a health check', () => {
  it('HEA-63: SERVING ends a park by failures of any kind', () => {
    const rig = new Rig().parked().pass(10_000);
    expect(rig.backend.checked(true, rig.now)).toMatchObject({
      kind: 'released',
      reason: 'consecutive_failures',
      route: 'serving',
      parkMs: 20_000,
    });
    expect(rig.standing).toBe('recent');
    expect(rig.backend.checked(true, rig.now)).toBeNull();
  });

  it('HEA-63: SERVING leaves a breach: only answers and time clear it', () => {
    const rig = new Rig();
    rig.meets(success, failure, failure, failure);
    expect(rig.backend.checked(true, rig.now)).toBeNull();
    expect(rig.standing).toBe('breached');
  });

  it('HEA-64: NOT_SERVING parks until SERVING, whatever is answered and however long', () => {
    const rig = new Rig();
    expect(rig.backend.checked(false, rig.now)).toMatchObject({ kind: 'parked', reason: 'not_serving', parkMs: null });
    expect(rig.backend.checked(false, rig.now)).toBeNull();
    expect(rig.pass(1e9).meets(success)).toBeNull();
    expect([rig.standing, rig.stats.parked_for_ms, rig.stats.park_reason]).toEqual(['parked', null, 'not_serving']);
    expect(rig.health.parkedUntil(rig.id)).toBe(Number.POSITIVE_INFINITY);
    expect(rig.backend.checked(true, rig.now)).toMatchObject({
      kind: 'released',
      reason: 'not_serving',
      route: 'serving',
      parkMs: null,
    });
    expect([rig.standing, rig.stats.park_reason]).toEqual(['clean', null]);
  });
});

describe('by hand', () => {
  it('HEA-65: a park without a time ends by unpark alone', () => {
    const rig = new Rig();
    expect(rig.backend.park(null, rig.now)).toEqual({
      kind: 'parked',
      id: 'a',
      reason: 'operator',
      parkMs: null,
      streak: 0,
      failures: 0,
      transport: false,
    });
    rig.meets(success);
    rig.backend.connected(rig.now);
    rig.backend.checked(true, rig.now);
    expect(rig.pass(1e9).standing).toBe('parked');
    expect([rig.stats.parked_for_ms, rig.stats.park_reason]).toEqual([null, 'operator']);
    expect(rig.backend.unpark(rig.now)).toMatchObject({ kind: 'released', route: 'operator', parkMs: null });
    expect([rig.standing, rig.health.calm]).toEqual(['clean', true]);
  });

  it('HEA-66: one with a time ends at its time, exactly, and needs no probe', () => {
    const rig = new Rig();
    expect(rig.backend.park(5000, rig.now)).toMatchObject({ parkMs: 5000 });
    expect([rig.pass(4999.9).standing, rig.stats.parked_for_ms]).toEqual(['parked', 1]);
    expect(rig.pass(0.1).backend.unpark(rig.now)).toBeNull();
    rig.backend.park(5000, rig.now);
    expect([rig.pass(5000).stats.park_reason, rig.standing, rig.health.calm]).toEqual([null, 'clean', true]);
    expect(rig.backend.unpark(rig.now)).toBeNull();
  });

  it('HEA-67: unpark ends parks of every kind, and what led to them', () => {
    const rig = new Rig();
    rig.meets(limit());
    rig.parked();
    rig.backend.checked(false, rig.now);
    rig.backend.park(null, rig.now);
    expect(rig.backend.unpark(rig.now)).toMatchObject({ kind: 'released', reason: 'operator' });
    expect([rig.standing, rig.health.calm]).toEqual(['recent', true]);
    expect(rig.stats).toMatchObject({ park_streak: 0, threshold_breached: false, rate_limited_for_ms: 0 });
    expect(rig.meets(limit())).toMatchObject({ parkMs: 10_000 });
    expect(new Rig().parked().pass(40_000).backend.unpark(1_040_000)).toMatchObject({
      reason: 'consecutive_failures',
      parkMs: 0,
    });
  });
});
