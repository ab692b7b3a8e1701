import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { Backend, counts, ids, type Link, picked, picks, pool, query, roundRobin } from './pool.js';

describe('first picks', () => {
  it('take each ready backend in turn', () => {
    expect(picks(roundRobin(), pool('a b c'), 7)).toBe('abcabca');
  });

  it.each([
    ['backoff', 'acac'],
    ['full', 'acac'],
    ['connecting', 'acac'],
    ['idle', 'acac'],
  ])('pass over a backend that is %s while another is ready', (link, expected) => {
    expect(picks(roundRobin(), pool(`a b:${link} c`), 4)).toBe(expected);
  });

  it('wait for one that is idle or connecting where none is ready, each in turn', () => {
    expect(picks(roundRobin(), pool('a:connecting b:backoff c:idle d:full'), 4)).toBe('acac');
  });

  it('find nothing where all are in backoff, or there are none', () => {
    expect(picks(roundRobin(), pool('a:backoff b:backoff'), 1)).toBe('none');
    expect(picks(roundRobin(), [], 1)).toBe('none');
  });

  it('are dropped where every backend that is not down is full', () => {
    expect(picks(roundRobin(), pool('a:full b:full'), 1)).toBe('overloaded');
    expect(picks(roundRobin(), pool('a:full b:backoff'), 1)).toBe('overloaded');
  });

  it('share evenly among those that are ready, whichever others are not', () => {
    expect(counts(picks(roundRobin(), pool('a:backoff b:backoff c d:full e f'), 300))).toEqual({
      c: 100,
      e: 100,
      f: 100,
    });
  });

  it('give a backend that comes back its share and no more', () => {
    const picker = roundRobin();
    const candidates = pool('a b:backoff c');
    picks(picker, candidates, 100);
    const [, b] = candidates;
    if (b !== undefined) b.link = 'ready';
    expect(counts(picks(picker, candidates, 30))).toEqual({ a: 10, b: 10, c: 10 });
  });

  it('allocate nothing: a pick of the same backend is the same value', () => {
    const picker = roundRobin();
    const candidates = pool('a');
    expect(picker.pick(candidates, query())).toBe(picker.pick(candidates, query()));
  });
});

describe('picks of later attempts', () => {
  it('BR-26: PRX-26: prefer a backend that the call has not tried', () => {
    for (let i = 0; i < 5; i += 1) expect(picks(roundRobin(), pool('a b'), 3, ids('a'))).toBe('bbb');
    expect(picks(roundRobin(), pool('a b c'), 1, ids('ac'))).toBe('b');
  });

  it('D16: an untried one that has to be connected comes before a tried one that is ready', () => {
    expect(picks(roundRobin(), pool('a b:connecting'), 1, ids('a'))).toBe('b');
  });

  it('D16: use a tried one again where nothing else is left, a ready one first', () => {
    expect(picks(roundRobin(), pool('a'), 1, ids('a'))).toBe('a');
    expect(picks(roundRobin(), pool('a:connecting b c:backoff d:full'), 1, ids('abcd'))).toBe('b');
    expect(picks(roundRobin(), pool('a:idle b:backoff'), 1, ids('ab'))).toBe('a');
  });

  it('D12: never use one that failed in this pick, not even as the last', () => {
    expect(picks(roundRobin(), pool('a b:connecting'), 1, [], ids('a'))).toBe('b');
    expect(picks(roundRobin(), pool('a'), 1, [], ids('a'))).toBe('none');
    expect(picks(roundRobin(), pool('a b'), 1, ids('b'), ids('a'))).toBe('b');
  });

  it('are dropped where all that is left is full, and find nothing where it is down', () => {
    expect(picks(roundRobin(), pool('a b:full'), 1, [], ids('a'))).toBe('overloaded');
    expect(picks(roundRobin(), pool('a b:backoff'), 1, [], ids('a'))).toBe('none');
    expect(picks(roundRobin(), pool('a:full'), 1, [], ids('a'))).toBe('none');
  });

  it('do not move first picks: a backend whose calls all fail gets no more of them than its share', () => {
    const picker = roundRobin();
    const candidates = pool('a b c');
    let first = '';
    let retried = '';
    for (let i = 0; i < 300; i += 1) {
      const pick = picked(picker.pick(candidates, query()));
      first += pick;
      if (pick === 'a') retried += picked(picker.pick(candidates, query(ids('a'))));
    }
    expect(counts(first)).toEqual({ a: 100, b: 100, c: 100 });
    expect(counts(retried)).toEqual({ b: 50, c: 50 });
  });

  it('spread what a failed connect sheds over all others, not to the neighbour', () => {
    expect(counts(picks(roundRobin(), pool('a b c d e'), 100, [], ids('b')))).toEqual({
      a: 25,
      c: 25,
      d: 25,
      e: 25,
    });
  });

  it('share evenly when two backends fail by turns', () => {
    const picker = roundRobin();
    const candidates = pool('a b c');
    let text = '';
    for (let i = 0; i < 300; i += 1) text += picks(picker, candidates, 1, ids(i % 2 === 0 ? 'a' : 'b'));
    const { a = 0, b = 0, c = 0 } = counts(text);
    expect(a).toBeGreaterThanOrEqual(90);
    expect(b).toBeGreaterThanOrEqual(90);
    expect(c).toBeGreaterThanOrEqual(90);
  });
});

