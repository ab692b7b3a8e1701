import { describe, expect, it } from 'vitest';
import { createThrottle, type Throttle, type ThrottleLimits } from '../../../src/policy/throttle.js';

function limits(maxMilliTokens: number, milliTokensPerSuccess = 100): ThrottleLimits {
  return { maxMilliTokens, milliTokensPerSuccess };
}

function count(throttle: Throttle, as: 'failure' | 'success', times: number): number | undefined {
  for (let i = 0; i < times; i += 1) throttle.count(as);
  return throttle.state?.milliTokens;
}

describe('the token bucket', () => {
  it('begins full and open', () => {
    const throttle = createThrottle(limits(4000));
    expect(throttle.state).toEqual({ milliTokens: 4000, limits: limits(4000) });
    expect(throttle.isShut(false)).toBe(false);
  });

  it('THR-02, THR-03: of 2 tokens one failure leaves the half, of 1 nothing', () => {
    for (const max of [1000, 2000]) expect(createThrottle(limits(max)).isShut(true)).toBe(true);
    expect(createThrottle(limits(3000)).isShut(true)).toBe(false);
  });

  it('THR-05: is shut at exactly the half, open a thousandth above it', () => {
    const throttle = createThrottle(limits(4000, 1));
    expect(count(throttle, 'failure', 2)).toBe(2000);
    expect(throttle.isShut(false)).toBe(true);
    expect(count(throttle, 'success', 1)).toBe(2001);
    expect(throttle.isShut(false)).toBe(false);
    expect(throttle.isShut(true)).toBe(true);
  });

  it('THR-04: half of 5 is 2.5', () => {
    const throttle = createThrottle(limits(5000, 500));
    expect([throttle.isShut(true), count(throttle, 'failure', 1)]).toEqual([false, 4000]);
    expect([throttle.isShut(true), count(throttle, 'failure', 1)]).toEqual([false, 3000]);
    expect([throttle.isShut(true), count(throttle, 'failure', 1)]).toEqual([true, 2000]);
    expect(count(throttle, 'success', 3)).toBe(3500);
    expect(throttle.isShut(true)).toBe(true);
  });

  it('asking takes nothing', () => {
    const throttle = createThrottle(limits(4000));
    for (let i = 0; i < 9; i += 1) throttle.isShut(true);
    expect(throttle.state?.milliTokens).toBe(4000);
  });

  it('THR-08: a success at the top adds nothing; near it, no more than fits', () => {
    const throttle = createThrottle(limits(10_000, 5000));
    expect(count(throttle, 'success', 3)).toBe(10_000);
    expect(count(throttle, 'failure', 1)).toBe(9000);
    expect(count(throttle, 'success', 1)).toBe(10_000);
  });

  it('THR-24: failures never take it below 0, and asked there it is shut', () => {
    const throttle = createThrottle(limits(3000, 700));
    expect(count(throttle, 'failure', 50)).toBe(0);
    expect(throttle.isShut(true)).toBe(true);
    expect(count(throttle, 'success', 1)).toBe(700);
    expect(count(throttle, 'failure', 1)).toBe(0);
  });

  it('THR-22: a thousand credits of 0.1 are exactly 100', () => {
    const throttle = createThrottle(limits(1_000_000));
    expect(count(throttle, 'failure', 1000)).toBe(0);
    expect(count(throttle, 'success', 1000)).toBe(100_000);
  });

  it('THR-23: without limits it throttles nothing and counts nothing', () => {
    const throttle = createThrottle(null);
    count(throttle, 'failure', 9);
    throttle.count('success');
    expect(throttle.isShut(true)).toBe(false);
    expect(throttle.state).toBe(null);
  });

  it.each([
    ['the same limits', 4000, 4000, 3000],
    ['more tokens: in proportion', 4000, 10_000, 7500],
    ['fewer tokens: in proportion', 4000, 2000, 1500],
    ['to the thousandth, rounded down', 9000, 2000, 1777],
  ])('THR-17: takes %s', (_what, before, after, expected) => {
    const throttle = createThrottle(limits(before));
    count(throttle, 'failure', 1);
    throttle.configure(limits(after, 9));
    expect(throttle.state).toEqual({ milliTokens: expected, limits: limits(after, 9) });
  });

  it('THR-18: limits that are taken away end it; new ones begin full', () => {
    const throttle = createThrottle(limits(4000));
    count(throttle, 'failure', 3);
    throttle.configure(null);
    expect(throttle.state).toBe(null);
    expect(throttle.isShut(true)).toBe(false);
    count(throttle, 'failure', 9);
    throttle.configure(limits(6000));
    expect(throttle.state?.milliTokens).toBe(6000);
  });
});

it('ADM-24: counts the calls that it held back, whatever becomes of its limits', () => {
  const throttle = createThrottle(limits(4000));
  expect(throttle.suppressed).toBe(0);
  throttle.suppress();
  throttle.configure(null);
  throttle.suppress();
  expect(throttle.suppressed).toBe(2);
});
