import { expect, it } from 'vitest';
import { throttleAt } from '../../../src/sim/throttle-at.js';

const limits = { maxMilliTokens: 10_000, milliTokensPerSuccess: 100 };

it('a bucket without a level is full, and none is none', () => {
  expect(throttleAt(limits, null).state).toEqual({ milliTokens: 10_000, limits });
  expect(throttleAt(null, null).state).toBeNull();
  expect(throttleAt(null, 500).state).toBeNull();
});

it.each([0, 1, 4999, 5001, 6500, 9999, 10_000])('it stands at %i thousandths, with its own limits', (milliTokens) => {
  expect(throttleAt(limits, milliTokens).state).toEqual({ milliTokens, limits });
});

it('it goes on from there by its own rules', () => {
  const throttle = throttleAt(limits, 6050);
  expect(throttle.isShut(false)).toBe(false);
  throttle.count('failure');
  expect(throttle.isShut(false)).toBe(false);
  throttle.count('failure');
  throttle.count('success');
  expect(throttle.state?.milliTokens).toBe(4150);
  expect(throttle.isShut(false)).toBe(true);
});