describe('a set that changes', () => {
  it('goes on with those that stay, and never picks one that is gone', () => {
    const picker = roundRobin();
    expect(picks(picker, pool('a b c d'), 3)).toBe('abc');
    const fewer = pool('a b');
    expect(counts(picks(picker, fewer, 10))).toEqual({ a: 5, b: 5 });
    const many = pool('a b e f g h');
    picks(picker, many, 5);
    expect(picks(picker, pool('a b'), 4)).toMatch(/^(ab|ba){2}$/);
    const more = pool('x a b');
    expect(counts(picks(picker, more, 30))).toEqual({ a: 10, b: 10, x: 10 });
  });

  it('keeps the turns of later attempts', () => {
    const picker = roundRobin();
    expect(picks(picker, pool('a b c d'), 1, ids('a'))).toBe('b');
    expect(picks(picker, pool('x a b c'), 4, ids('a'))).toBe('xcbx');
  });
});

it('D16: every pick comes from the best tier that has a member', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const link = fc.constantFrom<Link>('ready', 'idle', 'connecting', 'backoff', 'full');
  const subset = fc.subarray(names).map((some) => some.map(backendId));
  const round = fc.record({ links: fc.array(link, { minLength: 6, maxLength: 6 }), tried: subset, failed: subset });
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 30 }), (rounds) => {
      const picker = roundRobin();
      const candidates = names.map((one) => new Backend(one));
      for (const { links, tried, failed } of rounds) {
        for (const [at, candidate] of candidates.entries()) candidate.link = links[at] ?? 'ready';
        const left = candidates.filter(({ id }) => !failed.includes(id));
        const tier = (untried: boolean, ready: boolean): BackendId[] =>
          left
            .filter(({ id }) => tried.includes(id) !== untried)
            .filter((one) => (ready ? one.link === 'ready' : one.link === 'idle' || one.link === 'connecting'))
            .map(({ id }) => id);
        const best = [tier(true, true), tier(true, false), tier(false, true), tier(false, false)].find(
          (members) => members.length > 0,
        );
        const pick = picker.pick(candidates, query(tried, failed));
        if (best !== undefined) expect(best).toContain(picked(pick));
        else expect(pick.kind).toBe(left.some((one) => one.link === 'full') ? 'overloaded' : 'none');
      }
    }),
  );
});

describe('a backend whose streams are all taken', () => {
  it('is passed over while another takes a stream at once, for first attempts and for steered ones', () => {
    const candidates = pool('a:busy b c:busy');
    const picker = roundRobin();
    expect(picks(picker, candidates, 3)).toBe('bbb');
    expect(picked(picker.pick(candidates, query(ids('c'))))).toBe('b');
  });

  it('is waited for where nothing else is left, rather than one that was tried', () => {
    const candidates = pool('a:busy b:backoff');
    const picker = roundRobin();
    expect(picked(picker.pick(candidates, query()))).toBe('a');
    expect(picked(picker.pick(pool('a b:busy'), query(ids('a'))))).toBe('b');
  });
});
