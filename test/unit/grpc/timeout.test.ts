import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { formatTimeout, parseTimeout } from '../../../src/grpc/timeout.js';

describe('parseTimeout', () => {
  it.each([
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3000],
    ['500m', 500],
    ['250u', 0.25],
    ['9u', 0.009],
    ['1n', 1e-6],
    ['5n', 5e-6],
    ['99999999H', 99_999_999 * 3_600_000],
    ['00000001S', 1000],
    ['0n', 0],
    ['00000000H', 0],
  ])('%s is %d ms', (value, ms) => {
    expect(parseTimeout(value)).toBe(ms);
  });

  it.each([
    [''],
    ['S'],
    ['1'],
    ['123'],
    ['1s'],
    ['1h'],
    ['1ms'],
    ['123456789m'],
    ['-1S'],
    ['+1S'],
    ['1.5S'],
    [' 1S'],
    ['1S '],
    ['1 S'],
    ['0x1S'],
    ['1:S'],
    ['1/S'],
    ['١S'],
    ['1SS'],
    ['S1'],
  ])('%j is malformed', (value) => {
    expect(parseTimeout(value)).toBeNull();
  });
});

describe('formatTimeout', () => {
  it.each([
    [0.001, '1000n'],
    [0.5, '500000n'],
    [1, '1000000n'],
    [99.999999, '99999999n'],
    [100, '100000u'],
    [1999.9999, '1999999u'],
    [99_999.999, '99999999u'],
    [100_000, '100000m'],
    [99_999_999, '99999999m'],
    [99_999_999.5, '99999999m'],
    [100_000_000, '100000S'],
    [99_999_999_999, '99999999S'],
    [100_000_000_000, '1666666M'],
    [99_999_999 * 60_000 + 59_999, '99999999M'],
    [100_000_000 * 60_000, '1666666H'],
  ])('CAN-03: %d ms is %s', (ms, value) => {
    expect(formatTimeout(millis(ms))).toBe(value);
  });

  it('CAN-03: what is left below a microsecond is still one unit, never 0', () => {
    for (const ms of [0.000999, 1e-6, 1e-9, Number.MIN_VALUE]) expect(formatTimeout(millis(ms))).toBe('1n');
  });

  it('what no 8 digits can say is the most that they can', () => {
    for (const ms of [1e15, Number.MAX_VALUE, Number.POSITIVE_INFINITY])
      expect(formatTimeout(millis(ms))).toBe('99999999H');
  });

  it('CAN-03: for any rest: well formed, not longer than the rest, and less than one unit shorter', () => {
    const rest = fc.oneof(
      fc.double({ min: 0.001, max: 200, noNaN: true }),
      fc.double({ min: 100, max: 200_000, noNaN: true }),
      fc.double({ min: 100_000, max: 3e14, noNaN: true }),
    );
    const unit: Record<string, number> = { n: 1e-6, u: 1e-3, m: 1, S: 1000, M: 60_000, H: 3_600_000 };
    fc.assert(
      fc.property(rest, (ms) => {
        const value = formatTimeout(millis(ms));
        expect(value).toMatch(/^[1-9][0-9]{0,7}[HMSmun]$/);
        const back = parseTimeout(value) ?? Number.NaN;
        const step = unit[value.slice(-1)] ?? Number.NaN;
        // A nanosecond of slack: fractions of a millisecond are not exact in binary.
        expect(back).toBeLessThanOrEqual(ms + 1e-6);
        expect(back).toBeGreaterThan(ms - step - 1e-6);
        expect(step === 1e-6 || ms >= step * 100_000_000 * 1e-3 * (1 - 1e-9) || step >= 60_000).toBe(true);
      }),
    );
  });
});
