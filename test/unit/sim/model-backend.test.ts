import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status, statusName } from '../../../src/grpc/status.js';
import type { Fate } from '../../../src/sim/fate.js';
import { type BackendTerms, type Job, ModelBackend } from '../../../src/sim/model-backend.js';
import { statusEnd } from '../../../src/sim/status-end.js';
import { createVirtualTime } from '../../../src/sim/virtual-time.js';

/** A backend with a log of what became of its jobs. */
function rig(terms: Partial<BackendTerms> = {}) {
  const time = createVirtualTime();
  const backend = new ModelBackend('b1', time, { capacity: 1, cancelledWork: 'stops', ...terms });
  const log: string[] = [];
  const job = (name: string, after: number | null): Job => ({
    fate: (): Fate => (after === null ? null : { after: millis(after), end: statusEnd(Status.OK, [], false) }),
    ended: ({ code }) => log.push(`${time.now} ${name} ${statusName(code)}`),
  });
  const arrive = (name: string, after: number | null): Job => {
    const made = job(name, after);
    backend.arrive(made);
    return made;
  };
  const at = (moment: number, action: () => void): void => time.at(millis(moment), 'outside', action);
  const run = (): readonly string[] => {
    while (time.step());
    return log;
  };
  return { backend, arrive, at, run };
}

describe('a model of a backend', () => {
  it('SIM-10: works on as many as it has capacity for, the others in order of arrival', () => {
    const { backend, arrive, run } = rig({ capacity: 2 });
    for (const [name, after] of [
      ['a', 10],
      ['b', 30],
      ['c', 10],
      ['d', 10],
    ] as const)
      arrive(name, after);
    expect([backend.load, backend.peak]).toEqual([4, 4]);
    expect(run()).toEqual(['10 a OK', '20 c OK', '30 b OK', '30 d OK']);
    expect([backend.load, backend.peak]).toEqual([0, 4]);
  });

  it('SIM-11: what is cancelled frees its place at once, where work stops', () => {
    const { backend, arrive, at, run } = rig();
    const first = arrive('a', 100);
    arrive('b', 10);
    at(20, () => backend.cancel(first));
    expect(run()).toEqual(['30 b OK']);
  });

  it('SIM-11: and when its work is done, where that goes on; nobody is told', () => {
    const { backend, arrive, at, run } = rig({ cancelledWork: 'goes on' });
    const first = arrive('a', 100);
    arrive('b', 10);
    at(20, () => {
      backend.cancel(first);
      expect(backend.load).toBe(1);
    });
    expect(run()).toEqual(['110 b OK']);
  });

  it('SIM-11: what never would have been answered frees its place in either case', () => {
    for (const cancelledWork of ['stops', 'goes on'] as const) {
      const { backend, arrive, at, run } = rig({ cancelledWork });
      const first = arrive('a', null);
      arrive('b', 10);
      at(20, () => backend.cancel(first));
      expect(run()).toEqual(['30 b OK']);
    }
  });

  it('SIM-11: what waits is dropped in either case', () => {
    for (const cancelledWork of ['stops', 'goes on'] as const) {
      const { backend, arrive, at, run } = rig({ cancelledWork });
      arrive('a', 100);
      const second = arrive('b', 100);
      arrive('c', 10);
      at(20, () => backend.cancel(second));
      expect(run()).toEqual(['100 a OK', '110 c OK']);
    }
  });

  it('SIM-08: going down ends all that is there, and nothing of it is heard later', () => {
    const { backend, arrive, at, run } = rig();
    arrive('a', 100);
    arrive('b', 10);
    at(20, () => {
      backend.goDown();
      expect([backend.link, backend.load]).toEqual(['backoff', 0]);
    });
    at(50, () => {
      backend.comeUp();
      expect(backend.link).toBe('ready');
      arrive('c', 10);
    });
    expect(run()).toEqual(['20 a UNAVAILABLE', '20 b UNAVAILABLE', '60 c OK']);
  });

  it('SIM-08: of two outages at once it is up after the later one', () => {
    const { backend } = rig();
    backend.goDown();
    backend.goDown();
    backend.comeUp();
    expect(backend.link).toBe('backoff');
    backend.comeUp();
    expect(backend.link).toBe('ready');
  });
});
