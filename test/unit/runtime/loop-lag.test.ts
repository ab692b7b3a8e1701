import { expect, test } from 'vitest';
import { watchLoopLag } from '../../../src/runtime/loop-lag.js';

test('tells how much later than due each look came, never less than 0', () => {
  let now = 1000;
  let fire = (): void => {};
  const waits: number[] = [];
  const told: number[] = [];
  const timer = {
    set(ms: number, next: () => void) {
      waits.push(ms);
      fire = next;
    },
  };
  watchLoopLag({ now: () => now }, timer, (late) => told.push(late));
  for (const at of [1100, 1237, 1336.5, 2000]) {
    now = at;
    fire();
  }
  expect(told).toEqual([0, 37, 0, 563.5]);
  expect(waits).toEqual([100, 100, 100, 100, 100]);
});
