import type { AttemptEnd } from '../grpc/attempt-facts.js';
import { type Millis, millis } from '../grpc/millis.js';
import type { StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { backoffDelay } from './backoff.js';
import type { CallState } from './call-state.js';
import type { CommitCause, Plan } from './types.js';

/** How an attempt ended, as far as the policy looks at it. */
export type End = Pick<AttemptEnd, 'code' | 'reach' | 'pushback' | 'by' | 'reason'> & {
  /** D33; absent: not so. */
  readonly breached?: boolean | undefined;
};

/** What the ladder reads of a call; the attempt that ended is no longer among the live ones. */
export type Standing = Pick<
  CallState,
  | 'plan'
  | 'policy'
  | 'placement'
  | 'commit'
  | 'deadlineAt'
  | 'counted'
  | 'backoffs'
  | 'unsentRepeats'
  | 'maxTransparent'
  | 'refusedRepeated'
>;

/** The moment of the end. */
export interface Moment {
  readonly now: Millis;
  /** The throttle is shut, this failure's debit taken. */
  readonly throttled: boolean;
  /** In [0, 1); asked for only where a backoff is to be drawn. */
  readonly random: () => number;
}

export type Verdict =
  /** The call ends now; what else is in flight is cancelled. */
  | { readonly kind: 'stop'; readonly reason: StopReason }
  /** No further attempt; the call ends when nothing is in flight ("wait for siblings"). */
  | { readonly kind: 'hold'; readonly reason: StopReason }
  /** Again at once: no application saw the attempt. Not counted, nothing debited. */
  | { readonly kind: 'transparent' }
  | { readonly kind: 'retry'; readonly at: Millis }
  /** The next hedge: at `at` where it was pushed back, else as soon as no pushback stands in the way. */
  | { readonly kind: 'hedge'; readonly at: Millis; readonly pushed: boolean };

const transparent: Verdict = { kind: 'transparent' };

/**
 * The ladder (D12): what follows from an attempt that ended without OK. First match wins. Rows 1 and 2 (the client cancelled,
 * the deadline passed) hold whatever the event is, and are taken before this is asked; row 12 (every attempt was unplaced)
 * where the call ends.
 *
 * | row | condition | outcome |
 * |---|---|---|
 * | – | dropped | hold, with the drop's own reason, else `overloaded`; a strict pin: `pinned_backend_busy` |
 * | 3 | proven not processed, quota left | transparent |
 * | 4 | a strict pin | stop: could not be had, after commit too, `pinned_backend_unavailable`; lost, `backend_lost`; else the reason of the row below that stops, or `pinned`. Where the policy may retry on the target itself, a loss is one failure like others |
 * | 5 | no policy, or switched off | stop, `no_policy` |
 * | 6 | code not listed | stop, `fatal_status` |
 * | 7 | pushback negative or unparsable | hold, `pushback` |
 * | 8 | replay buffer lost | stop, `buffer_exceeded` |
 * | 9 | attempts = maxAttempts | hold, `attempts_exhausted` |
 * | 10 | throttled after this debit | hold, `throttled` |
 * | 11 | the wait would end at or after the deadline | hold, `backoff_beyond_deadline` |
 * | 13 | otherwise | retry after pushback or backoff; the next hedge now or after pushback |
 */
export function judge(standing: Standing, end: End, moment: Moment): Verdict {
  const strict = standing.placement.kind === 'only';
  if (end.reach === 'dropped') return hold(end.reason ?? (strict ? 'pinned_backend_busy' : 'overloaded'));
  if (isRepeatable(standing, end)) return transparent;
  // A pin that cannot be had is the reason, whether or not a buffer had committed the call before.
  if (strict && end.reach === 'unplaced') return stop('pinned_backend_unavailable');
  if (standing.commit !== null) return stop(reasonAfterCommit(standing, end, standing.commit));
  return strict ? judgePinned(standing, end, moment) : judgeByPolicy(standing, end, moment);
}

/**
 * The failure takes a token: a listed code of the method's policy, also where the policy is switched off for the call or may
 * not act for a pin, or a do-not-retry pushback whatever code and policy (A6, Throttling; PB-16). A drop takes none, and
 * neither does a strict pin that could not be had: it is no attempt (D7). Transparent retries never do; the caller knows.
 */
export function isDebit({ plan, placement }: Pick<Standing, 'plan' | 'placement'>, end: End): boolean {
  if (end.reach === 'dropped' || (end.reach === 'unplaced' && placement.kind === 'only')) return false;
  return end.pushback.kind === 'never' || listedCodes(plan).has(end.code);
}

const noCodes: ReadonlySet<StatusCode> = new Set();

/** The codes that a policy tries again for. */
function listedCodes(plan: Plan): ReadonlySet<StatusCode> {
  switch (plan.kind) {
    case 'none':
      return noCodes;
    case 'retry':
      return plan.retryable;
    case 'hedge':
      return plan.nonFatal;
    default:
      return plan satisfies never;
  }
}

/** Row 3. Overflow frees nothing that was not sent, so a never-sent attempt is repeated after it all the same (SM-30). */
function isRepeatable(standing: Standing, end: End): boolean {
  const { commit, unsentRepeats, maxTransparent, refusedRepeated } = standing;
  switch (end.reach) {
    case 'unsent':
      return unsentRepeats < maxTransparent && commit !== 'headers';
    case 'refused':
      return !refusedRepeated && commit === null;
    default:
      return false;
  }
}

/** Row 4, where the pin could be had. */
function judgePinned(standing: Standing, end: End, moment: Moment): Verdict {
  const { placement, plan } = standing;
  // A hedge is no retry (D5), and a breach ends retries on the target itself (D33).
  const again = placement.kind === 'only' && placement.again && plan.kind === 'retry' && end.breached !== true;
  if (end.by === 'loss' && !again) return stop('backend_lost');
  const verdict = judgeByPolicy(standing, end, moment);
  return again || verdict.kind === 'stop' || verdict.kind === 'hold' ? verdict : stop('pinned');
}

/** Rows 5 to 11 and 13. */
function judgeByPolicy(standing: Standing, end: End, { now, throttled, random }: Moment): Verdict {
  const { plan, deadlineAt } = standing;
  const { pushback } = end;
  if (plan.kind === 'none' || standing.policy === 'off') return stop('no_policy');
  if (!listedCodes(plan).has(end.code)) return stop('fatal_status');
  if (pushback.kind === 'never') return hold('pushback');
  if (standing.counted >= plan.maxAttempts) return hold('attempts_exhausted');
  if (throttled) return hold('throttled');
  const pushed = pushback.kind === 'after';
  const at = pushed
    ? millis(now + pushback.ms)
    : plan.kind === 'hedge'
      ? now
      : millis(now + backoffDelay(plan, standing.backoffs + 1, random()));
  if (deadlineAt !== null && at >= deadlineAt) return hold('backoff_beyond_deadline');
  return plan.kind === 'hedge' ? { kind: 'hedge', at, pushed } : { kind: 'retry', at };
}

/** Rows 5 to 8 as they name the end of a committed call: nothing further is started, whatever they say. */
function reasonAfterCommit({ plan, policy }: Standing, end: End, commit: CommitCause): StopReason {
  if (end.by === 'loss') return 'backend_lost';
  if (plan.kind === 'none' || policy === 'off') return 'no_policy';
  if (!listedCodes(plan).has(end.code)) return 'fatal_status';
  if (end.pushback.kind === 'never') return 'pushback';
  return commit === 'headers' ? 'committed' : 'buffer_exceeded';
}

function stop(reason: StopReason): Verdict {
  return { kind: 'stop', reason };
}

function hold(reason: StopReason): Verdict {
  return { kind: 'hold', reason };
}
