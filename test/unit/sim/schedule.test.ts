import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import type { Plan } from '../../../src/policy/types.js';
import { scheduleOf } from '../../../src/sim/schedule.js';
import { throttleAt } from '../../../src/sim/throttle-at.js';

const unavailable = new Set([Status.UNAVAILABLE]);
const retry: Plan = {
  kind: 'retry',
  maxAttempts: 4,
  initialBackoff: millis(100),
  maxBackoff: millis(300),
  multiplier: 2,
  retryable: unavailable,
};
const hedge = (delay: number): Plan => {
  return { kind: 'hedge', maxAttempts: 3, delay: millis(delay), nonFatal: unavailable };
};

/** `2: 80-120 at 80-120 in time`, `!` where throttled. */
function rows(plan: Plan, deadline: number | null = null, throttle = throttleAt(null, null)): string[] {
  return scheduleOf(plan, deadline === null ? null : millis(deadline), throttle).map(
    ({ attempt, wait, at, deadline: time, throttled }) =>
      `${attempt}: ${wait.from}-${wait.to} at ${at.from}-${at.to} ${time}${throttled ? ' !' : ''}`,
  );
}

describe('a schedule', () => {
  it('without a policy is one attempt', () => {
    expect(rows({ kind: 'none' })).toEqual(['1: 0-0 at 0-0 in time']);
  });

  it('with a deadline of nothing makes no attempt, the first neither', () => {
    expect(rows({ kind: 'none' }, 0)).toEqual(['1: 0-0 at 0-0 too late']);
  });

  it('of retries: each wait with its jitter, capped before it, and their sums', () => {
    expect(rows(retry)).toEqual([
      '1: 0-0 at 0-0 in time',
      '2: 80-120 at 80-120 in time',
      '3: 160-240 at 240-360 in time',
      '4: 240-360 at 480-720 in time',
    ]);
  });

  it('of hedges: one every delay, or all at once', () => {
    expect(rows(hedge(50))).toEqual([
      '1: 0-0 at 0-0 in time',
      '2: 50-50 at 50-50 in time',
      '3: 50-50 at 100-100 in time',
    ]);
    expect(rows(hedge(0)).map((row) => row.slice(2))).toEqual(Array(3).fill(' 0-0 at 0-0 in time'));
  });

  it.each([
    [80, ['in time', 'too late', 'too late', 'too late']],
    [81, ['in time', 'perhaps', 'too late', 'too late']],
    [119, ['in time', 'perhaps', 'too late', 'too late']],
    [120, ['in time', 'in time', 'too late', 'too late']],
    [719, ['in time', 'in time', 'in time', 'perhaps']],
    [720, ['in time', 'in time', 'in time', 'in time']],
  ])('a deadline at %i ms: a wait that ends at it is too long', (deadline, expected) => {
    expect(scheduleOf(retry, millis(deadline), throttleAt(null, null)).map((row) => row.deadline)).toEqual(expected);
  });

  it('a hedge that is due at the deadline is too late', () => {
    expect(scheduleOf(hedge(50), millis(100), throttleAt(null, null)).map((row) => row.deadline)).toEqual([
      'in time',
      'in time',
      'too late',
    ]);
  });

  it('retries stop where the failures of this call alone shut the throttle', () => {
    const limits = { maxMilliTokens: 4000, milliTokensPerSuccess: 100 };
    const shut = scheduleOf(retry, null, throttleAt(limits, null)).map(({ throttled }) => throttled);
    expect(shut).toEqual([false, false, true, true]);
    expect(scheduleOf(retry, null, throttleAt(limits, 3000))[1]?.throttled).toBe(true);
  });

  it('hedges are stopped by a throttle that is shut, and take no token by being sent', () => {
    const limits = { maxMilliTokens: 4000, milliTokensPerSuccess: 100 };
    const shut = (level: number): boolean[] =>
      scheduleOf(hedge(50), null, throttleAt(limits, level)).map(({ throttled }) => throttled);
    expect(shut(2001)).toEqual([false, false, false]);
    expect(shut(2000)).toEqual([false, true, true]);
  });
});
