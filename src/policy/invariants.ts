import type { Millis } from '../grpc/millis.js';
import {
  type Account,
  type Draft,
  draftOf,
  enter,
  enterFailure,
  type InFlight,
  isHedging,
  isRetrying,
  mostAttempts,
  nextHedgeAt,
  type Trigger,
} from './account.js';
import type { Step } from './call.js';
import type { CallState } from './call-state.js';
import type { AttemptId, CallEvent, Constraint, Decision, Env, Plan } from './types.js';

/*
 * What must hold after every transition, checked from outside: an account of one call is kept from its events and decisions
 * alone, and the state is held against it.
 */

type Check = (holds: boolean, invariant: string) => void;
type Start = Extract<Decision, { type: 'startAttempt' }>;

/** One transition as the checks look at it. */
interface Moment {
  readonly plan: Plan;
  readonly event: CallEvent;
  readonly now: Millis;
  readonly trigger: Trigger | null;
  /** The attempt that ended is sent again. */
  readonly repeated: boolean;
  /** The deadline has come. */
  readonly late: boolean;
  /** The throttle, this event's debit taken. */
  readonly shut: boolean;
  readonly check: Check;
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
  const check: Check = (holds, invariant) => {
    if (!holds) broken.push(invariant);
  };
  if (before.finished) {
    check(decisions.length === 0, 'finish is the last decision');
    check(wakeAt === null, 'a call that is over never wakes');
    return { account: before, broken };
  }
  const { plan } = state;
  const { now } = env;
  const seen = draftOf(before);
  const trigger = enter(seen, event, plan);
  const repeated = decisions.some((decision) => decision.type === 'startAttempt' && decision.cause === 'transparent');
  const debits = !repeated && trigger?.debits === true;
  const late = seen.deadlineAt !== null && now >= seen.deadlineAt;
  const moment: Moment = { plan, event, now, trigger, repeated, late, shut: env.throttled(debits), check };
  if (trigger !== null && !trigger.ok && !repeated) enterFailure(seen, trigger, now, moment.shut);
  barWhereShut(seen, moment);

  checkRepeat(seen, moment, state.maxTransparent);
  checkOverflow(before, decisions, moment);
  for (const decision of decisions) {
    check(!seen.finished, 'finish is the last decision');
    seeDecision(seen, decision, moment);
  }
  // With a delay of 0 the next hedge is due in the very step that starts the one before it.
  barWhereShut(seen, moment);
  checkCounts(decisions, debits, moment);
  checkEnd(before, seen, decisions, moment);
  checkSettled(seen, state, wakeAt, moment);
  return { account: seen, broken };
}

/** A hedge that is due and finds the throttle shut is not sent, and none after it (A6, Throttling; THR-20). */
function barWhereShut(seen: Draft, { plan, now, shut }: Moment): void {
  const due = nextHedgeAt(seen, plan);
  if (due !== null && now >= due && shut) seen.barredBy = 'shut throttle';
}

function seeDecision(seen: Draft, decision: Decision, { trigger, plan, event, now, late, shut, check }: Moment): void {
  switch (decision.type) {
    case 'startAttempt':
      seen.started += 1;
      check(decision.attempt === seen.started, 'attempts are numbered from 1 in the order of their starts');
      check(!late, 'no start at the deadline or after it');
      if (decision.cause === 'transparent') seeRepeat(seen, decision, trigger, check);
      else seePolicyAttempt(seen, decision, plan, now, shut, check);
      seen.live.set(decision.attempt, { previous: decision.previous, onlyOn: decision.onlyOn });
      return;
    case 'commit':
      check(seen.committed === null, 'at most one commit');
      check(
        seen.live.has(decision.attempt) || (trigger?.ok === true && trigger.attempt === decision.attempt),
        'a commit is to an attempt in flight, or to the one that just ended OK',
      );
      check(
        decision.cause === 'headers'
          ? event.type === 'headersReceived' && event.attempt === decision.attempt
          : decision.cause === 'ok'
            ? trigger?.ok === true
            : seen.overflowed,
        'a commit says what caused it',
      );
      seen.committed = decision.attempt;
      seen.commitCause = decision.cause;
      return;
    case 'cancelAttempt':
      check(seen.live.delete(decision.attempt), 'each attempt ends or is cancelled, once');
      return;
    case 'countThrottle':
      return;
    case 'finish':
      seen.finished = true;
      if ('from' in decision.with) {
        const { from } = decision.with;
        const told = trigger?.ok === true ? trigger.attempt : (seen.told ?? seen.last);
        check(from === told, 'the status told is the last that a backend spoke for, else that of the last end');
      }
      check(
        (decision.reason === 'ok') === (trigger?.ok === true && !late),
        'ok is the reason of an OK, and of it alone',
      );
      return;
    default:
      decision satisfies never;
  }
}

