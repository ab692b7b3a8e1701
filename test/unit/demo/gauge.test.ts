import { expect, test } from 'vitest';
import { drawGauge } from '../../../src/demo/gauge.js';
import { createPaint } from '../../../src/text/paint.js';

const limits = { maxMilliTokens: 10_000, milliTokensPerSuccess: 500 };
const paint = createPaint(false);

function gauge(before: number, after: number, room = 90): string | null {
  return drawGauge({ milliTokens: before, limits }, { milliTokens: after, limits }, room, paint);
}

test('the bucket is a bar with the threshold in its middle', () => {
  expect(gauge(9500, 10_000)).toBe('tokens │■■■■■■■■■■┃■■■■■■■■■■│ 9.5 → 10 of 10');
  expect(gauge(9500, 8500)).toBe('tokens │■■■■■■■■■■┃■■■■■■■···│ 9.5 → 8.5 of 10');
});

test('at the threshold and under it there are no retries, and it says so', () => {
  expect(gauge(6000, 5000)).toBe('tokens │■■■■■■■■■■┃··········│ 6 → 5 of 10: no retries now');
  expect(gauge(1000, 0)).toBe('tokens │··········┃··········│ 1 → 0 of 10: no retries now');
});

test('a thousandth of a token above the threshold shows as above, one below it as below', () => {
  expect(gauge(5000, 5001)).toBe('tokens │■■■■■■■■■■┃■·········│ 5 → 5.001 of 10');
  expect(gauge(5000, 4999)).toBe('tokens │■■■■■■■■■·┃··········│ 5 → 4.999 of 10: no retries now');
});

test('a call that changed nothing has no gauge', () => {
  expect(gauge(7000, 7000)).toBeNull();
});

test('in a narrow terminal the bar is shorter, and the words stay', () => {
  expect(gauge(9500, 8500, 55)).toBe('tokens │■■■■■■■■■■┃■■■■■■■···│ 9.5 → 8.5 of 10');
  expect(gauge(6000, 5000, 55)).toBe('tokens │■■■■■┃·····│ 6 → 5 of 10: no retries now');
});
