import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { failure, limit, loser, neutral, Rig, success, timeout } from './health-rig.js';

describe('latency', () => {
  const rigOf = (...samples: readonly number[]): Rig => {
    const rig = new Rig();
    for (const ms of samples) rig.end(rig.began(), success, ms);
    return rig;
  };

  it('HEA-70: counts from three samples on; before, a backend scores 1000 ms', () => {
    const scores = [[], [100], [100, 200], [100, 200, 300]].map((samples) => {
      const rig = rigOf(...samples);
      return rig.backend.latency(rig.now);
    });
    expect(scores).toEqual([1000, 1000, 1000, expect.closeTo(0.7 * 130 + 0.3 * 300, 6)]);
    expect(rigOf(100, 200, 300).stats).toMatchObject({ ewma_ms: 181, samples: 3 });
    expect(rigOf(1.26).stats.ewma_ms).toBe(1.3);
  });

  it('HEA-71: is thrown away when its last sample is 5 min old, exactly', () => {
    const rig = rigOf(100, 100, 100);
    rig.pass(299_999.9);
    expect(rig.backend.latency(rig.now)).toBe(100);
    rig.pass(0.1);
    expect([rig.backend.latency(rig.now), rig.stats.ewma_ms, rig.stats.samples]).toEqual([1000, null, 0]);
    rig.end(rig.began(), success, 7);
    expect(rig.stats).toMatchObject({ ewma_ms: 7, samples: 1 });
  });

  it('HEA-72: of a loser or a cancelled call counts as far as it was waited for, and only where that is more', () => {
    const rig = rigOf(100, 100, 100);
    rig.end(rig.began(), loser, 100);
    rig.end(rig.began(), loser, 40);
    rig.end(rig.began(), neutral, 5000);
    expect(rig.stats).toMatchObject({ ewma_ms: 100, samples: 3 });
    rig.end(rig.began(), loser, 200);
    expect(rig.stats).toMatchObject({ ewma_ms: 130, samples: 4 });
    const fresh = new Rig();
    fresh.end(fresh.began(), loser, 1000);
    expect(fresh.stats.samples).toBe(0);
    fresh.end(fresh.began(), loser, 1001);
    expect(fresh.stats).toMatchObject({ ewma_ms: 1001, samples: 1 });
  });

  it('HEA-73: of a timeout is at least 1001 ms; of another failure it counts from 2000 ms on', () => {
    const timed = new Rig();
    timed.end(timed.began(), timeout, 50);
    expect(timed.stats.ewma_ms).toBe(1001);
    timed.end(timed.began(), timeout, 2001);
    expect(timed.stats.ewma_ms).toBe(1301);
    const failed = new Rig();
    failed.end(failed.began(), failure, 1999.9);
    expect(failed.stats.ewma_ms).toBeNull();
    failed.end(failed.began(), failure, 2000);
    expect(failed.stats.ewma_ms).toBe(2000);
  });
});

describe('the table of all backends', () => {
  it('HEA-33: losers, cancels and other neutral ends leave everything as it is', () => {
    const rig = new Rig();
    rig.meets(...Array.from({ length: 20 }, () => loser), neutral);
    expect([rig.standing, rig.health.calm]).toEqual(['clean', true]);
    expect(rig.stats).toMatchObject({ calls: 21, successes: 0, failures: 0, consecutive_failures: 0, failure_rate: 0 });
  });

  it('is calm while every backend is clean or recent', () => {
    const rig = new Rig();
    expect(rig.health.calm).toBe(true);
    rig.meets(failure, failure);
    expect(rig.health.calm).toBe(true);
    rig.meets(failure);
    const other = rig.health.of(backendId('b'));
    other.park(null, rig.now);
    expect(rig.health.calm).toBe(false);
    rig.meets(success);
    expect(rig.health.calm).toBe(false);
    other.unpark(rig.now);
    expect(rig.health.calm).toBe(true);
  });

  it('an unknown backend is clean', () => {
    const { health, now } = new Rig();
    expect([health.standing(backendId('x'), now), health.parkedUntil(backendId('x'))]).toEqual(['clean', 0]);
  });

  it('keeps one object for a backend', () => {
    const rig = new Rig();
    expect(rig.health.of(rig.id)).toBe(rig.backend);
  });

  it('HEA-68: a backend that left the set takes its park along, and what ends there counts for nobody', () => {
    const rig = new Rig();
    const mark = rig.began();
    rig.parked().pass(1000);
    expect(rig.health.forget(rig.id, rig.now)).toMatchObject({
      kind: 'released',
      reason: 'consecutive_failures',
      route: 'removed',
      parkMs: 29_000,
    });
    expect([rig.health.calm, rig.standing]).toEqual([true, 'clean']);
    expect(rig.end(mark, success)).toBeNull();
    expect(rig.meets(failure, limit(), failure, failure, failure)).toBeNull();
    expect(rig.backend.checked(false, rig.now)).toBeNull();
    expect(rig.backend.connected(rig.now)).toBeNull();
    expect([rig.health.calm, rig.standing]).toEqual([true, 'clean']);
    expect(rig.health.of(rig.id)).not.toBe(rig.backend);
    expect(rig.health.forget(backendId('x'), rig.now)).toBeNull();
  });

  it('HEA-69: the stats name what /backends tells', () => {
    const rig = new Rig();
    rig.end(rig.began(), success, 12.34);
    rig.end(rig.began(), timeout, 1500);
    rig.meets(limit(2000));
    expect(rig.stats).toEqual({
      calls: 3,
      successes: 1,
      failures: 1,
      timeouts: 1,
      rate_limited: 1,
      failure_rate: 0.1,
      consecutive_failures: 2,
      consecutive_hard_failures: 1,
      threshold_breached: false,
      parked_for_ms: 0,
      park_reason: 'rate_limited',
      park_streak: 0,
      rate_limited_for_ms: 2000,
      recent_failure: true,
      standing: 'rate_limited',
      ewma_ms: 458.6,
      samples: 2,
    });
  });
});
