import type { Millis } from '../grpc/millis.js';
import { type StatusCode, statusName } from '../grpc/status.js';
import type { Plan } from '../policy/types.js';

/** A plan in plain English, on one line, without a full stop. */
export function describePlan(plan: Plan): string {
  switch (plan.kind) {
    case 'none':
      return 'no policy: one attempt; only what no application saw is sent again';
    case 'retry': {
      const { maxAttempts, initialBackoff, maxBackoff, multiplier } = plan;
      const codes = describeCodes(plan.retryable);
      const first = showMillis(Math.min(initialBackoff, maxBackoff));
      const growth = multiplier === 1 || initialBackoff >= maxBackoff ? '' : `, then × ${multiplier} each time`;
      const most = initialBackoff < maxBackoff && multiplier > 1 ? `, at most ${showMillis(maxBackoff)}` : '';
      return `retry: up to ${maxAttempts} attempts, one after another, on ${codes}; wait ${first} ± 20%${growth}${most}`;
    }
    case 'hedge': {
      const start = plan.delay === 0 ? 'all at once' : `one every ${showMillis(plan.delay)}`;
      const failures =
        plan.nonFatal.size === 0
          ? 'any failure ends the call'
          : `${describeCodes(plan.nonFatal)} starts the next at once, any other failure ends the call`;
      return `hedge: up to ${plan.maxAttempts} attempts, ${start}, the first answer wins; ${failures}`;
    }
    default:
      return plan satisfies never;
  }
}

/** Names in the order of their numbers: `ABORTED or UNAVAILABLE`; `no status` where there is none. */
export function describeCodes(codes: ReadonlySet<StatusCode>): string {
  const names = [...codes].toSorted((a, b) => a - b).map(statusName);
  const last = names.pop();
  if (last === undefined) return 'no status';
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`;
}

/** `50ms`, `1.5s`, `2m`: to a thousandth of a millisecond. */
export function showMillis(time: Millis | number): string {
  if (time < 1000) return `${round(time)}ms`;
  if (time < 60_000) return `${round(time / 1000)}s`;
  const minutes = time / 60_000;
  return Number.isInteger(minutes) ? `${minutes}m` : `${round(time / 1000)}s`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
