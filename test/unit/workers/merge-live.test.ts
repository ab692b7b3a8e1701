import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { mostMethods, spanOf } from '../../../src/admin/live-math.js';
import type { ProgramMeters } from '../../../src/telemetry/metrics/meters.js';
import { mergeLive, type OwnFacts, RetiredTotals } from '../../../src/workers/merge-live.js';
import { World } from '../admin/backends.js';
import { answer, attemptOf, createMeters, play } from '../telemetry/metrics/rig.js';

const own: OwnFacts = {
  instance: 'run',
  at: 1_700_000_000_000,
  uptime_ms: 5000,
  draining: false,
  drained: false,
  config: { path: '/etc/c.json', version: 'v1', rejected: false },
};

/** As a worker tells it that has counted so. */
function snapshot(meters: ProgramMeters, rest: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return { ...new World().watch.snapshot(), ...meters.live(), ...rest };
}

const methods = ['/a.S/M', '/a.S/N', '/b.T/O'];

interface Played {
  readonly path: string;
  readonly eighths: number;
  readonly how: 'first' | 'retry' | 'hedge';
}

/** A call that takes so many eighths of a second; a retried one fails first, a hedged one is answered by its hedge. */
function count(meters: ProgramMeters, { path, eighths, how }: Played): void {
  const last = attemptOf({ endedAt: eighths * 125 });
  const first = attemptOf({ endedAt: eighths * 125, end: how === 'hedge' ? null : answer(14) });
  const more = how === 'first' ? [] : [{ ...last, cause: how, previous: 1, startedAt: 1 } as const];
  play(meters, { path, named: true, attempts: how === 'first' ? [last] : [first, ...more] });
}

const call = fc.record<Played>({
  path: fc.constantFrom(...methods),
  eighths: fc.integer({ min: 1, max: 400 }),
  how: fc.constantFrom('first', 'retry', 'hedge'),
});

describe('the snapshots of several workers', () => {
  it('WRK-11: of k meters that each got some of the calls it is what one tells that got all', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(call, fc.nat({ max: 3 }))), fc.integer({ min: 1, max: 4 }), (all, k) => {
        const parts = Array.from({ length: k }, createMeters);
        const whole = createMeters();
        for (const [one, at] of all) {
          count(whole, one);
          const part = parts[at % k];
          if (part !== undefined) count(part, one);
        }
        const told = mergeLive(
          parts.map((part) => snapshot(part)),
          own,
        );
        const { methods: merged, ...rest } = told;
        const { methods: wanted, ...numbers } = whole.live();
        expect(rest).toMatchObject(numbers);
        expect([rest.codes, rest.reasons]).toEqual([numbers.codes, numbers.reasons]);
        const byName = (rows: LiveSnapshot['methods']): LiveSnapshot['methods'] =>
          [...rows].sort((a, b) => b.ended - a.ended || a.method.localeCompare(b.method));
        expect(byName(merged)).toEqual(byName(wanted));
        // Those with most calls first.
        expect(merged.map(({ ended }) => ended)).toEqual(wanted.map(({ ended }) => ended));
      }),
      { numRuns: 60 },
    );
  });

  it('WRK-11: what the program is as a whole the primary says', () => {
    const told = mergeLive([snapshot(createMeters(), { draining: true, drained: true })], own);
    expect(told).toMatchObject({ ...own, version: '1.2.3' });
    expect(mergeLive([snapshot(createMeters())], { ...own, draining: true, drained: true })).toMatchObject({
      draining: true,
      drained: true,
    });
  });

  it('WRK-11: what each has for itself is added up', () => {
    const bucket = { tokens: 9, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 2 };
    const workers = [1, 2].map((n) =>
      snapshot(createMeters(), {
        in_flight: n,
        clients: n + 10,
        replay: { held: n, limit: 100 },
        throttle: { ...bucket, suppressed: n },
      }),
    );
    expect(mergeLive(workers, own)).toMatchObject({
      in_flight: 3,
      clients: 23,
      replay: { held: 3, limit: 200 },
      throttle: { tokens: 18, max_tokens: 20, suppressed: 3 },
      backends: [{ name: 'b1', in_flight: 4, connections: 2 }],
    });
    expect(mergeLive([snapshot(createMeters())], own).throttle).toBeNull();
  });

  it('WRK-11: the program is ready where one worker has a connection, and is not while it drains', () => {
    const [up, off] = [true, false].map((ready) => snapshot(createMeters(), { ready }));
    if (up === undefined || off === undefined) throw new Error('both are made');
    expect(mergeLive([off, up], own).ready).toBe(true);
    expect(mergeLive([off, off], own).ready).toBe(false);
    expect(mergeLive([off, up], { ...own, draining: true }).ready).toBe(false);
    expect(mergeLive([], own).ready).toBe(false);
  });

  it('WRK-11: of the methods are told those that have most calls over all workers', () => {
    const meters = [createMeters(), createMeters()];
    for (const [worker, one] of meters.entries())
      for (let at = 0; at < mostMethods; at += 1) {
        const path = at === 7 ? '/p.S/Both' : `/p.S/M${worker}-${at}`;
        for (let n = 0; n < (at === 7 ? 2 : 3); n += 1) play(one, { path, named: true });
      }
    const told = mergeLive(
      meters.map((one) => snapshot(one)),
      own,
    );
    expect(told.methods).toHaveLength(mostMethods);
    expect(told.methods[0]).toMatchObject({ method: 'p.S/Both', ended: 4 });
    expect(told.calls.ended).toBe(2 * 3 * (mostMethods - 1) + 4);
  });
});

