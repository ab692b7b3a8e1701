import { expect, it } from 'vitest';
import { createTurnClock, nodeClock, steadyClock } from '../../../src/runtime/clock.js';

it('a turn has one time: the first look asks, later ones are told the same until the turn is over', () => {
  let time = 1;
  const soon: (() => void)[] = [];
  const clock = createTurnClock({ now: () => time }, (clear) => soon.push(clear));
  expect(clock.now()).toBe(1);
  time = 5;
  expect(clock.now()).toBe(1);
  expect(clock.fresh?.()).toBe(5);
  expect(clock.now()).toBe(1);
  expect(soon.length).toBe(1);
  soon.pop()?.();
  expect(clock.now()).toBe(5);
  expect(soon.length).toBe(1);
});

it('the process’s clock stands still within a turn and has gone on in the next, never ahead of the steady one', async () => {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const before = nodeClock.now();
  while (steadyClock.now() < before + 1) expect(nodeClock.now()).toBe(before);
  // The first may be the check phase that the look above asked for, in which the order of tasks decides.
  await turn();
  await turn();
  const after = nodeClock.now();
  expect(after).toBeGreaterThan(before);
  expect(after).toBeLessThanOrEqual(steadyClock.now());
});