function seeRepeat(seen: Draft, start: Start, trigger: Trigger | null, check: Check): void {
  const reach = trigger?.end.reach;
  check(reach === 'unsent' || reach === 'refused', 'a transparent attempt repeats one that no application saw');
  check(start.previous === trigger?.was.previous, 'a transparent attempt is told what the one before it was told');
  check(
    trigger !== null && isSame(start.onlyOn, trigger.was.onlyOn),
    'a transparent attempt goes where the one before it had to go',
  );
  if (reach === 'refused') seen.refusedRepeats += 1;
  else seen.unsentRepeats += 1;
  if (seen.committed === null) return;
  check(reach === 'unsent' && seen.committed === trigger?.attempt, 'no start after commit');
  seen.committed = start.attempt;
}

function seePolicyAttempt(seen: Draft, start: Start, plan: Plan, now: Millis, shut: boolean, check: Check): void {
  check(seen.committed === null, 'no start after commit');
  check(start.previous === seen.counted, 'a policy attempt is told how many went before it');
  seen.counted += 1;
  check(seen.counted <= mostAttempts(seen, plan), 'counted attempts are at most maxAttempts');
  const cause = seen.counted === 1 ? 'first' : plan.kind === 'hedge' ? 'hedge' : 'retry';
  check(start.cause === cause, 'a policy attempt is the first, a retry or a hedge, as the plan has it');
  check(seen.barredBy === null, `no policy attempt past a ${seen.barredBy}`);
  check(start.cause !== 'hedge' || !shut, 'no hedge while the throttle is shut');
  check(seen.notBefore === null || now >= seen.notBefore, 'no policy attempt before a pushback is served');
  check(isSame(start.onlyOn, constraintOf(seen)), 'a policy attempt goes where the placement wants it');
  seen.startedAt = now;
  seen.notBefore = null;
}

/** Where the policy attempt that was just counted has to go (D2, D5). */
function constraintOf({ placement, counted }: Account): Constraint | null {
  if (placement.kind === 'only') return { target: placement.target, strict: true };
  return placement.kind === 'firstOnly' && counted === 1 ? { target: placement.target, strict: false } : null;
}

function isSame(a: Constraint | null, b: Constraint | null): boolean {
  return a?.target === b?.target && a?.strict === b?.strict;
}

/** A6, Transparent retries: what is proven not processed is sent again as long as there is quota, and only then. */
function checkRepeat(seen: Account, { trigger, late, repeated, check }: Moment, maxTransparent: number): void {
  if (trigger === null || trigger.ok || late) return;
  const { unsentRepeats, refusedRepeats, committed, commitCause } = seen;
  const { reach } = trigger.end;
  const expected =
    (reach === 'unsent' && unsentRepeats < maxTransparent && commitCause !== 'headers') ||
    (reach === 'refused' && refusedRepeats === 0 && committed === null);
  check(repeated === expected, 'an attempt that no application saw is repeated while there is quota, and no other');
}

