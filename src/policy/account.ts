import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { AttemptId, CallEvent, CommitCause, Constraint, Placement, Plan } from './types.js';

/** Of an attempt in flight: what it was told of those before it, and where it had to go. */
export interface InFlight {
  readonly previous: number;
  readonly onlyOn: Constraint | null;
}

/** Why no further policy attempt of a call may start, as its failures and the bucket say it. */
export type Bar = 'shut throttle' | 'do-not-retry pushback' | 'pushback beyond the deadline' | 'drop';

/** What has been seen of one call, from its events and decisions alone. A value: `audit` makes a new one. */
export interface Account {
  readonly deadlineAt: Millis | null;
  readonly policy: 'on' | 'off';
  readonly placement: Placement;
  readonly begun: boolean;
  readonly finished: boolean;
  readonly started: number;
  readonly counted: number;
  readonly unsentRepeats: number;
  readonly refusedRepeats: number;
  /** In the order of their starts. */
  readonly live: ReadonlyMap<AttemptId, InFlight>;
  /** The last attempt that ended with a backend's word, and the last that ended at all. */
  readonly told: AttemptId | null;
  readonly last: AttemptId | null;
  readonly overflowed: boolean;
  /** The attempt that the call stands and falls with. */
  readonly committed: AttemptId | null;
  readonly commitCause: CommitCause | null;
  /** When the last policy attempt started. */
  readonly startedAt: Millis | null;
  /** A pushback that was not served: no policy attempt before it. */
  readonly notBefore: Millis | null;
  readonly barredBy: Bar | null;
}

export const nothingSeen: Account = {
  deadlineAt: null,
  policy: 'on',
  placement: { kind: 'any' },
  begun: false,
  finished: false,
  started: 0,
  counted: 0,
  unsentRepeats: 0,
  refusedRepeats: 0,
  live: new Map(),
  told: null,
  last: null,
  overflowed: false,
  committed: null,
  commitCause: null,
  startedAt: null,
  notBefore: null,
  barredBy: null,
};

/** An account while a transition is entered. */
export type Draft = { -readonly [Key in keyof Account]: Account[Key] } & { live: Map<AttemptId, InFlight> };

type Ended = Extract<CallEvent, { type: 'attemptEnded' }>;

/** The end of an attempt that was in flight. */
export interface Trigger {
  readonly attempt: AttemptId;
  readonly was: InFlight;
  readonly end: Ended;
  readonly ok: boolean;
  /** The policy names its code, whether or not it may act. */
  readonly listed: boolean;
  /** It takes a token, if it is not repeated (A6, Throttling; D12, Token debit). */
  readonly debits: boolean;
  /** In flight beside it. */
  readonly siblings: number;
}

export function draftOf(account: Account): Draft {
  return { ...account, live: new Map(account.live) };
}

/** Enters an event; an end of an attempt in flight is given back. */
export function enter(seen: Draft, event: CallEvent, plan: Plan): Trigger | null {
  if (event.type === 'started' && !seen.begun) {
    seen.begun = true;
    seen.deadlineAt = event.deadlineAt;
    seen.policy = event.policy;
    seen.placement = event.placement;
  }
  if (event.type === 'bufferOverflowed') seen.overflowed = true;
  if (event.type !== 'attemptEnded') return null;
  const was = seen.live.get(event.attempt);
  if (was === undefined) return null;
  seen.live.delete(event.attempt);
  seen.last = event.attempt;
  if (event.reach === 'processed' || event.reach === 'refused') seen.told = event.attempt;
  const ok = event.code === Status.OK;
  const listed = codesOf(plan).has(event.code);
  const free = event.reach === 'dropped' || (event.reach === 'unplaced' && seen.placement.kind === 'only');
  const debits = !ok && !free && (listed || event.pushback.kind === 'never');
  return { attempt: event.attempt, was, end: event, ok, listed, debits, siblings: seen.live.size };
}

/** Enters what a failure that is not repeated says of further attempts (A6, Throttling and Pushback). */
export function enterFailure(seen: Draft, { end }: Trigger, now: Millis, shut: boolean): void {
  if (end.reach === 'dropped') seen.barredBy ??= 'drop';
  if (end.pushback.kind === 'never') seen.barredBy ??= 'do-not-retry pushback';
  if (shut) seen.barredBy ??= 'shut throttle';
  if (end.pushback.kind !== 'after') return;
  const at = millis(now + end.pushback.ms);
  if (seen.deadlineAt !== null && at >= seen.deadlineAt) seen.barredBy ??= 'pushback beyond the deadline';
  else if (seen.notBefore === null || seen.notBefore < at) seen.notBefore = at;
}

/** May send several attempts at once. */
export function isHedging({ policy, placement }: Account, plan: Plan): boolean {
  return plan.kind === 'hedge' && policy === 'on' && placement.kind !== 'only';
}

/** May send one attempt after the other. */
export function isRetrying({ policy, placement }: Account, plan: Plan): boolean {
  return plan.kind === 'retry' && policy === 'on' && (placement.kind !== 'only' || placement.again);
}

export function mostAttempts(account: Account, plan: Plan): number {
  return plan.kind !== 'none' && (isHedging(account, plan) || isRetrying(account, plan)) ? plan.maxAttempts : 1;
}

/** When the next hedge is to start, if no failure brings it forward; null: none is. */
export function nextHedgeAt(account: Account, plan: Plan): Millis | null {
  const { barredBy, counted, committed, notBefore, startedAt } = account;
  if (plan.kind !== 'hedge' || !isHedging(account, plan) || startedAt === null) return null;
  if (barredBy !== null || counted >= plan.maxAttempts || committed !== null) return null;
  return notBefore ?? millis(startedAt + plan.delay);
}

const none: ReadonlySet<StatusCode> = new Set();

function codesOf(plan: Plan): ReadonlySet<StatusCode> {
  switch (plan.kind) {
    case 'none':
      return none;
    case 'retry':
      return plan.retryable;
    case 'hedge':
      return plan.nonFatal;
    default:
      return plan satisfies never;
  }
}
