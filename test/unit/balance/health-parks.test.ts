import { describe, expect, it } from 'vitest';
import { failure, limit, lost, neutral, quota, Rig, success, timeout } from './health-rig.js';

describe('what parks', () => {
  it('HEA-20: three hard failures in a row of a backend that never answered park it for 30 000 ms exactly', () => {
    const rig = new Rig();
    expect(rig.meets(failure, failure)).toBeNull();
    expect(rig.standing).toBe('recent');
    expect(rig.meets(failure)).toEqual({
      kind: 'parked',
      id: 'a',
      reason: 'consecutive_failures',
      parkMs: 30_000,
      streak: 1,
      failures: 3,
      transport: false,
    });
    expect([rig.standing, rig.stats.parked_for_ms]).toEqual(['parked', 30_000]);
    expect(rig.health.parkedUntil(rig.id)).toBe(rig.now + 30_000);
    expect([rig.pass(29_999.9).standing, rig.stats.parked_for_ms]).toEqual(['parked', 1]);
    expect([rig.pass(0.1).standing, rig.stats.parked_for_ms, rig.stats.park_reason]).toEqual(['lapsed', 0, null]);
  });

  it('HEA-20: resets, statuses and deadlines count alike, and neutral ends between change nothing', () => {
    expect(new Rig().meets(lost, neutral, failure, neutral, timeout)?.kind).toBe('parked');
  });

  it('HEA-21: an answer between begins the count anew, one that leaves the rate too', () => {
    for (const answer of [success, quota]) {
      const rig = new Rig();
      expect(rig.meets(failure, failure, answer, failure, failure)).toBeNull();
      expect(rig.stats.consecutive_failures).toBe(2);
    }
  });

  it('HEA-22: three overlapping timeouts of a backend that answers otherwise are a breach, no park', () => {
    const rig = new Rig();
    rig.meets(success);
    expect(rig.overlap(timeout, timeout, timeout)).toEqual([null, null, null]);
    expect(rig.standing).toBe('breached');
    expect(rig.stats).toMatchObject({
      threshold_breached: true,
      parked_for_ms: 0,
      park_reason: null,
      timeouts: 3,
      failure_rate: 0.271,
    });
  });

  it('HEA-23: a backend that answered within the minute is parked at its 7th failure from a rate of zero', () => {
    const rig = new Rig();
    rig.meets(success);
    expect(rig.meets(...Array.from({ length: 6 }, () => failure))).toBeNull();
    expect(rig.stats.failure_rate).toBe(0.469);
    expect(rig.meets(failure)).toMatchObject({ kind: 'parked', parkMs: 30_000, failures: 7 });
    expect(rig.stats.failure_rate).toBe(0.522);
  });

  it('HEA-23: a rate of the floor itself is enough', () => {
    const rig = new Rig({ rateAlpha: 0.5, hardFailures: 1 });
    rig.meets(success);
    expect(rig.meets(failure)).toMatchObject({ kind: 'parked' });
  });

  it('HEA-24: an answer counts for 60 s, exactly', () => {
    const rig = new Rig();
    rig.meets(success);
    rig.pass(59_999.9);
    expect(rig.meets(failure, failure, failure)).toBeNull();
    expect(rig.pass(0.1).meets(failure)).toMatchObject({ kind: 'parked' });
  });

  it('HEA-25: a success makes the rate nine tenths of what it was; a quota and a neutral end leave it', () => {
    const rig = new Rig();
    rig.meets(failure, failure);
    expect(rig.stats.failure_rate).toBe(0.19);
    rig.meets(quota, neutral);
    expect(rig.stats.failure_rate).toBe(0.19);
    rig.meets(success);
    expect(rig.stats.failure_rate).toBe(0.171);
    rig.pass(1e9);
    expect(rig.stats.failure_rate).toBe(0.171);
  });

  it('HEA-26: for 30 s after a failure, exactly, unless it answers, a backend stands as recent', () => {
    const rig = new Rig();
    expect(rig.standing).toBe('clean');
    rig.meets(failure);
    expect([rig.standing, rig.stats.recent_failure]).toEqual(['recent', true]);
    expect(rig.pass(29_999.9).standing).toBe('recent');
    expect([rig.pass(0.1).standing, rig.stats.recent_failure]).toEqual(['clean', false]);
    rig.meets(failure, success);
    expect(rig.standing).toBe('clean');
  });

  it('HEA-27: a breach ends after 30 s without a failure: one call probes it, and a failure then decides anew', () => {
    const rig = new Rig();
    rig.meets(success, failure, failure, failure);
    expect(rig.pass(29_999.9).standing).toBe('breached');
    expect(rig.pass(0.1).standing).toBe('lapsed');
    expect([rig.mayProbe(true), rig.mayProbe(false)]).toEqual([true, false]);
    const probe = rig.began();
    expect(rig.standing).toBe('probing');
    expect(rig.end(probe, failure)).toBeNull();
    expect(rig.standing).toBe('breached');
    rig.pass(30_000).meets(success);
    expect([rig.standing, rig.stats.threshold_breached]).toEqual(['clean', false]);
  });

  it('HEA-27: without a success for a minute the probe of a breach parks it', () => {
    const rig = new Rig();
    rig.meets(success, failure, failure, failure);
    expect(rig.pass(60_000).meets(failure)).toMatchObject({ kind: 'parked', parkMs: 30_000, streak: 1 });
  });
});

