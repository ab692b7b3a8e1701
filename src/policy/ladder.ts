import type { AttemptEnd } from '../grpc/attempt-facts.js';
import { type Millis, millis } from '../grpc/millis.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { backoffDelay } from './backoff.js';
import type { CommitCause, Plan } from './types.js';

/** How an attempt ended, as far as the policy looks at it. */
export type End = Pick<AttemptEnd, 'code' | 'reach' | 'pushback' | 'by'>;

/** What is known when an attempt has ended without OK. */
export interface Failure {
  readonly end: End;
  readonly now: Millis;
  readonly deadlineAt: Millis | null;
  readonly plan: Plan;
  readonly policy: 'on' | 'off';
  readonly commit: CommitCause | null;
  /** Repeats of a never-sent attempt are left. */
  readonly unsentLeft: boolean;
  /** The call's one repeat of a refused attempt is left. */
  readonly refusalLeft: boolean;
  /** Policy attempts started, the first included. */
  readonly counted: number;
  /** Every attempt of the call so far ended `unplaced`. */
  readonly onlyUnplaced: boolean;
  /** Waits since the start or the last pushback: the exponent of the next one. */
  readonly backoffs: number;
  /** The throttle is shut, this failure's debit taken. */
  readonly throttled: boolean;
  /** In [0, 1); asked for only where a backoff is to be drawn. */
  readonly random: () => number;
}

export type Verdict =
  | { readonly kind: 'stop'; readonly reason: StopReason }
  /** Again at once: no application saw the attempt. Not counted, nothing debited. */
  | { readonly kind: 'transparent' }
  | { readonly kind: 'retry'; readonly at: Millis };

const transparent: Verdict = { kind: 'transparent' };

/**
 * The ladder: what follows from an attempt that ended without OK. First match wins. Rows 1 and 2 (the client cancelled,
 * the deadline passed) hold whatever the event is, and are taken before this is asked.
 *
 * | row | condition | outcome |
 * |---|---|---|
 * | – | dropped by the balancer | stop, `overloaded` |
 * | 3 | proven not processed, quota left | transparent |
 * | 5 | no policy, or switched off | stop, `no_policy` |
 * | 6 | code not listed | stop, `fatal_status` |
 * | 7 | pushback negative or unparsable | stop, `pushback` |
 * | 8 | replay buffer lost | stop, `buffer_exceeded` |
 * | 9 | attempts = maxAttempts | stop, `attempts_exhausted` |
 * | 10 | throttled after this debit | stop, `throttled` |
 * | 11 | the wait would end at or after the deadline | stop, `backoff_beyond_deadline` |
 * | 12 | rows 5–11 stop a call whose every attempt was unplaced | the reason told is `no_backend` |
 * | 13 | otherwise | retry after pushback or backoff |
 */
export function judge(failure: Failure): Verdict {
  if (failure.end.reach === 'dropped') return stop('overloaded');
  if (isRepeatable(failure)) return transparent;
  if (failure.commit !== null) return stop(reasonAfterCommit(failure, failure.commit));
  const verdict = judgeByPolicy(failure);
  return verdict.kind === 'stop' && failure.onlyUnplaced ? stop('no_backend') : verdict;
}

/**
 * The failure takes a token: a listed code of the method's policy, also where the policy is switched off for the call, or a
 * do-not-retry pushback whatever code and policy (A6, Throttling; PB-16). Transparent retries never do; the caller knows.
 */
export function isDebit(plan: Plan, end: End): boolean {
  if (end.reach === 'dropped') return false;
  return end.pushback.kind === 'never' || (plan.kind === 'retry' && plan.retryable.has(end.code));
}

/** Row 3. Overflow frees nothing that was not sent, so a never-sent attempt is repeated after it all the same (SM-30). */
function isRepeatable({ end, commit, unsentLeft, refusalLeft }: Failure): boolean {
  switch (end.reach) {
    case 'unsent':
      return unsentLeft && commit !== 'headers';
    case 'refused':
      return refusalLeft && commit === null;
    default:
      return false;
  }
}

/** Rows 5 to 11 and 13. */
function judgeByPolicy(failure: Failure): Verdict {
  const { plan, end } = failure;
  if (plan.kind === 'none' || failure.policy === 'off') return stop('no_policy');
  if (!plan.retryable.has(end.code)) return stop('fatal_status');
  if (end.pushback.kind === 'never') return stop('pushback');
  if (failure.counted >= plan.maxAttempts) return stop('attempts_exhausted');
  if (failure.throttled) return stop('throttled');
  const delay =
    end.pushback.kind === 'after' ? end.pushback.ms : backoffDelay(plan, failure.backoffs + 1, failure.random());
  const at = millis(failure.now + delay);
  if (failure.deadlineAt !== null && at >= failure.deadlineAt) return stop('backoff_beyond_deadline');
  return { kind: 'retry', at };
}

/** Rows 5 to 8 as they name the end of a committed call: nothing further is started, whatever they say. */
function reasonAfterCommit({ plan, policy, end }: Failure, commit: CommitCause): StopReason {
  if (end.by === 'loss') return 'backend_lost';
  if (plan.kind === 'none' || policy === 'off') return 'no_policy';
  if (!plan.retryable.has(end.code)) return 'fatal_status';
  if (end.pushback.kind === 'never') return 'pushback';
  return commit === 'headers' ? 'committed' : 'buffer_exceeded';
}

function stop(reason: StopReason): Verdict {
  return { kind: 'stop', reason };
}
