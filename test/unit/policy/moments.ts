import type { Pushback, Reach } from '../../../src/grpc/attempt-facts.js';
import { type Millis, millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { type Account, nothingSeen } from '../../../src/policy/account.js';
import { type CallState, createCall, type LiveAttempt } from '../../../src/policy/call-state.js';
import { audit } from '../../../src/policy/invariants.js';
import type { CallEvent, Constraint, Decision, Placement, Plan } from '../../../src/policy/types.js';
import { hedgePlan, retryPlan } from './script.js';

type Of<Type extends Decision['type']> = Extract<Decision, { type: Type }>;
type Start = Of<'startAttempt'>;

export const woke: CallEvent = { type: 'woke' };
export const headers: CallEvent = { type: 'headersReceived', attempt: 1 };
export const debit: Decision = { type: 'countThrottle', as: 'failure' };
export const credit: Decision = { type: 'countThrottle', as: 'success' };
export const cancel: Of<'cancelAttempt'> = { type: 'cancelAttempt', attempt: 1, why: 'client' };
export const commit: Of<'commit'> = { type: 'commit', attempt: 1, cause: 'headers' };
export const finish: Decision = {
  type: 'finish',
  with: { code: Status.CANCELLED, detail: '' },
  reason: 'client_cancelled',
};

export function overflow(...sent: readonly (readonly [number, number])[]): CallEvent {
  return { type: 'bufferOverflowed', limit: 'call', sent: new Map(sent) };
}

export interface Facts {
  readonly reach?: Reach;
  readonly pushback?: Pushback;
  readonly attempt?: number;
}

export function ends(
  code: number,
  { reach = 'processed', pushback = { kind: 'none' }, attempt = 1 }: Facts = {},
): CallEvent {
  return { type: 'attemptEnded', attempt, code, reach, pushback, by: 'backend' };
}

export function start(
  attempt: number,
  cause: Start['cause'],
  previous: number,
  onlyOn: Constraint | null = null,
): Start {
  return { type: 'startAttempt', attempt, cause, previous, avoid: [], onlyOn };
}

export function told(from: number, reason: Of<'finish'>['reason'] = 'fatal_status'): Decision {
  return { type: 'finish', with: { from }, reason };
}

export function inFlight(...ids: readonly number[]): Account['live'] {
  return new Map(ids.map((id) => [id, { previous: id - 1, onlyOn: null }]));
}

export function live(...ids: readonly number[]): { readonly live: readonly LiveAttempt[] } {
  return { live: ids.map((id) => ({ id, previous: id - 1, onlyOn: null })) };
}

/** A moment of a call with attempt 1 in flight; what a test changes in it makes it wrong. */
export interface Moment {
  readonly account?: Partial<Account>;
  readonly state?: Partial<CallState>;
  readonly plan?: Plan;
  readonly event?: CallEvent;
  readonly decisions?: readonly Decision[];
  readonly wakeAt?: number | null;
  readonly shut?: boolean;
}

export const one: Account = {
  ...nothingSeen,
  begun: true,
  started: 1,
  counted: 1,
  live: inFlight(1),
  startedAt: millis(950),
};

export function broken({
  account,
  state,
  plan = retryPlan(),
  event = woke,
  decisions = [],
  wakeAt = null,
  shut,
}: Moment) {
  return audit(
    { ...one, ...account },
    event,
    { now: millis(1000), throttled: () => shut ?? false },
    {
      state: { ...createCall(plan, { maxTransparent: 2 }), phase: 'running', ...live(1), ...state },
      decisions,
      wakeAt: wakeAt as Millis | null,
    },
  ).broken;
}

export const over: Partial<CallState> = { phase: 'over', live: [] };
export const waiting: Partial<CallState> = { live: [], dueAt: millis(1100) };
export const dueAt1050 = { dueAt: millis(1050) };
export const dueAt1100 = { dueAt: millis(1100) };

/** Attempts 1 and 2 of three hedges, each 100 ms after the one before. */
export const two: Moment = {
  plan: hedgePlan(),
  account: { started: 2, counted: 2, live: inFlight(1, 2) },
  state: { ...live(1, 2), ...dueAt1050 },
  wakeAt: 1050,
};
export const three: Moment = {
  plan: hedgePlan(),
  account: { started: 3, counted: 3, live: inFlight(1, 2, 3) },
  state: live(1, 2, 3),
};
/** The first of them alone, pushed back to 1100. */
export const pushed: Moment = {
  plan: hedgePlan(),
  account: { notBefore: millis(1100) },
  state: dueAt1100,
  wakeAt: 1100,
};

export const target = 'a';
export const strict: Placement = { kind: 'only', target, by: 'pin', again: false };
export const again: Placement = { ...strict, again: true };
export const firstOnly: Placement = { kind: 'firstOnly', target, by: 'pin' };
export const there: Constraint = { target, strict: true };
export const unbegun: Partial<Account> = { begun: false, started: 0, counted: 0, live: inFlight(), startedAt: null };

export function begin(placement: Placement): CallEvent {
  return { type: 'started', deadlineAt: null, placement, policy: 'on' };
}
