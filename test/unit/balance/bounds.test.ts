import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { knows } from '../../../src/balance/bounds.js';
import type { Bounds } from '../../../src/balance/types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { Backend, counts, ids, type Link, picked, picks, pool, query, roundRobin } from './pool.js';

function only(target: string): Bounds {
  return { only: target, strict: true, exclude: [] };
}

function without(...exclude: string[]): Bounds {
  return { only: null, strict: false, exclude };
}

function pickOf(text: string, bounds: Bounds, tried = '', failed = ''): string {
  return picks(roundRobin(), pool(text), 1, ids(tried), ids(failed), bounds);
}

describe('a pick that may come to one target only', () => {
  it('comes to that backend, whatever its turn, and waits for it while others are ready', () => {
    expect(picks(roundRobin(), pool('a b c'), 3, [], [], only('b'))).toBe('bbb');
    for (const link of ['busy', 'idle', 'connecting']) expect(pickOf(`a b:${link} c`, only('b'))).toBe('b');
  });

  it('finds nothing where that backend is down, failed in this pick, or is not there', () => {
    expect(pickOf('a b:backoff c', only('b'))).toBe('none');
    expect(pickOf('a b c', only('b'), '', 'b')).toBe('none');
    expect(pickOf('a b c', only('x'))).toBe('none');
  });

  it('is dropped where that backend is full, and not because another is', () => {
    expect(pickOf('a b:full c', only('b'))).toBe('overloaded');
    expect(pickOf('a:full b:backoff c:full', only('b'))).toBe('none');
  });

  it('comes to a backend that the call has tried, as there is no other', () => {
    expect(pickOf('a b c', only('b'), 'b')).toBe('b');
  });

  it('PIN-03: a group’s name means any member, a ready one first, each in turn, and nothing outside', () => {
    const candidates = pool('g/1 a g/2');
    const picker = roundRobin();
    const seen = Array.from({ length: 4 }, () => picked(picker.pick(candidates, query([], [], only('g')))));
    expect(seen).toEqual(['g/1', 'g/2', 'g/1', 'g/2']);
    expect(pickOf('g/1:connecting a g/2', only('g'))).toBe('g/2');
    expect(pickOf('g/1:backoff a g/2:backoff', only('g'))).toBe('none');
  });

  it('PIN-04: a member’s name means that member and no other of its group', () => {
    expect(pickOf('g/1 a g/2', only('g/2'))).toBe('g/2');
    expect(pickOf('g/1 a g/2:backoff', only('g/2'))).toBe('none');
  });

  it('is no prefix match: g is not gg, nor a part of a member’s address', () => {
    expect(pickOf('gg g/12', only('g/1'))).toBe('none');
    expect(pickOf('gg', only('g'))).toBe('none');
  });
});

describe('a pick that excludes', () => {
  it('comes to any other, for first attempts and later ones', () => {
    expect(counts(picks(roundRobin(), pool('a b c'), 30, [], [], without('b')))).toEqual({ a: 15, c: 15 });
    expect(pickOf('a b c', without('b'), 'a')).toBe('c');
  });

  it('PIN-26: comes to a tried one rather than to an excluded one that is untried', () => {
    expect(pickOf('a b', without('b'), 'a')).toBe('a');
  });

  it('leaves out all members by their group’s name, one by its own', () => {
    expect(pickOf('g/1 g/2 a', without('g'))).toBe('a');
    expect(pickOf('g/1 g/2', without('g/1'))).toBe('g/2');
  });

  it('PIN-25: leaves the other members of a group that is asked for', () => {
    expect(pickOf('g/1 g/2 a', { only: 'g', strict: true, exclude: ['g/1'] })).toBe('g/2');
    expect(pickOf('g/1 g/2:backoff a', { only: 'g', strict: true, exclude: ['g/1'] })).toBe('none');
  });

  it('finds nothing where it leaves nothing, and is dropped only where what it leaves is full', () => {
    expect(pickOf('a b', without('a', 'b'))).toBe('none');
    expect(pickOf('a:full b:backoff', without('a'))).toBe('none');
    expect(pickOf('a b:full', without('a'))).toBe('overloaded');
  });

  it('PIN-27: takes no notice of names that nobody has', () => {
    expect(counts(picks(roundRobin(), pool('a b'), 10, [], [], without('x', 'g/9')))).toEqual({ a: 5, b: 5 });
  });

  it('beats a target that is asked for', () => {
    expect(pickOf('a b', { only: 'a', strict: true, exclude: ['a'] })).toBe('none');
  });
});

