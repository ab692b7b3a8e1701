import type { ThrottleLimits } from '../policy/throttle.js';
import { clip, type Paint } from '../text/paint.js';

/** The token bucket at one moment. */
export interface Bucket {
  readonly milliTokens: number;
  readonly limits: ThrottleLimits;
}

/** Where there is room, and where there is not. Even: the threshold stands in the middle (A6, Throttling: half of maxTokens). */
const wide = 20;
const narrow = 10;

/** No retry and no hedge is made at this many tokens or fewer. */
function threshold({ limits }: Bucket): number {
  return limits.maxMilliTokens / 2;
}

function tokens(milliTokens: number): string {
  return String(milliTokens / 1000);
}

/**
 * The bucket as a bar with its threshold, and what the call did to it: `tokens │■■■■■■■■■■┃■■■■■■■···│ 9.5 → 8.5 of 10`. Null
 * where the call changed nothing.
 *
 * @param room columns; 55 are enough for buckets of two digits
 */
export function drawGauge(before: Bucket, after: Bucket, room: number, paint: Paint): string | null {
  if (before.milliTokens === after.milliTokens) return null;
  const shut = after.milliTokens <= threshold(after);
  const change = `${tokens(before.milliTokens)} → ${tokens(after.milliTokens)} of ${tokens(after.limits.maxMilliTokens)}`;
  const text = `${change}${shut ? ': no retries now' : ''}`;
  const label = 'tokens ';
  const around = label.length + '│┃│ '.length;
  const cells = around + wide + text.length <= room ? wide : narrow;
  // Rounded away from the threshold: a bar that ends at it is shut, one that goes beyond is not.
  const exact = (after.milliTokens / after.limits.maxMilliTokens) * cells;
  const full = shut ? Math.floor(exact) : Math.ceil(exact);
  const bar = '■'.repeat(full) + '·'.repeat(cells - full);
  const shown = `${bar.slice(0, cells / 2)}┃${bar.slice(cells / 2)}`;
  return `${label}│${paint(shut ? 'bad' : 'good', shown)}│ ${clip(text, room - around - cells)}`;
}
