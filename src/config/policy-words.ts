import { type StatusCode, statusName } from '../grpc/status.js';
import type { Plan, RetryPlan } from '../policy/types.js';

/** A plan in plain English, on one line, without a full stop. */
export function describePlan(plan: Plan): string {
  switch (plan.kind) {
    case 'none':
      return 'no policy: one attempt; only what no application saw is sent again';
    case 'retry':
      return `retry: up to ${plan.maxAttempts} attempts, one after another, on ${describeCodes(plan.retryable)}; ${describeWaits(plan)}`;
    case 'hedge': {
      const start = plan.delay === 0 ? 'all at once' : `one every ${showMillis(plan.delay)}`;
      const next = plan.delay === 0 ? 'is waited out' : 'starts the next at once';
      const failures =
        plan.nonFatal.size === 0
          ? 'any failure ends the call'
          : `${describeCodes(plan.nonFatal)} ${next}, any other failure ends the call`;
      return `hedge: up to ${plan.maxAttempts} attempts, ${start}, the first answer wins; ${failures}`;
    }
    default:
      return plan satisfies never;
  }
}

const waitsTold = 5;

/** `waits 100ms, 200ms, 400ms, ± 20%`: the bases, by the formula of A6, Exponential Backoff. */
function describeWaits(plan: RetryPlan): string {
  const { initialBackoff, maxBackoff, multiplier } = plan;
  const base = (retry: number) => showMillis(Math.min(initialBackoff * multiplier ** retry, maxBackoff));
  const waits = Array.from({ length: plan.maxAttempts - 1 }, (_, retry) => base(retry));
  const [first = ''] = waits;
  if (waits.length > 1 && new Set(waits).size === 1) return `waits ${first} each time, ± 20%`;
  const rest = waits.length > waitsTold ? ` … ${waits.at(-1)}` : '';
  return `waits ${waits.slice(0, waitsTold).join(', ')}${rest}, ± 20%`;
}

/** A plan in a few words: `retry 4 attempts`, `hedge 3 attempts, 50ms`. */
export function shortPlan(plan: Plan): string {
  switch (plan.kind) {
    case 'none':
      return 'no policy';
    case 'retry':
      return `retry ${plan.maxAttempts} attempts`;
    case 'hedge':
      return `hedge ${plan.maxAttempts} attempts, ${plan.delay === 0 ? 'all at once' : showMillis(plan.delay)}`;
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

/** `50ms`, `1.5s`, `2m`: exact to the nanosecond, the finest that a Duration tells. */
export function showMillis(time: number): string {
  if (time < 1000) return `${Number(time.toFixed(6))}ms`;
  const minutes = time / 60_000;
  return Number.isInteger(minutes) ? `${minutes}m` : `${Number((time / 1000).toFixed(9))}s`;
}
