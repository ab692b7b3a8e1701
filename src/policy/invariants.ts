import type { Millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import type { Step } from './call.js';
import type { CallState } from './call-state.js';
import type { AttemptId, CallEvent, Decision, Env, Plan } from './types.js';

/*
 * What must hold after every transition, checked from outside: an account of one call is kept from its events and decisions
 * alone, and the state is held against it.
 */

/** What has been seen of one call. A value: `audit` makes a new one. */
export interface Account {
  readonly deadlineAt: Millis | null;
  readonly policy: 'on' | 'off';
  readonly begun: boolean;
  readonly finished: boolean;
  readonly started: number;
  readonly counted: number;
  readonly unsentRepeats: number;
  readonly refusedRepeats: number;
  /** In flight, with what each was told of those before it. */
  readonly live: ReadonlyMap<AttemptId, number>;
  /** Ended by themselves. */
  readonly ended: ReadonlySet<AttemptId>;
  readonly overflowed: boolean;
  /** The attempt that the call stands and falls with. */
  readonly committed: AttemptId | null;
}

export const nothingSeen: Account = {
  deadlineAt: null,
  policy: 'on',
  begun: false,
  finished: false,
  started: 0,
  counted: 0,
  unsentRepeats: 0,
  refusedRepeats: 0,
  live: new Map(),
  ended: new Set(),
  overflowed: false,
  committed: null,
};

type Draft = { -readonly [Key in keyof Account]: Account[Key] } & {
  live: Map<AttemptId, number>;
  ended: Set<AttemptId>;
};

/** The attempt that this event ended, if it was live. */
interface Trigger {
  readonly attempt: AttemptId;
  readonly previous: number;
  readonly ok: boolean;
  /** How it is known that no application saw it; null where it may have. */
  readonly unseen: 'unsent' | 'refused' | null;
}

/**
 * Holds one transition against the invariants.
 *
 * @param before the account that the transition before this one left; `nothingSeen` at first
 * @param env what the transition was given
 * @returns the account after it, and each invariant that does not hold, in words; none where all is well
 */
export function audit(
  before: Account,
  event: CallEvent,
  env: Pick<Env, 'now' | 'throttled'>,
  { state, decisions, wakeAt }: Step,
): { readonly account: Account; readonly broken: readonly string[] } {
  const broken: string[] = [];
  const check = (holds: boolean, invariant: string): void => {
    if (!holds) broken.push(invariant);
  };
  if (before.finished) {
    check(decisions.length === 0, 'finish is the last decision');
    check(wakeAt === null, 'a call that is over never wakes');
    return { account: before, broken };
  }
  const seen: Draft = { ...before, live: new Map(before.live), ended: new Set(before.ended) };
  const trigger = seeEvent(seen, event);
  for (const decision of decisions) {
    check(!seen.finished, 'finish is the last decision');
    seeDecision(seen, decision, state.plan, trigger, check);
  }
  checkCounts(decisions, trigger, check);
  if (trigger !== null && !trigger.ok && env.throttled(decisions.some(isFailure)))
    check(state.dueAt === null && !decisions.some(isRetry), 'no retry past a shut throttle');
  checkSettled(seen, state, wakeAt, env.now, check);
  return { account: seen, broken };
}

type Check = (holds: boolean, invariant: string) => void;

function seeEvent(seen: Draft, event: CallEvent): Trigger | null {
  if (event.type === 'started' && !seen.begun) {
    seen.begun = true;
    seen.deadlineAt = event.deadlineAt;
    seen.policy = event.policy;
  }
  if (event.type === 'bufferOverflowed') seen.overflowed = true;
  if (event.type !== 'attemptEnded') return null;
  const previous = seen.live.get(event.attempt);
  if (previous === undefined) return null;
  seen.live.delete(event.attempt);
  seen.ended.add(event.attempt);
  const unseen = event.reach === 'unsent' || event.reach === 'refused' ? event.reach : null;
  return { attempt: event.attempt, previous, ok: event.code === Status.OK, unseen };
}

function seeDecision(seen: Draft, decision: Decision, plan: Plan, trigger: Trigger | null, check: Check): void {
  switch (decision.type) {
    case 'startAttempt':
      seen.started += 1;
      check(decision.attempt === seen.started, 'attempts are numbered from 1 in the order of their starts');
      seen.live.set(decision.attempt, decision.previous);
      if (decision.cause === 'transparent') seeRepeat(seen, decision, trigger, check);
      else seePolicyAttempt(seen, decision, plan, check);
      return;
    case 'commit':
      check(seen.committed === null, 'at most one commit');
      check(
        seen.live.has(decision.attempt) || trigger?.attempt === decision.attempt,
        'a commit is to an attempt in flight, or to the one that just ended OK',
      );
      seen.committed = decision.attempt;
      return;
    case 'cancelAttempt':
      check(seen.live.delete(decision.attempt), 'each attempt ends or is cancelled, once');
      return;
    case 'countThrottle':
      return;
    case 'finish':
      seen.finished = true;
      if ('from' in decision.with) check(seen.ended.has(decision.with.from), 'the status told is that of an end');
      return;
    default:
      decision satisfies never;
  }
}

type Start = Extract<Decision, { type: 'startAttempt' }>;

function seeRepeat(seen: Draft, start: Start, trigger: Trigger | null, check: Check): void {
  const unseen = trigger?.unseen ?? null;
  check(unseen !== null, 'a transparent attempt repeats one that no application saw');
  check(start.previous === trigger?.previous, 'a transparent attempt is told what the one before it was told');
  if (unseen === 'refused') seen.refusedRepeats += 1;
  else seen.unsentRepeats += 1;
  check(seen.refusedRepeats <= 1, 'at most one repeat of a refused attempt');
  if (seen.committed === null) return;
  check(unseen === 'unsent' && seen.committed === trigger?.attempt, 'no start after commit');
  seen.committed = start.attempt;
}

function seePolicyAttempt(seen: Draft, start: Start, plan: Plan, check: Check): void {
  const most = plan.kind === 'none' || seen.policy === 'off' ? 1 : plan.maxAttempts;
  check(seen.committed === null, 'no start after commit');
  check(start.previous === seen.counted, 'a policy attempt is told how many went before it');
  seen.counted += 1;
  check(seen.counted <= most, 'counted attempts are at most maxAttempts');
  check((start.cause === 'first') === (seen.counted === 1), 'the first policy attempt, and no other, is the first');
}

function checkCounts(decisions: readonly Decision[], trigger: Trigger | null, check: Check): void {
  const counts = decisions.filter((decision) => decision.type === 'countThrottle');
  check(counts.length <= 1, 'a transition counts once for the throttle');
  check(
    counts.every(({ as }) => trigger !== null && (as === 'success') === trigger.ok),
    'the throttle counts attempts that ended: success for OK, failure for the rest',
  );
  if (decisions.some((decision) => decision.type === 'startAttempt' && decision.cause === 'transparent'))
    check(counts.length === 0, 'a transparent attempt takes no token');
}

function checkSettled(seen: Account, state: CallState, wakeAt: Millis | null, now: Millis, check: Check): void {
  const { dueAt } = state;
  check(
    state.live.length === seen.live.size && state.live.every(({ id }) => seen.live.has(id)),
    'the state knows what is in flight',
  );
  check((state.phase === 'over') === seen.finished, 'a call is over when it has finished');
  check(seen.unsentRepeats <= state.maxTransparent, 'repeats of never-sent attempts are bounded');
  if (seen.committed !== null)
    check(
      [...seen.live.keys()].every((id) => id === seen.committed),
      'losers are cancelled in the step that commits',
    );
  if (seen.finished) {
    check(seen.live.size === 0, 'a call that is over has nothing in flight');
    check(dueAt === null && wakeAt === null, 'a call that is over never wakes');
    return;
  }
  if (!seen.begun) return;
  check(seen.live.size > 0 || dueAt !== null, 'a call that is not over has an attempt in flight or due');
  check(dueAt === null || dueAt > now, 'nothing is due in the past');
  check(seen.deadlineAt === null || seen.deadlineAt > now, 'no call outlives its deadline');
  check(wakeAt === earliest(dueAt, seen.deadlineAt), 'it wakes for what is due or for its deadline');
  if (seen.overflowed) {
    check(state.commit !== null, 'an overflow leaves the call committed');
    check(seen.live.size === 0 || seen.committed !== null, 'what runs after an overflow is committed');
  }
}

function earliest(a: Millis | null, b: Millis | null): Millis | null {
  if (a === null) return b;
  return b === null || a < b ? a : b;
}

function isRetry(decision: Decision): boolean {
  return decision.type === 'startAttempt' && decision.cause === 'retry';
}

function isFailure(decision: Decision): boolean {
  return decision.type === 'countThrottle' && decision.as === 'failure';
}