describe('how long', () => {
  it('HEA-30: a failed probe parks for 60 s, the next for 120 s, and so on', () => {
    const rig = new Rig().parked();
    const lengths: unknown[] = [];
    for (const lapse of [30_000, 60_000, 120_000, 120_000]) {
      rig.pass(lapse);
      expect(rig.standing).toBe('lapsed');
      const change = rig.meets(failure);
      lengths.push(change?.kind === 'parked' ? [change.parkMs, change.streak] : change);
    }
    expect(lengths).toEqual([
      [60_000, 2],
      [120_000, 3],
      [120_000, 4],
      [120_000, 5],
    ]);
  });

  it('HEA-31: an overlapping burst of failures takes one step, not four', () => {
    const rig = new Rig();
    const changes = rig.overlap(...Array.from({ length: 10 }, () => failure));
    expect(changes.map((change) => change?.kind ?? null)).toEqual([
      null,
      null,
      'parked',
      ...Array.from({ length: 7 }, () => null),
    ]);
    expect(rig.stats).toMatchObject({ parked_for_ms: 30_000, park_streak: 1, consecutive_failures: 10 });
  });

  it('HEA-31: one that began before the park and fails after it has lapsed does not park either', () => {
    const rig = new Rig();
    const old = rig.began();
    rig.parked().pass(30_000);
    expect(rig.end(old, failure)).toBeNull();
    expect(rig.standing).toBe('lapsed');
  });

  it('HEA-31: nor does one that began while it was parked: where all are parked, all are tried', () => {
    const rig = new Rig().parked().pass(10_000);
    expect(rig.overlap(failure, failure)).toEqual([null, null]);
    expect(rig.stats).toMatchObject({ parked_for_ms: 20_000, park_streak: 1 });
    rig.pass(20_000);
    expect(rig.meets(failure)).toMatchObject({ parkMs: 60_000, streak: 2 });
  });

  it('HEA-32: a success ends the park, and the next one is a first one', () => {
    const rig = new Rig().parked().pass(30_000);
    rig.meets(failure);
    rig.pass(60_000);
    expect(rig.meets(success)).toEqual({
      kind: 'released',
      id: 'a',
      reason: 'consecutive_failures',
      route: 'lapsed_probe',
      parkMs: 0,
    });
    expect(rig.standing).toBe('clean');
    expect(rig.stats).toMatchObject({ park_streak: 0, consecutive_failures: 0, parked_for_ms: 0, park_reason: null });
    expect(rig.pass(60_000).meets(failure, failure, failure)).toMatchObject({ parkMs: 30_000, streak: 1 });
  });

  it('HEA-32: the success of an attempt from before the park, and one while it lasts, end it too', () => {
    const rig = new Rig();
    const old = rig.began();
    rig.parked().pass(10_000);
    expect(rig.end(old, success)).toMatchObject({ kind: 'released', route: 'success', parkMs: 20_000 });
    expect(rig.standing).toBe('clean');
    expect(new Rig().parked().meets(quota)).toMatchObject({ kind: 'released', route: 'success' });
  });

  it('HEA-33: a neutral end ends no park', () => {
    const rig = new Rig().parked();
    expect(rig.meets(neutral)).toBeNull();
    expect(rig.stats.parked_for_ms).toBe(30_000);
  });
});

