import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/balance/blame.js';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth, type Mark } from '../../../src/balance/health-types.js';
import type { PickQuery } from '../../../src/balance/types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { tiered, unguarded } from './health.js';
import { failure, success } from './health-rig.js';
import { counts, picked, pool, query } from './pool.js';

/** A picker and the tracker that it asks, fed as the proxy feeds it: an attempt begins in the turn of its pick. */
class Pool {
  private readonly health = createHealth(defaultHealth);
  private readonly picker = tiered(this.health);
  private readonly candidates;
  now = 1_000_000;

  constructor(text: string) {
    this.candidates = pool(text);
  }

  start(asked: PickQuery = query()): { readonly id: string; readonly end: (verdict: Verdict) => void } {
    const id = picked(this.picker.pick(this.candidates, { ...asked, now: this.now }));
    const backend = this.health.of(backendId(id));
    const mark: Mark = backend.began(this.now);
    return { id, end: (verdict) => backend.ended(mark, verdict, this.now, 0) };
  }

  /** So many calls at once, all of which end so. */
  burst(count: number, verdictOf: (id: string) => Verdict, asked?: PickQuery): string {
    const calls = Array.from({ length: count }, () => this.start(asked));
    for (const { id, end } of calls) end(verdictOf(id));
    return calls.map(({ id }) => id).join('');
  }
}

/** b fails every call. */
const withoutB = (id: string): Verdict => (id === 'b' ? failure : success);

/** One b among twelve. */
const oneB = /^(?=.{12}$)[ac]*b[ac]*$/;

describe('picks and the health that they come to', () => {
  it('BAL-07, BAL-08: of 12 calls at once after a park one is the probe, and a probe that fails parks again', () => {
    const all = new Pool('a b c');
    all.burst(9, withoutB);
    expect(counts(all.burst(12, withoutB))).toEqual({ a: 6, c: 6 });
    all.now += 29_999;
    expect(counts(all.burst(12, withoutB))).toEqual({ a: 6, c: 6 });
    all.now += 1;
    expect(all.burst(12, withoutB)).toMatch(oneB);
    all.now += 59_999;
    expect(counts(all.burst(12, withoutB))).toEqual({ a: 6, c: 6 });
    all.now += 1;
    expect(all.burst(12, () => success)).toMatch(oneB);
    expect(counts(all.burst(12, () => success))).toEqual({ a: 4, b: 4, c: 4 });
  });

  it('BAL-09: where no call has a policy, the probe comes when the grace is over, among backends that are well', () => {
    const all = new Pool('a b');
    all.burst(6, withoutB, unguarded);
    all.now += 30_000 + defaultHealth.probeGrace - 1;
    expect(all.burst(4, withoutB, unguarded)).toBe('aaaa');
    all.now += 1;
    expect(all.burst(4, () => success, unguarded)).toBe('baaa');
    expect(counts(all.burst(4, () => success, unguarded))).toEqual({ a: 2, b: 2 });
  });

  it('BAL-11: a pool that has failed wholly is tried, and one answer brings its backend back', () => {
    const all = new Pool('a b');
    all.burst(6, () => failure);
    const again = all.start();
    expect('ab').toContain(again.id);
    again.end(success);
    expect(all.burst(4, () => success)).toBe(again.id.repeat(4));
  });
});
