import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/sim/seeded-random.js';
import { partSeed } from '../../../src/sim/world.js';

describe('partSeed', () => {
  it('gives each attempt of each call its own luck, the same for the same seed', () => {
    const seeds = new Set<number>();
    for (let call = 0; call < 2000; call += 1)
      for (let part = 0; part < 5; part += 1) seeds.add(partSeed(1, call, part));
    // Of 10 000 numbers of 32 bits hardly two are the same.
    expect(seeds.size).toBeGreaterThan(9995);
    expect(partSeed(1, 7, 2)).toBe(partSeed(1, 7, 2));
    expect(partSeed(2, 7, 2)).not.toBe(partSeed(1, 7, 2));
  });

  it('the first draws are even over calls, and unlike from one attempt to the next', () => {
    const first = (part: number): number[] =>
      Array.from({ length: 20_000 }, (_, call) => seededRandom(partSeed(3, call, part))());
    const [one, two] = [first(1), first(2)];
    const rare = one.filter((number) => number < 0.001).length;
    expect(Math.abs(rare - 20)).toBeLessThan(20);
    const mean = one.reduce((sum, number) => sum + number, 0) / one.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01);
    const both = one.filter((number, call) => number < 0.1 && (two[call] ?? 1) < 0.1).length;
    expect(Math.abs(both - 200)).toBeLessThan(70);
  });
});
