import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sim/seeded-random.js';

function draw(seed: number, count: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
}

it('the same seed gives the same numbers, another seed others', () => {
  expect(draw(7, 50)).toEqual(draw(7, 50));
  expect(draw(7, 50)).not.toEqual(draw(8, 50));
});

it('the numbers are those that were given before: a printed seed stays good', () => {
  expect(draw(1, 3)).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522]);
});

it('numbers are from 0 to below 1, and even', () => {
  const numbers = draw(42, 20_000);
  const buckets = new Array<number>(10).fill(0);
  for (const number of numbers) {
    expect(number >= 0 && number < 1).toBe(true);
    const bucket = Math.floor(number * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 2000)).toBeLessThan(200);
});
