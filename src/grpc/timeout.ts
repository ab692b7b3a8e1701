import { type Millis, millis } from './millis.js';

/** Most digits of a value (gRPC PROTOCOL-HTTP2, TimeoutValue). */
const maxDigits = 8;
const maxValue = 99_999_999;

/** Milliseconds of the unit whose letter this is (gRPC PROTOCOL-HTTP2, TimeoutUnit), or 0 where it is none. */
function unitOf(letter: number): number {
  switch (letter) {
    case 0x48: // H
      return 3_600_000;
    case 0x4d: // M
      return 60_000;
    case 0x53: // S
      return 1000;
    case 0x6d: // m
      return 1;
    case 0x75: // u
      return 1e-3;
    case 0x6e: // n
      return 1e-6;
    default:
      return 0;
  }
}

/**
 * The duration that a `grpc-timeout` states: 1 to 8 digits and one of `HMSmun`. Zero is well formed. Null where the value
 * is malformed.
 */
export function parseTimeout(value: string): Millis | null {
  const digits = value.length - 1;
  if (digits < 1 || digits > maxDigits) return null;
  const unit = unitOf(value.charCodeAt(digits));
  if (unit === 0) return null;
  let count = 0;
  for (let i = 0; i < digits; i += 1) {
    const digit = value.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return null;
    count = count * 10 + digit;
  }
  // Divided where the unit is a fraction: 1e-3 and 1e-6 are not exact in binary, 1e3 and 1e6 are.
  if (unit >= 1) return millis(count * unit);
  return millis(unit === 1e-3 ? count / 1e3 : count / 1e6);
}

/**
 * The `grpc-timeout` for what is left of a deadline: rounded down, in the finest unit that needs at most 8 digits, at least
 * one unit (PRX-02, CAN-03). Under a microsecond, which no clock of ours tells apart, it is `1n`.
 *
 * @param ms more than 0: an attempt with nothing left is not started
 */
export function formatTimeout(ms: Millis): string {
  if (!(ms >= 1e-3)) return '1n';
  if (ms < 100) return `${Math.min(Math.floor(ms * 1e6), maxValue)}n`;
  if (ms < 100_000) return `${Math.min(Math.floor(ms * 1e3), maxValue)}u`;
  if (ms < maxValue + 1) return `${Math.floor(ms)}m`;
  if (ms < (maxValue + 1) * 1000) return `${Math.floor(ms / 1000)}S`;
  if (ms < (maxValue + 1) * 60_000) return `${Math.floor(ms / 60_000)}M`;
  return `${Math.min(Math.floor(ms / 3_600_000), maxValue)}H`;
}
