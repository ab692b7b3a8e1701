import { describe, expect, it } from 'vitest';
import { type Millis, millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { transition } from '../../../src/policy/call.js';
import { type CallState, createCall } from '../../../src/policy/call-state.js';
import { type Account, audit, nothingSeen } from '../../../src/policy/invariants.js';
import type { CallEvent, Decision, Plan } from '../../../src/policy/types.js';
import { noPlan, retryPlan } from './script.js';

type Start = Extract<Decision, { type: 'startAttempt' }>;

const woke: CallEvent = { type: 'woke' };
const overflow: CallEvent = { type: 'bufferOverflowed', limit: 'call', sent: new Map() };
const headers: CallEvent = { type: 'headersReceived', attempt: 1 };
const debit: Decision = { type: 'countThrottle', as: 'failure' };
const credit: Decision = { type: 'countThrottle', as: 'success' };
const cancel: Decision = { type: 'cancelAttempt', attempt: 1, why: 'client' };
const commit: Decision = { type: 'commit', attempt: 1, cause: 'headers' };
const finish: Decision = { type: 'finish', with: { code: Status.CANCELLED, detail: '' }, reason: 'client_cancelled' };

function ends(code: number, reach: 'unsent' | 'refused' | 'processed' = 'processed', attempt = 1): CallEvent {
  return { type: 'attemptEnded', attempt, code, reach, pushback: { kind: 'none' }, by: 'backend' };
}

function start(attempt: number, cause: Start['cause'], previous: number): Start {
  return { type: 'startAttempt', attempt, cause, previous, avoid: [], onlyOn: null };
}

/** A moment of a call with attempt 1 in flight; what a test changes in it makes it wrong. */
interface Moment {
  readonly account?: Partial<Account>;
  readonly state?: Partial<CallState>;
  readonly plan?: Plan;
  readonly event?: CallEvent;
  readonly decisions?: readonly Decision[];
  readonly wakeAt?: number | null;
  readonly shut?: boolean;
}

function broken({ account, state, plan = retryPlan(), event = woke, decisions = [], wakeAt, shut }: Moment) {
  const live = { ...createCall(plan, { maxTransparent: 2 }), phase: 'running' as const };
  return audit(
    { ...nothingSeen, begun: true, started: 1, counted: 1, live: new Map([[1, 0]]), ...account },
    event,
    { now: millis(1000), throttled: () => shut ?? false },
    {
      state: { ...live, live: [{ id: 1, previous: 0, onlyOn: null }], ...state },
      decisions,
      wakeAt: (wakeAt ?? null) as Millis | null,
    },
  ).broken;
}

const over: Partial<CallState> = { phase: 'over', live: [] };
const waiting: Partial<CallState> = { live: [], dueAt: millis(1100) };

describe('the check of invariants', () => {
  it('finds nothing wrong with a call that runs, waits, ends, commits', () => {
    expect(broken({})).toEqual([]);
    expect(broken({ state: waiting, event: ends(14), decisions: [debit], wakeAt: 1100 })).toEqual([]);
    expect(broken({ state: over, event: { type: 'aborted', by: 'client' }, decisions: [cancel, finish] })).toEqual([]);
    expect(broken({ state: { commit: 'headers' }, event: headers, decisions: [commit] })).toEqual([]);
    const ok: Decision = { type: 'finish', with: { from: 1 }, reason: 'ok' };
    expect(broken({ state: over, event: ends(0), decisions: [credit, commit, ok] })).toEqual([]);
  });

  it('finds nothing wrong with a call that has not begun', () => {
    const step = transition(createCall(noPlan, { maxTransparent: 1 }), woke, {
      now: millis(5),
      random: () => 0,
      throttled: () => false,
    });
    expect(audit(nothingSeen, woke, { now: millis(5), throttled: () => false }, step).broken).toEqual([]);
  });

  it.each([
    ['finish is the last decision', { account: { finished: true }, state: over, decisions: [debit] }],
    ['a call that is over never wakes', { account: { finished: true }, state: over, wakeAt: 2000 }],
    ['finish is the last decision', { state: over, decisions: [cancel, finish, finish] }],
    ['attempts are numbered from 1', { decisions: [cancel, start(3, 'retry', 1)] }],
    ['at most one commit', { account: { committed: 1 }, event: headers, decisions: [commit] }],
    [
      'a commit is to an attempt in flight, or to the one that just ended OK',
      { decisions: [{ ...commit, attempt: 2 }] },
    ],
    [
      'a commit is to an attempt in flight, or to the one that just ended OK',
      { event: ends(0, 'processed', 7), decisions: [{ ...commit, attempt: 7 }] },
    ],
    ['each attempt ends or is cancelled, once', { state: { live: [] }, decisions: [cancel, cancel] }],
    ['each attempt ends or is cancelled, once', { state: over, event: ends(14), decisions: [cancel, finish] }],
    [
      'the status told is that of an end',
      { state: over, decisions: [cancel, { type: 'finish', with: { from: 1 }, reason: 'fatal_status' }] },
    ],
    ['a transparent attempt repeats one that no application saw', { decisions: [cancel, start(2, 'transparent', 0)] }],
    [
      'a transparent attempt repeats one that no application saw',
      { event: ends(14), decisions: [start(2, 'transparent', 0)] },
    ],
    [
      'a transparent attempt is told what the one before it was told',
      { event: ends(14, 'unsent'), decisions: [start(2, 'transparent', 1)] },
    ],
    [
      'at most one repeat of a refused attempt',
      { account: { refusedRepeats: 1 }, event: ends(14, 'refused'), decisions: [start(2, 'transparent', 0)] },
    ],
    [
      'repeats of never-sent attempts are bounded',
      { account: { unsentRepeats: 2 }, event: ends(14, 'unsent'), decisions: [start(2, 'transparent', 0)] },
    ],
    [
      'no start after commit',
      { account: { committed: 1 }, event: ends(14, 'refused'), decisions: [start(2, 'transparent', 0)] },
    ],
    [
      'no start after commit',
      { account: { committed: 9 }, event: ends(14, 'unsent'), decisions: [start(2, 'transparent', 0)] },
    ],
    ['no start after commit', { account: { committed: 1 }, event: ends(14), decisions: [start(2, 'retry', 1)] }],
    ['a policy attempt is told how many went before it', { event: ends(14), decisions: [start(2, 'retry', 2)] }],
    [
      'counted attempts are at most maxAttempts',
      { account: { counted: 4 }, event: ends(14), decisions: [start(2, 'retry', 4)] },
    ],
    ['counted attempts are at most maxAttempts', { plan: noPlan, event: ends(14), decisions: [start(2, 'retry', 1)] }],
    [
      'counted attempts are at most maxAttempts',
      { account: { policy: 'off' as const }, event: ends(14), decisions: [start(2, 'retry', 1)] },
    ],
    [
      'the first policy attempt, and no other, is the first',
      { event: ends(14), decisions: [start(2, 'first', 1)], account: {} },
    ],
    ['a transition counts once for the throttle', { event: ends(14), state: waiting, decisions: [debit, debit] }],
    ['the throttle counts attempts that ended', { decisions: [debit] }],
    ['the throttle counts attempts that ended', { event: ends(14), state: waiting, decisions: [credit] }],
    ['the throttle counts attempts that ended', { event: ends(0), state: over, decisions: [debit, finish] }],
    [
      'a transparent attempt takes no token',
      { event: ends(14, 'unsent'), decisions: [debit, start(2, 'transparent', 0)] },
    ],
    ['no retry past a shut throttle', { event: ends(14), state: waiting, decisions: [debit], shut: true }],
    ['no retry past a shut throttle', { event: ends(14), decisions: [debit, start(2, 'retry', 1)], shut: true }],
    ['the state knows what is in flight', { state: { live: [{ id: 2, previous: 0, onlyOn: null }] } }],
    ['the state knows what is in flight', { state: waiting, wakeAt: 1100 }],
    ['a call is over when it has finished', { state: { phase: 'over' } }],
    ['a call is over when it has finished', { state: { live: [] }, decisions: [cancel, finish] }],
    [
      'losers are cancelled',
      {
        account: {
          live: new Map([
            [1, 0],
            [2, 1],
          ]),
          started: 2,
          committed: 1,
        },
      },
    ],
    ['a call that is over has nothing in flight', { state: { phase: 'over' }, decisions: [finish] }],
    ['a call that is over never wakes', { state: { ...over, dueAt: millis(1100) }, decisions: [cancel, finish] }],
    ['a call that is over never wakes', { state: over, decisions: [cancel, finish], wakeAt: 1100 }],
    ['a call that is not over has an attempt in flight or due', { state: { live: [] }, event: ends(14) }],
    ['nothing is due in the past', { state: { dueAt: millis(1000) }, wakeAt: 1000 }],
    ['no call outlives its deadline', { account: { deadlineAt: millis(1000) }, wakeAt: 1000 }],
    ['it wakes for what is due or for its deadline', { state: { dueAt: millis(1100) }, wakeAt: null }],
    ['it wakes for what is due or for its deadline', { account: { deadlineAt: millis(1200) }, wakeAt: null }],
    [
      'it wakes for what is due or for its deadline',
      { account: { deadlineAt: millis(1200) }, state: { dueAt: millis(1100) }, wakeAt: 1200 },
    ],
    [
      'it wakes for what is due or for its deadline',
      { account: { deadlineAt: millis(1200) }, state: { dueAt: millis(1300) }, wakeAt: 1300 },
    ],
    ['an overflow leaves the call committed', { event: overflow }],
    ['an overflow leaves the call committed', { account: { overflowed: true } }],
    ['what runs after an overflow is committed', { event: overflow, state: { commit: 'buffer_call' } }],
  ] as const satisfies readonly (readonly [string, Moment])[])(
    'names what is wrong: %s, case %#',
    (invariant, moment) => {
      expect(broken(moment).join('; ')).toContain(invariant);
    },
  );

  it('asks nothing more of a finished call than that it stays silent', () => {
    const finished: Moment = { account: { finished: true, live: new Map() }, state: over };
    expect(broken(finished)).toEqual([]);
    expect(broken({ ...finished, decisions: [debit] })).toEqual(['finish is the last decision']);
    expect(broken({ ...finished, wakeAt: 1100 })).toEqual(['a call that is over never wakes']);
    // Its account is closed: what comes late is not entered.
    const env = { now: millis(1000), throttled: () => false };
    const state = { ...createCall(noPlan, { maxTransparent: 2 }), ...over };
    const account: Account = { ...nothingSeen, finished: true };
    expect(audit(account, overflow, env, { state, decisions: [], wakeAt: null }).account).toBe(account);
  });

  it('lets an unsent attempt of a committed call be repeated, and follows the commit', () => {
    const env = { now: millis(1000), throttled: () => true };
    const state = createCall(retryPlan(), { maxTransparent: 2 });
    let account: Account = nothingSeen;
    const send = (event: CallEvent): readonly string[] => {
      const step = transition(state, event, { ...env, random: () => 0.5 });
      const result = audit(account, event, env, step);
      account = result.account;
      return result.broken;
    };
    expect(send({ type: 'started', deadlineAt: millis(9000), placement: { kind: 'any' }, policy: 'on' })).toEqual([]);
    expect(send(overflow)).toEqual([]);
    expect(account).toMatchObject({ committed: 1, deadlineAt: 9000, overflowed: true, begun: true, finished: false });
    expect(send(ends(14, 'unsent'))).toEqual([]);
    expect(account).toMatchObject({ committed: 2, started: 2, counted: 1, unsentRepeats: 1, refusedRepeats: 0 });
    expect(send(ends(14, 'processed', 2))).toEqual([]);
    expect(account.finished).toBe(true);
  });

  it('leaves the account before it as it was', () => {
    const before: Account = { ...nothingSeen, begun: true, started: 1, counted: 1, live: new Map([[1, 0]]) };
    const state = { ...createCall(retryPlan(), { maxTransparent: 2 }), ...waiting, phase: 'running' as const };
    const env = { now: millis(1000), throttled: () => false };
    const { account } = audit(before, ends(14), env, { state, decisions: [debit], wakeAt: millis(1100) });
    expect([...before.live.keys()]).toEqual([1]);
    expect(before.ended.size).toBe(0);
    expect(account.live.size).toBe(0);
    expect([...account.ended]).toEqual([1]);
  });

  it('takes the first start of a call alone for its start', () => {
    const begun: CallEvent = { type: 'started', deadlineAt: millis(5000), placement: { kind: 'any' }, policy: 'off' };
    expect(broken({ event: begun })).toEqual([]);
  });

  it('asks the throttle with a debit only where one was taken', () => {
    const asked: boolean[] = [];
    const account = { ...nothingSeen, begun: true, started: 1, counted: 1, live: new Map([[1, 0]]) };
    const state = { ...createCall(retryPlan(), { maxTransparent: 2 }), ...waiting, phase: 'running' as const };
    const throttled = (with1: boolean): boolean => {
      asked.push(with1);
      return false;
    };
    const env = { now: millis(1000), throttled };
    for (const decisions of [[], [debit]]) audit(account, ends(14), env, { state, decisions, wakeAt: millis(1100) });
    audit(account, woke, env, { state, decisions: [], wakeAt: millis(1100) });
    expect(asked).toEqual([false, true]);
  });
});
