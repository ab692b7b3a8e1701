import { expect, it } from 'vitest';
import { nodeClock } from '../../../src/runtime/clock.js';
import { nodeRandom } from '../../../src/runtime/random.js';

it('Node’s clock never goes back', () => {
  let before = nodeClock.now();
  for (let i = 0; i < 1000; i += 1) {
    const now = nodeClock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    before = now;
  }
});

it('Node’s random numbers lie in [0, 1) and differ', () => {
  const seen = new Set<number>();
  for (let i = 0; i < 100; i += 1) {
    const value = nodeRandom.next();
    expect(value >= 0 && value < 1).toBe(true);
    seen.add(value);
  }
  expect(seen.size).toBeGreaterThan(90);
});
