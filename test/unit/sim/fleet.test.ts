import { describe, expect, it } from 'vitest';
import type { BackendId } from '../../../src/grpc/backend-id.js';
import { millis } from '../../../src/grpc/millis.js';
import { Status, statusName } from '../../../src/grpc/status.js';
import { Fleet, type VisitTerms } from '../../../src/sim/fleet.js';
import { createVirtualTime } from '../../../src/sim/virtual-time.js';
import type { World } from '../../../src/sim/world.js';
import { latency, outage, world } from './model-world.js';

/** A fleet, and visits to it: where each went, and how it ended. */
function rig(change: Partial<World> = {}) {
  const time = createVirtualTime();
  const fleet = new Fleet(time, world(change), '/shop.Cart/Add');
  const ends: string[] = [];
  const visit = (change: Partial<VisitTerms> = {}): BackendId | 'none' => {
    const sent = fleet.visit({
      tried: [],
      cause: 'first',
      guarded: true,
      random: () => 0.5,
      ended: ({ code }) => ends.push(`${time.now} ${statusName(code)}`),
      ...change,
    });
    return 'cancel' in sent ? sent.backend : 'none';
  };
  const at = (moment: number, action: () => void): void => time.at(millis(moment), 'outside', action);
  const run = (): void => {
    while (time.step());
  };
  return { time, fleet, visit, at, run, ends };
}

describe('the backends of a simulation', () => {
  it('SIM-07: take turns, and an attempt goes where its call has not been', () => {
    const { visit } = rig();
    expect([visit(), visit(), visit(), visit()]).toEqual(['b1', 'b2', 'b3', 'b1']);
    const [b1] = rig().fleet.backends;
    const [tried] = [b1 === undefined ? [] : [b1.id]];
    const other = rig();
    expect([1, 2, 3, 4].map(() => other.visit({ tried, cause: 'retry' }))).not.toContain('b1');
  });

  it('SIM-07: park who fails, until what it was parked for is over', () => {
    const { fleet, visit, at, run } = rig({ backends: 1, outages: [outage('0s-1s:UNAVAILABLE@1ms', 1)] });
    for (let moment = 0; moment < 1000; moment += 50) at(moment, () => visit());
    at(10_000, () => visit());
    run();
    expect(fleet.parks.map(({ backend, reason }) => [backend, reason])).toEqual([['b1', 'consecutive_failures']]);
    const [park] = fleet.parks;
    // Of one backend picks have no other: its first answer ends the park.
    expect(park?.from).toBeLessThan(1000);
    expect(park?.to).toBe(10_020);
  });

  it('SIM-07: park who was silent when the deadline passed, and not who lost against another', () => {
    const silent = { backends: 1, outages: [outage('0s-10s:silent', 1)] };
    const parksAfter = (late: boolean): number => {
      const { fleet, at, run } = rig(silent);
      for (let index = 0; index < 10; index += 1) {
        at(index, () => {
          const sent = fleet.visit({ tried: [], cause: 'first', guarded: true, random: () => 0.5, ended: () => {} });
          if ('cancel' in sent) at(index + 2000, () => sent.cancel(late));
        });
      }
      run();
      return fleet.parks.length;
    };
    expect([parksAfter(true), parksAfter(false)]).toEqual([1, 0]);
  });

  it('SIM-08: who is down is passed over; up again, what was lost with it is forgiven', () => {
    const terms = { backends: 2, latency: latency('100ms'), outages: [outage('50ms-1s:backend=b1:down', 2)] };
    const { fleet, visit, at, run, ends } = rig(terms);
    for (let moment = 0; moment < 40; moment += 1) at(moment, () => visit());
    at(60, () => {
      expect(fleet.parks.map(({ backend, to }) => [backend, to])).toEqual([['b1', 30_050]]);
      expect([visit(), visit()]).toEqual(['b2', 'b2']);
    });
    at(1001, () => expect([visit(), visit()].toSorted()).toEqual(['b1', 'b2']));
    run();
    expect(fleet.parks.map(({ backend, to }) => [backend, to])).toEqual([['b1', 1000]]);
    expect(ends.filter((end) => end === '50 UNAVAILABLE').length).toBe(20);
  });

  it('SIM-09: with all down there is nowhere to go, and who hopes is told when one is up', () => {
    const { fleet, visit, at, run } = rig({ outages: [outage('0s-1s:down')] });
    const told: number[] = [];
    at(500, () => {
      expect(visit()).toBe('none');
      fleet.hope(() => told.push(1));
      fleet.hope(() => told.push(2))();
    });
    run();
    expect(told).toEqual([1]);
    expect(fleet.sends).toEqual([]);
  });

  it('SIM-10: by least_request the less busy of two gets an attempt', () => {
    const { fleet, visit, at, run } = rig({
      backends: 2,
      balancing: { kind: 'least_request', choiceCount: 10 },
      latency: latency('1s'),
    });
    at(0, () => {
      for (let index = 0; index < 20; index += 1) visit();
      expect(fleet.backends.map(({ load }) => load)).toEqual([10, 10]);
    });
    run();
  });

  it('failures end with their status, by their own time', () => {
    const { visit, at, run, ends } = rig({
      failures: [{ share: 1, kind: 'status', code: Status.ABORTED, after: millis(3) }],
    });
    at(7, () => visit());
    run();
    expect(ends).toEqual(['10 ABORTED']);
  });
});
