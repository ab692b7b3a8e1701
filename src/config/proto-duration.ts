import { type Millis, millis } from '../grpc/millis.js';
import { plainDecimal } from './decimal.js';

/** google.protobuf.Duration: about 10 000 years. */
const maxSeconds = 315_576_000_000;

export type ProtoDuration =
  | { readonly ok: true; readonly value: Millis }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads a Duration in proto3 JSON, `0.25s`: a JSON number without exponent, at most nine fractional digits, and `s`. To
 * the nearest representable millisecond fraction; may be negative.
 */
export function parseProtoDuration(text: string): ProtoDuration {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?s$/.exec(text);
  if (match === null) return { ok: false, problem: problemOf(text) };
  const [, sign = '', seconds = '', fraction = ''] = match;
  if (fraction.length > 9) return { ok: false, problem: 'has more than 9 fractional digits' };
  if (Number(seconds) > maxSeconds) return { ok: false, problem: `is over ${maxSeconds}s, the most a Duration holds` };
  // One decimal, converted once: adding seconds and nanoseconds as floats would round twice.
  const magnitude = Number(`${seconds}${fraction.padEnd(9, '0')}e-6`);
  return { ok: true, value: millis(sign === '' || magnitude === 0 ? magnitude : -magnitude) };
}

/** A duration of at least 0 as proto3 JSON has it: `0.25s`. */
export function showProtoDuration(duration: Millis): string {
  return `${plainDecimal(duration / 1000)}s`;
}

/** `250ms`, `2m` and the like are the commonest slip: say what to write instead. */
function problemOf(text: string): string {
  const other = /^(\d+)(ms|m|h)$/.exec(text);
  const general = 'is not a duration: seconds and an "s", like "0.25s"';
  if (other === null) return general;
  const [, amount = '', unit = ''] = other;
  if (amount.length > 9) return general;
  const seconds = unit === 'ms' ? Number(amount) / 1000 : Number(amount) * (unit === 'm' ? 60 : 3600);
  return `is not a duration here: write ${JSON.stringify(`${seconds}s`)}`;
}
