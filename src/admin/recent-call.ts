import { reasonInWords } from '../grpc/reason-words.js';
import { remedyFor } from '../grpc/remedies.js';
import { describeCall } from '../proxy/call-description.js';
import type { CallRecord } from '../proxy/observer.js';
import type { RecentCall } from './live.js';

/** Attempts of one call that are shown, at most: its first ones, its last ones, and the one that the client was told of. */
const mostAttempts = 32;
const lastAttempts = 15;

/** Texts of more characters are cut in a description (grpc/legible.ts). */
const longText = 300;

/** What a record and an attempt take in memory without their texts, about (bytes). */
const recordBytes = 400;
const attemptBytes = 200;

/** About what a call takes to keep (bytes), and whether that is less once it is in words. */
export function sizeOf({ method, message, attempts }: CallRecord): { readonly bytes: number; readonly large: boolean } {
  let large = attempts.length > mostAttempts || method.length > longText || message.length > longText;
  let text = Math.min(method.length, longText) + Math.min(message.length, longText);
  for (const attempt of attempts) {
    text += Math.min(attempt.message.length, longText);
    large ||= attempt.message.length > longText;
  }
  // Two bytes a character, which may be escaped.
  return { bytes: recordBytes + attemptBytes * Math.min(attempts.length, mostAttempts) + 2 * text, large };
}

/** @param started wall clock (ms since 1970) */
export function describeRecent(record: CallRecord, seq: number, started: number): RecentCall {
  const { code, reason, retries } = record;
  const whole = describeCall(record);
  const { length } = whole.attempts;
  const attempts = whole.attempts.filter(
    ({ told }, at) => at < mostAttempts - lastAttempts - 1 || at >= length - lastAttempts || told === true,
  );
  return {
    seq,
    started: Math.round(started),
    ...whole,
    attempts: length <= mostAttempts ? whole.attempts : attempts,
    attempts_left_out: length <= mostAttempts ? undefined : length - attempts.length,
    why: reasonInWords({ reason, code, attempts: retries + 1 }),
    remedy: remedyFor(reason),
    help: `/troubleshooting#${reason}`,
  };
}