describe('workers that are gone', () => {
  function busy(how: Played['how'], times: number): ProgramMeters {
    const meters = createMeters();
    for (let n = 0; n < times; n += 1) count(meters, { path: '/a.S/M', eighths: n + 1, how });
    return meters;
  }
  const bucket = { tokens: 9, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 2 };

  it('WRK-12: no total falls when a worker dies, and differences are of what happened since', () => {
    const retired = new RetiredTotals();
    const lives = [busy('hedge', 5), busy('retry', 3)].map((meters) => snapshot(meters, { throttle: bucket }));
    const before = mergeLive(lives, own, retired);
    const [first, second] = lives;
    if (first === undefined || second === undefined) throw new Error('both are made');
    retired.retire(first);
    const after = mergeLive([second, snapshot(busy('first', 2))], { ...own, uptime_ms: 6000 }, retired);
    const span = spanOf(after, before);
    expect(span).toMatchObject({ calls: { ended: 2, ok: 2, saved: 0, hedged: 0 }, codes: { OK: 2 }, suppressed: 0 });
    expect(span?.attempts).toEqual([2, 0, 0, 0, 0, 0]);
    const sum = (counts: readonly number[] | undefined): number => (counts ?? []).reduce((so, one) => so + one, 0);
    expect([sum(span?.latency.calls.counts), sum(span?.latency.first_cut.counts)]).toEqual([2, 0]);
    expect(after.methods).toMatchObject([{ method: 'a.S/M', ended: 10, hedged: 5 }]);
  });

  it('WRK-12: what they had of the moment goes with them', () => {
    const retired = new RetiredTotals();
    retired.retire(snapshot(busy('first', 2), { in_flight: 7, clients: 3 }));
    const told = mergeLive([snapshot(createMeters(), { in_flight: 1, clients: 1 })], own, retired);
    expect(told).toMatchObject({ in_flight: 1, clients: 1, replay: { held: 15, limit: 1000 } });
    expect(told.backends).toMatchObject([{ in_flight: 2, connections: 1 }]);
  });

  it('WRK-12: totals stand while no worker is there', () => {
    const retired = new RetiredTotals();
    for (const times of [2, 3]) retired.retire(snapshot(busy('first', times)));
    expect(mergeLive([], own, retired)).toMatchObject({ calls: { ended: 5 }, codes: { OK: 5 }, backends: [] });
    expect(new RetiredTotals().totals).toBeNull();
  });

  it('WRK-12: counts of backends stay with their names, and names that are gone are forgotten where there are many', () => {
    const retired = new RetiredTotals();
    const [row] = snapshot(createMeters()).backends;
    if (row === undefined) throw new Error('there is a backend');
    const rows = (from: number, to: number): LiveSnapshot['backends'] =>
      Array.from({ length: to - from }, (_, at) => ({
        ...row,
        name: `b${from + at}`,
        calls: 1,
        losses: { failed: 1 },
      }));
    retired.retire(snapshot(createMeters(), { backends: rows(0, 300) }));
    retired.retire(snapshot(createMeters(), { backends: rows(200, 500) }));
    expect(retired.backends.size).toBe(500);
    expect(retired.backends.get('b250')).toMatchObject({ calls: 2, losses: { failed: 2 } });
    expect(mergeLive([snapshot(createMeters(), { backends: rows(250, 251) })], own, retired).backends).toMatchObject([
      { name: 'b250', calls: 3, losses: { failed: 3 } },
    ]);
    retired.retire(snapshot(createMeters(), { backends: rows(499, 501) }));
    expect([...retired.backends.keys()]).toEqual(['b499', 'b500']);
  });
});
