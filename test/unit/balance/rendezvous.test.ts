import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Placeable, placeByRendezvous } from '../../../src/balance/rendezvous.js';
import { backendId } from '../../../src/grpc/backend-id.js';

/** As the process has them: hashed ids. */
const keys = Array.from({ length: 10_000 }, (_, at) =>
  createHash('sha256').update(`session ${at}`).digest('hex').slice(0, 32),
);

const all = (): boolean => true;

function pool(...members: readonly (string | readonly [string, number])[]): readonly Placeable[] {
  return members.map((member) =>
    typeof member === 'string' ? { id: backendId(member), weight: 1 } : { id: backendId(member[0]), weight: member[1] },
  );
}

function place(candidates: readonly Placeable[], usable: (candidate: Placeable) => boolean = all): readonly string[] {
  return keys.map((key) => placeByRendezvous(key, candidates, usable) ?? 'nowhere');
}

function counts(places: readonly string[]): Readonly<Record<string, number>> {
  const result: Record<string, number> = {};
  for (const id of places) result[id] = (result[id] ?? 0) + 1;
  return result;
}

/** Pearson's, against the shares of the weights. */
function chiSquare(candidates: readonly Placeable[]): number {
  const found = counts(place(candidates));
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  return candidates.reduce((sum, { id, weight }) => {
    const expected = (keys.length * weight) / total;
    return sum + ((found[id] ?? 0) - expected) ** 2 / expected;
  }, 0);
}

describe('placing a new session', () => {
  it('SES-03: spreads ids over the backends as evenly as chance does, whatever their names are like', () => {
    // The bounds are the 0.1 % points of the distribution: 2, 9 and 4 degrees of freedom.
    expect(chiSquare(pool('a', 'b', 'c'))).toBeLessThan(13.8);
    expect(chiSquare(pool(...Array.from({ length: 10 }, (_, at) => `group/10.0.0.${at}:50051`)))).toBeLessThan(27.9);
    expect(chiSquare(pool('b', 'bb', 'bbb', 'bbbb', 'bbbbb'))).toBeLessThan(18.5);
  });

  it('SES-03: gives each backend the share of its weight', () => {
    expect(chiSquare(pool(['a', 1], ['b', 2], ['c', 7]))).toBeLessThan(13.8);
    expect(chiSquare(pool(['a', 1000], ['b', 1000]))).toBeLessThan(10.8);
    const found = counts(place(pool(['a', 1], ['b', 1000])));
    expect(found['a']).toBeGreaterThan(0);
    expect(found['a']).toBeLessThan(25);
  });

  it('SES-04: is the same in every process that sees the same backends, in any order', () => {
    const candidates = pool('a', ['b', 3], 'c', 'd');
    expect(place([...candidates].reverse())).toEqual(place(candidates));
    // What another process came to, once and for all: a change here reshuffles replicas during a rollout.
    expect(keys.slice(0, 12).map((key) => placeByRendezvous(key, candidates, all))).toMatchInlineSnapshot(`
      [
        "d",
        "b",
        "d",
        "d",
        "b",
        "b",
        "b",
        "b",
        "c",
        "b",
        "a",
        "a",
      ]
    `);
  });

  it('SES-04: moves only the ids of a backend that leaves or cannot be used', () => {
    const before = place(pool('a', 'b', 'c', 'd'));
    const left = place(pool('a', 'b', 'd'));
    expect(place(pool('a', 'b', 'c', 'd'), ({ id }) => id !== 'c')).toEqual(left);
    const moved = before.map((id, at) => [id, left[at] ?? '']).filter(([was, is]) => was !== is);
    expect(new Set(moved.map(([was]) => was))).toEqual(new Set(['c']));
    // Those go to all the others, not to one neighbour.
    for (const count of Object.values(counts(moved.map(([, is]) => is ?? '')))) {
      expect(count).toBeGreaterThan(moved.length / 4);
    }
  });

  it('SES-04: moves to a backend that comes its own share, and nothing else', () => {
    const before = place(pool('a', 'b', 'c'));
    const after = place(pool('a', 'b', 'c', 'd'));
    const moved = after.filter((id, at) => id !== before[at]);
    expect(new Set(moved)).toEqual(new Set(['d']));
    expect(moved.length).toBeGreaterThan(keys.length * 0.23);
    expect(moved.length).toBeLessThan(keys.length * 0.27);
  });

  it('SES-04: moves to a backend whose weight grows, and from no other to another', () => {
    const before = place(pool('a', 'b', 'c'));
    const after = place(pool('a', 'b', ['c', 2]));
    expect(new Set(after.filter((id, at) => id !== before[at]))).toEqual(new Set(['c']));
  });

  it('finds nowhere where nothing can be used', () => {
    expect(placeByRendezvous('k', [], all)).toBeNull();
    expect(placeByRendezvous('k', pool('a', 'b'), () => false)).toBeNull();
  });

  it('takes keys of any length, and tells them apart', () => {
    const candidates = pool('a', 'b', 'c');
    expect(placeByRendezvous('', candidates, all)).not.toBeNull();
    const short = Array.from({ length: 300 }, (_, at) => placeByRendezvous(String(at), candidates, all) ?? '');
    for (const count of Object.values(counts(short))) expect(count).toBeGreaterThan(70);
  });
});
