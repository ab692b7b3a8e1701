import { type Millis, millis } from '../grpc/millis.js';
import { backoffDelay } from '../policy/backoff.js';
import type { Throttle } from '../policy/throttle.js';
import type { Plan } from '../policy/types.js';

/** From the least to the most that jitter makes of it; both the same where there is none. */
export interface Range {
  readonly from: Millis;
  readonly to: Millis;
}

/** One attempt that a plan provides for. */
export interface ScheduledAttempt {
  /** From 1. */
  readonly attempt: number;
  /** After the failure before it (retry), or the start before it (hedge). */
  readonly wait: Range;
  /** From the call's start: for a retry the waits alone, as if each attempt failed at once; for a hedge if none ended. */
  readonly at: Range;
  /** What keeps it from being made: `perhaps` where only jitter decides. */
  readonly deadline: 'in time' | 'perhaps' | 'too late';
  /** The bucket would be shut by then if every attempt before it had failed (retry), or if none had (hedge). */
  readonly throttled: boolean;
}

const atOnce: Range = { from: millis(0), to: millis(0) };

/**
 * What a plan does where nothing is known of the backends.
 *
 * @param deadline from the call's start; null: none
 * @param throttle counted: give one of its own
 */
export function scheduleOf(plan: Plan, deadline: Millis | null, throttle: Throttle): readonly ScheduledAttempt[] {
  const first: ScheduledAttempt = {
    attempt: 1,
    wait: atOnce,
    at: atOnce,
    deadline: inTime(atOnce, deadline),
    throttled: false,
  };
  if (plan.kind === 'none') return [first];
  const schedule = [first];
  let at = atOnce;
  for (let attempt = 2; attempt <= plan.maxAttempts; attempt += 1) {
    // The jitter's upper end is not reached; told as if it were.
    const wait: Range =
      plan.kind === 'hedge'
        ? { from: plan.delay, to: plan.delay }
        : { from: tidy(backoffDelay(plan, attempt - 1, 0)), to: tidy(backoffDelay(plan, attempt - 1, 1)) };
    at = { from: tidy(at.from + wait.from), to: tidy(at.to + wait.to) };
    if (plan.kind === 'retry') throttle.count('failure');
    schedule.push({ attempt, wait, at, deadline: inTime(at, deadline), throttled: throttle.isShut(false) });
  }
  return schedule;
}

function inTime({ from, to }: Range, deadline: Millis | null): ScheduledAttempt['deadline'] {
  // At the deadline is too late for a hedge (D12 row 2), and for a wait that would end there (row 11).
  if (deadline !== null && from >= deadline) return 'too late';
  return deadline === null || to <= deadline ? 'in time' : 'perhaps';
}

/** Without what floating point adds: to a nanosecond. */
function tidy(time: number): Millis {
  return millis(Math.round(time * 1e6) / 1e6);
}