describe('picks within bounds, beside others', () => {
  it('do not turn the rotation of first picks', () => {
    const picker = roundRobin();
    const candidates = pool('a b c');
    let first = '';
    for (let i = 0; i < 300; i += 1) {
      first += picked(picker.pick(candidates, query()));
      picker.pick(candidates, query([], [], i % 2 === 0 ? only('a') : without('c')));
    }
    expect(counts(first)).toEqual({ a: 100, b: 100, c: 100 });
    expect(first.startsWith('abcabc')).toBe(true);
  });

  it('without bounds allocate nothing, and with them neither', () => {
    const picker = roundRobin();
    const candidates = pool('a');
    const pick = picker.pick(candidates, query());
    expect(picker.pick(candidates, query([], [], only('a')))).toBe(pick);
  });
});

describe('whether a target is known', () => {
  it('is by a backend’s id or by a group’s name, whatever its state', () => {
    const candidates = pool('a:backoff g/1:full g/2');
    for (const target of ['a', 'g', 'g/1', 'g/2']) expect(knows(candidates, target)).toBe(true);
    for (const target of ['b', 'g/3', 'g/', '', 'a/1', '1']) expect(knows(candidates, target)).toBe(false);
    expect(knows([], 'a')).toBe(false);
  });
});

describe('for all pools, links and bounds', () => {
  const names = ['a', 'b', 'g/1', 'g/2', 'g/3', 'h/1'];
  const targets = [...names, 'g', 'h', 'x'];
  const link = fc.constantFrom<Link>('ready', 'busy', 'idle', 'connecting', 'backoff', 'full');
  const subset = fc.subarray(names).map((some) => some.map(backendId));
  const bounds = fc.record({
    only: fc.option(fc.constantFrom(...targets), { nil: null }),
    strict: fc.boolean(),
    exclude: fc.subarray(targets, { maxLength: 4 }),
  });
  const round = fc.record({
    links: fc.array(link, { minLength: names.length, maxLength: names.length }),
    tried: subset,
    failed: subset,
    bounds,
  });

  /** Said anew, and on purpose not by the code under test. */
  function inside(id: string, { only: target, exclude }: Bounds): boolean {
    const named = (one: string): boolean => id === one || id.startsWith(`${one}/`);
    return (target === null || named(target)) && !exclude.some(named);
  }

  it('a pick never leaves its bounds, and comes to a tried backend only where no untried one within them is of use', () => {
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 20 }), (rounds) => {
        const picker = roundRobin();
        const candidates = names.map((one) => new Backend(one));
        for (const { links, tried, failed, bounds } of rounds) {
          for (const [at, candidate] of candidates.entries()) candidate.link = links[at] ?? 'ready';
          const left = candidates.filter(({ id }) => inside(id, bounds) && !failed.includes(id));
          const usable = left.filter((one) => one.link !== 'backoff' && one.link !== 'full');
          const untried = usable.filter(({ id }) => !tried.includes(id));
          const pick = picker.pick(candidates, query(tried, failed, bounds));
          if (usable.length === 0)
            expect(pick.kind).toBe(left.some((one) => one.link === 'full') ? 'overloaded' : 'none');
          else expect((untried.length > 0 ? untried : usable).map(({ id }) => String(id))).toContain(picked(pick));
        }
      }),
    );
  });

  it('bounds that allow everything find what no bounds find: a backend as good, or nothing for the same reason', () => {
    fc.assert(
      fc.property(round, ({ links, tried, failed }) => {
        const candidates = names.map((one, at) => new Backend(one, links[at]));
        const worth = (id: string): string => {
          const found = candidates.find((one) => one.id === id);
          return found === undefined ? id : `tried ${tried.includes(found.id)}, ready ${found.link === 'ready'}`;
        };
        const [free, bounded] = [null, without('x')].map((within) =>
          picked(roundRobin().pick(candidates, query(tried, failed, within))),
        );
        expect(worth(bounded ?? '')).toBe(worth(free ?? ''));
      }),
    );
  });

  it('equal picks within bounds fall evenly on all that they allow', () => {
    fc.assert(
      fc.property(bounds, fc.integer({ min: 1, max: 60 }), (within, count) => {
        const picker = roundRobin();
        const candidates = names.map((one) => new Backend(one));
        const allowed = names.filter((id) => inside(id, within));
        const times = new Map(allowed.map((id) => [id, 0]));
        for (let i = 0; i < count; i += 1) {
          const id = picked(picker.pick(candidates, query([], [], within)));
          if (allowed.length > 0) times.set(id, (times.get(id) ?? 0) + 1);
        }
        expect([...times.keys()].sort()).toEqual([...allowed].sort());
        const all = [...times.values()];
        if (all.length > 0) expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('picks within bounds, however many and whatever they find, do not change whom first picks come to', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(bounds, fc.boolean()), { maxLength: 40 }), (steps) => {
        const candidates = names.map((one) => new Backend(one));
        const alone = roundRobin();
        const beside = roundRobin();
        for (const [within, first] of steps) {
          if (first) expect(beside.pick(candidates, query())).toEqual(alone.pick(candidates, query()));
          else beside.pick(candidates, query([], [], within));
        }
      }),
    );
  });
});