describe('rate limits, with --health-rate-limit', () => {
  it('HEA-50: park for 10 s, 20 s, 40 s, 60 s, 60 s, each exactly', () => {
    const rig = new Rig();
    const lengths: unknown[] = [];
    for (let i = 0; i < 5; i += 1) {
      const change = rig.meets(limit());
      if (change?.kind !== 'parked') throw new Error('not parked');
      lengths.push(change.parkMs);
      expect([change.reason, rig.standing, rig.stats.rate_limited_for_ms]).toEqual([
        'rate_limited',
        'rate_limited',
        change.parkMs,
      ]);
      expect(rig.health.parkedUntil(rig.id)).toBe(rig.now + (change.parkMs ?? 0));
      expect(rig.pass((change.parkMs ?? 0) - 0.1).standing).toBe('rate_limited');
      rig.pass(0.1);
      expect([rig.stats.park_reason, rig.stats.rate_limited_for_ms]).toEqual([null, 0]);
      expect(rig.standing).not.toBe('rate_limited');
    }
    expect(lengths).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(rig.stats).toMatchObject({ rate_limited: 5, rate_limited_for_ms: 0 });
  });

  it("HEA-51: the server's delay counts, at most 60 s; none at all parks nobody", () => {
    expect(new Rig().meets(limit(2500))).toMatchObject({ parkMs: 2500 });
    expect(new Rig().meets(limit(60_001))).toMatchObject({ parkMs: 60_000 });
    const rig = new Rig();
    expect(rig.meets(limit(0))).toBeNull();
    expect([rig.standing, rig.health.calm]).toEqual(['recent', true]);
    expect(rig.meets(limit())).toMatchObject({ parkMs: 10_000 });
  });

  it('HEA-52: 120 s without one, exactly, or an answer, and the next is a first one', () => {
    for (const [rest, parkMs] of [
      [119_999.9, 20_000],
      [120_000, 10_000],
    ] as const) {
      const rig = new Rig();
      rig.meets(limit());
      expect(rig.pass(rest).meets(limit())).toMatchObject({ parkMs });
    }
    const rig = new Rig();
    rig.meets(limit());
    expect(rig.pass(10_000).meets(success, limit())).toMatchObject({ parkMs: 10_000, streak: 1 });
  });

  it('HEA-53: they are no hard failures: two of them and a failure park nobody, nor do they move the rate', () => {
    const rig = new Rig();
    rig.meets(limit(1), limit(1), failure);
    expect(rig.stats).toMatchObject({
      consecutive_failures: 3,
      consecutive_hard_failures: 1,
      threshold_breached: false,
      failure_rate: 0.1,
    });
    expect(rig.pass(2).standing).toBe('recent');
  });

  it('HEA-54: an overlapping burst takes one step; a longer delay of the server counts still, a shorter one does not', () => {
    const rig = new Rig();
    const changes = rig.overlap(limit(), limit(), limit(), limit(30_000), limit(20_000));
    expect(changes.map((change) => (change?.kind === 'parked' ? [change.parkMs, change.streak] : null))).toEqual([
      [10_000, 1],
      null,
      null,
      [30_000, 1],
      null,
    ]);
    expect(rig.stats.rate_limited_for_ms).toBe(30_000);
  });

  it('HEA-54: one that began before the last park, after an answer, counts by its own delay alone', () => {
    const rig = new Rig();
    const old = [rig.began(), rig.began()];
    rig.meets(limit(), success);
    expect(rig.pass(5000).end(old[0] ?? -2, limit())).toBeNull();
    expect(rig.end(old[1] ?? -2, limit(30_000))).toMatchObject({ parkMs: 30_000, streak: 1 });
  });

  it('HEA-54: an answer does not end one before its time', () => {
    const rig = new Rig();
    rig.meets(limit());
    expect(rig.meets(success)).toBeNull();
    expect([rig.standing, rig.stats.park_reason]).toEqual(['rate_limited', 'rate_limited']);
    expect(rig.pass(10_000).standing).toBe('clean');
  });

  it('HEA-54: one that is parked by failures too is parked', () => {
    const rig = new Rig();
    rig.meets(limit());
    rig.parked();
    expect([rig.standing, rig.stats.park_reason]).toEqual(['parked', 'consecutive_failures']);
  });
});