/** A6, Retry buffer: of those in flight the one that has sent most is kept, of equals the earliest; one without a place comes last. */
function checkOverflow(before: Account, decisions: readonly Decision[], { event, late, check }: Moment): void {
  if (event.type !== 'bufferOverflowed' || before.committed !== null || before.live.size === 0 || late) return;
  const commit = decisions.find((decision) => decision.type === 'commit');
  check(commit?.attempt === mostSent(before.live, event.sent), 'an overflow keeps the attempt that has sent most');
}

function mostSent(live: ReadonlyMap<AttemptId, InFlight>, sent: ReadonlyMap<AttemptId, number>): AttemptId | undefined {
  const bytes = (id: AttemptId): number => sent.get(id) ?? -1;
  // A stable sort: equals stay in the order of their starts.
  return [...live.keys()].sort((a, b) => bytes(b) - bytes(a))[0];
}

function checkCounts(decisions: readonly Decision[], debits: boolean, { trigger, late, check }: Moment): void {
  const counts = decisions.flatMap((decision) => (decision.type === 'countThrottle' ? [decision.as] : []));
  const expected = debits ? ['failure'] : trigger?.ok === true && !late ? ['success'] : [];
  check(
    counts.join() === expected.join(),
    'an OK credits once, a failure that is listed or must not be retried debits once, nothing else counts',
  );
}

/** What the end of an attempt means for the call. */
function checkEnd(before: Account, seen: Account, decisions: readonly Decision[], moment: Moment): void {
  const { trigger, plan, repeated, late, check } = moment;
  if (late) {
    check(seen.finished, 'no call outlives its deadline');
    return;
  }
  if (trigger === null || repeated) return;
  const { ok, listed, end, siblings } = trigger;
  if (ok || before.committed !== null) {
    check(seen.finished, 'an OK, or any end after commit, is the end of the call');
    return;
  }
  const hedging = isHedging(seen, plan);
  if (end.reach === 'dropped' ? siblings === 0 : !listed || !(hedging || isRetrying(seen, plan))) {
    check(seen.finished, 'an end that nothing may follow is the end of the call');
    return;
  }
  if (!hedging) return;
  const goesOn = seen.barredBy === null && before.counted < mostAttempts(seen, plan);
  check(
    seen.finished === (siblings === 0 && !goesOn),
    'a non-fatal failure ends the call when none is in flight or to come',
  );
  if (!goesOn || end.pushback.kind === 'after' || before.notBefore !== null) return;
  const next = decisions.some((decision) => decision.type === 'startAttempt' && decision.cause === 'hedge');
  check(next, 'a non-fatal failure brings the next hedge forward to now');
}

function checkSettled(seen: Account, state: CallState, wakeAt: Millis | null, { plan, now, check }: Moment): void {
  const { dueAt } = state;
  check(
    state.live.length === seen.live.size && state.live.every(({ id }) => seen.live.has(id)),
    'the state knows what is in flight',
  );
  check((state.phase === 'over') === seen.finished, 'a call is over when it has finished');
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
  check(dueAt === null || seen.counted < mostAttempts(seen, plan), 'nothing is due when maxAttempts are made');
  check(wakeAt === earliest(dueAt, seen.deadlineAt), 'it wakes for what is due or for its deadline');
  if (isHedging(seen, plan)) {
    check(
      dueAt === nextHedgeAt(seen, plan),
      'the next hedge is due at its delay or at its pushback, and at no other time',
    );
  } else {
    check(seen.live.size + (dueAt === null ? 0 : 1) <= 1, 'one attempt after the other, where nothing is hedged');
    check(seen.notBefore === null || dueAt === seen.notBefore, 'a retry is due exactly when its pushback is served');
  }
  if (seen.live.size === 0 && dueAt !== null)
    check(seen.deadlineAt === null || dueAt < seen.deadlineAt, 'no wait that would end at the deadline or after it');
  if (seen.overflowed) {
    check(state.commit !== null, 'an overflow leaves the call committed');
    check(seen.live.size === 0 || seen.committed !== null, 'what runs after an overflow is committed');
  }
}

function earliest(a: Millis | null, b: Millis | null): Millis | null {
  if (a === null) return b;
  return b === null || a < b ? a : b;
}
