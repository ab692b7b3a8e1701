import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BalancingConfig } from '../../../src/grpc/balancing-config.js';
import { seededRandom } from '../../../src/sim/seeded-random.js';
import { retrying, ScriptedHealth, tiered } from './health.js';
import { Backend, counts, ids, type Link, picked, picks, pool, query, roundRobin } from './pool.js';

/** `a5 b1`: ids of one letter with their weights. */
function weighted(text: string): Backend[] {
  return text.split(' ').map((part) => {
    const backend = new Backend(part.charAt(0));
    backend.weight = Number(part.slice(1));
    return backend;
  });
}

const names = 'abcdefgh';
const someWeights = fc
  .array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
  .map((weights) => weighted(weights.map((weight, at) => `${names.charAt(at)}${weight}`).join(' ')));

function sum(backends: readonly Backend[]): number {
  return backends.reduce((total, { weight }) => total + weight, 0);
}

function shares(backends: readonly Backend[], periods: number): Record<string, number> {
  return Object.fromEntries(backends.map(({ id, weight }) => [id, weight * periods]));
}

describe('weights of round robin', () => {
  it('BAL-24: a heavy backend’s picks are spread among the others', () => {
    expect(picks(roundRobin(), weighted('a5 b1 c1'), 14)).toBe('aabacaaaabacaa');
    expect(picks(roundRobin(), weighted('a2 b1'), 6)).toBe('abaaba');
  });

  it('BAL-24: every period of first picks has each backend’s exact share, wherever it begins', () => {
    fc.assert(
      fc.property(someWeights, fc.nat(200), fc.integer({ min: 1, max: 3 }), (backends, before, periods) => {
        const picker = roundRobin();
        picks(picker, backends, before);
        expect(counts(picks(picker, backends, sum(backends) * periods))).toEqual(shares(backends, periods));
      }),
    );
  });

  it('BAL-24: no backend runs ahead of its share by as many picks as there are backends', () => {
    fc.assert(
      fc.property(someWeights, (backends) => {
        const total = sum(backends);
        const had = new Map(backends.map(({ id }) => [String(id), 0]));
        [...picks(roundRobin(), backends, total)].forEach((id, at) => {
          had.set(id, (had.get(id) ?? 0) + 1);
          for (const { id: one, weight } of backends) {
            const ahead = (had.get(one) ?? 0) - ((at + 1) * weight) / total;
            expect(Math.abs(ahead)).toBeLessThan(backends.length);
          }
        });
      }),
    );
  });

  it.each<BalancingConfig>([
    { kind: 'round_robin' },
    { kind: 'pick_first', shuffle: false },
    { kind: 'least_request', choiceCount: 2 },
  ])('BAL-03: a pool that is full is told from one that is down: %j', (config) => {
    const links = (a: Link, b: Link) => {
      const backends = weighted('a2 b1');
      for (const [at, link] of [a, b].entries()) Object.assign(backends[at] ?? {}, { link });
      return picks(tiered(new ScriptedHealth(), {}, config), backends, 1);
    };
    expect([links('full', 'backoff'), links('backoff', 'backoff'), links('full', 'idle')]).toEqual([
      'overloaded',
      'none',
      'b',
    ]);
  });

  it('BAL-24: weights that are equal are turns, whatever they are', () => {
    expect(picks(roundRobin(), weighted('a7 b7 c7'), 6)).toBe('abcabc');
  });

  it('BAL-24: who is out leaves its share to the others by their weights, and is owed nothing later', () => {
    const picker = roundRobin();
    const backends = weighted('a3 b2 c1');
    const [a] = backends;
    if (a !== undefined) a.link = 'backoff';
    expect(counts(picks(picker, backends, 30))).toEqual({ b: 20, c: 10 });
    if (a !== undefined) a.link = 'ready';
    expect(counts(picks(picker, backends, 60))).toEqual({ a: 30, b: 20, c: 10 });
  });

  it('BAL-24: a weight that changes holds from the next pick', () => {
    const picker = roundRobin();
    picks(picker, weighted('a1 b1'), 3);
    expect(counts(picks(picker, weighted('a3 b1'), 40))).toEqual({ a: 30, b: 10 });
  });

  it('BAL-25: picks that are steered share by weight as well, and do not turn the rotation', () => {
    fc.assert(
      fc.property(someWeights, fc.integer({ min: 1, max: 3 }), (backends, periods) => {
        const [alone, beside] = [roundRobin(), roundRobin()];
        const had: Record<string, number> = {};
        for (let i = 0; i < sum(backends) * periods; i += 1) {
          const id = picked(beside.pick(backends, query(ids('z'))));
          had[id] = (had[id] ?? 0) + 1;
          expect(picks(beside, backends, 1)).toBe(picks(alone, backends, 1));
        }
        for (const { id, weight } of backends) {
          expect(Math.abs((had[id] ?? 0) - weight * periods)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it('BAL-25: who could not be picked for a while is next, and then gets no more than its share', () => {
    const picker = roundRobin();
    const backends = weighted('a1 b2 c1');
    picks(picker, backends, 100, ids('a'));
    expect(counts(picks(picker, backends, 40, ids('z')))).toEqual({ a: 10, b: 20, c: 10 });
  });
});

describe('pick first', () => {
  const config: BalancingConfig = { kind: 'pick_first', shuffle: false };
  const first = () => tiered(new ScriptedHealth(), {}, config);

  it('BAL-26: takes the first in the configured order that takes a stream now, whatever the weights', () => {
    expect(picks(first(), weighted('a1 b9'), 4)).toBe('aaaa');
    expect(picks(first(), pool('a:backoff b:connecting c d'), 2)).toBe('cc');
    expect(picks(first(), pool('a:backoff b:connecting c:full'), 2)).toBe('bb');
  });

  it('BAL-26: retries go to the next, and to the first again when all were tried', () => {
    expect(picks(first(), pool('a b c'), 2, ids('a'))).toBe('bb');
    expect(picks(first(), pool('a b c'), 2, ids('abc'))).toBe('aa');
  });

  it('BAL-26: a parked first one gives way', () => {
    const health = new ScriptedHealth('a:parked@9');
    expect(picks(tiered(health, {}, config), pool('a b c'), 2)).toBe('bb');
  });

  const shuffled = (random: () => number) =>
    tiered(new ScriptedHealth(), {}, { kind: 'pick_first', shuffle: true }, random);

  it('BAL-27: with shuffleAddressList the order is drawn once', () => {
    const draws = [0.5, 0.9, 0.1];
    let drawn = 0;
    const picker = shuffled(() => draws[drawn++] ?? 0);
    const backends = pool('a b c');
    expect(
      picks(picker, backends, 3) + picks(picker, backends, 1, ids('c')) + picks(picker, backends, 1, ids('ac')),
    ).toBe('cccab');
    expect(drawn).toBe(3);
  });

  it('BAL-27: each backend is as likely as the others to be first', () => {
    const random = seededRandom(7);
    const tally = counts(Array.from({ length: 3000 }, () => picks(shuffled(random), pool('a b c'), 1)).join(''));
    for (const id of 'abc') expect(Math.abs((tally[id] ?? 0) - 1000)).toBeLessThan(120);
  });

  it('BAL-27: those that stay keep their order while others come and go', () => {
    const draws = [0.5, 0.9, 0.4, 0.7];
    const picker = shuffled(() => draws.shift() ?? 0);
    expect(picks(picker, pool('a b'), 1)).toBe('a');
    expect(picks(picker, pool('b a c'), 1)).toBe('c');
    expect(picks(picker, pool('b a d'), 1) + picks(picker, pool('b d'), 1)).toBe('ad');
  });
});

describe('least request', () => {
  function loaded(text: string): Backend[] {
    return text.split(' ').map((part) => {
      const [, id = '', load, weight] = /^(\w):(\d+)(?:\/(\d+))?$/.exec(part) ?? [];
      const backend = new Backend(id);
      backend.load = Number(load);
      backend.weight = Number(weight ?? 1);
      return backend;
    });
  }

  /** Which backend is picked when these places of those that are left are drawn. */
  function drawing(text: string, left: number, draws: readonly number[], choiceCount = 2, health = ''): string {
    let drawn = 0;
    const random = () => ((draws[drawn++] ?? 0) + 0.5) / left;
    const picker = tiered(new ScriptedHealth(health), {}, { kind: 'least_request', choiceCount }, random);
    const pick = picked(picker.pick(loaded(text), query()));
    expect(drawn).toBe(draws.length);
    return pick;
  }

  it('BAL-28: of two that are drawn the one with less load is taken, of equals the one drawn first', () => {
    expect(drawing('a:3 b:2 c:0', 3, [0, 1])).toBe('b');
    expect(drawing('a:3 b:2 c:0', 3, [1, 0])).toBe('b');
    expect(drawing('a:2 b:2 c:0', 3, [0, 1])).toBe('a');
    expect(drawing('a:2 b:2 c:0', 3, [1, 0])).toBe('b');
    expect(drawing('a:9 b:2 c:0', 3, [0, 0])).toBe('a');
  });

  it('BAL-28: choiceCount says how many are drawn', () => {
    expect(drawing('a:3 b:2 c:0', 3, [0, 1, 2], 3)).toBe('c');
  });

  it('BAL-28: load counts by weight, and idle backends by their weights alone', () => {
    expect(drawing('a:5/1 b:9/2', 2, [0, 1])).toBe('b');
    expect(drawing('a:4/1 b:9/2', 2, [0, 1])).toBe('a');
    expect(drawing('a:0/1 b:0/2', 2, [0, 1])).toBe('b');
  });

  it('BAL-28: only the best tier is drawn from, and where it has one member nothing is drawn', () => {
    expect(drawing('a:0 b:9 c:8', 2, [0, 1], 2, 'a:parked@5')).toBe('c');
    expect(drawing('a:0 b:9', 1, [], 2, 'a:parked@5')).toBe('b');
  });

  it('BAL-28: a retry draws from those that its call has not tried', () => {
    const picker = tiered(new ScriptedHealth(), {}, { kind: 'least_request', choiceCount: 2 }, seededRandom(3));
    const backends = loaded('a:0 b:5 c:6');
    const seen = Array.from({ length: 40 }, () => picked(picker.pick(backends, retrying('a'))));
    expect(new Set(seen)).toEqual(new Set(['b', 'c']));
  });

  it('BAL-28: a slow backend gets fewer calls than a quick one', () => {
    const picker = tiered(new ScriptedHealth(), {}, { kind: 'least_request', choiceCount: 2 }, seededRandom(5));
    const backends = loaded('a:0 b:0 c:0');
    const [slow, ...quick] = backends;
    let text = '';
    for (let i = 0; i < 300; i += 1) {
      const id = picked(picker.pick(backends, query()));
      text += id;
      // The slow one keeps each call for ten turns; the others are done at once.
      if (slow !== undefined && id === slow.id) slow.load += 1;
      if (slow !== undefined && i % 10 === 9) slow.load = Math.max(0, slow.load - 1);
    }
    const { a = 0, b = 0, c = 0 } = counts(text);
    expect(quick).toHaveLength(2);
    expect(a).toBeLessThan(60);
    expect(Math.min(b, c)).toBeGreaterThan(90);
  });
});
