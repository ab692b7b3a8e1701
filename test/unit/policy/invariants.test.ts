import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { type Account, nextHedgeAt, nothingSeen } from '../../../src/policy/account.js';
import { transition } from '../../../src/policy/call.js';
import { createCall } from '../../../src/policy/call-state.js';
import { audit } from '../../../src/policy/invariants.js';
import type { CallEvent } from '../../../src/policy/types.js';
import {
  again,
  begin,
  broken,
  cancel,
  commit,
  credit,
  debit,
  ends,
  finish,
  firstOnly,
  headers,
  inFlight,
  live,
  type Moment,
  one,
  over,
  overflow,
  pushed,
  start,
  strict,
  there,
  three,
  told,
  two,
  unbegun,
  waiting,
  woke,
} from './moments.js';
import { hedgePlan, never, noPlan, retryPlan } from './script.js';

describe('the check of invariants', () => {
  it.each([
    ['runs', {}],
    ['waits', { state: waiting, event: ends(14), decisions: [debit], wakeAt: 1100 }],
    ['is cancelled', { state: over, event: { type: 'aborted', by: 'client' }, decisions: [cancel, finish] }],
    ['commits', { state: { commit: 'headers' }, event: headers, decisions: [commit] }],
    [
      'ends OK',
      { state: over, event: ends(0), decisions: [credit, { ...commit, cause: 'ok' }, told(1, 'ok')], shut: true },
    ],
    [
      'ends OK where nobody was seen to have answered',
      {
        account: { told: 5 },
        state: over,
        event: ends(0, { reach: 'unsent' }),
        decisions: [credit, { ...commit, cause: 'ok' }, told(1, 'ok')],
      },
    ],
    [
      'overflows, and cancels before it commits',
      {
        ...two,
        event: overflow([1, 6], [2, 5]),
        decisions: [
          { ...cancel, attempt: 2 },
          { ...commit, cause: 'buffer_call' },
        ],
        state: { ...live(1), commit: 'buffer_call' },
        wakeAt: null,
      },
    ],
    ['hedges', two],
    ['has sent all its hedges', three],
    ['is pushed back', pushed],
    [
      'loses a hedge and sends the next',
      {
        ...two,
        event: ends(14),
        decisions: [debit, start(3, 'hedge', 2)],
        state: live(2, 3),
        wakeAt: null,
      },
    ],
    [
      'is held while one is in flight',
      { ...two, event: ends(14), decisions: [debit], state: live(2), wakeAt: null, shut: true },
    ],
    [
      'is told not to retry',
      { ...two, event: ends(14, { pushback: never }), decisions: [debit], state: live(2), wakeAt: null },
    ],
    ['drops a hedge', { ...two, event: ends(14, { reach: 'dropped' }), state: live(2), wakeAt: null }],
    ['begins pinned', { account: unbegun, event: begin(strict), decisions: [start(1, 'first', 0, there)] }],
    [
      'retries on its target',
      {
        account: { placement: again },
        event: ends(14),
        decisions: [debit, start(2, 'retry', 1, there)],
        state: live(2),
      },
    ],
    [
      'leaves its first target',
      { account: { placement: firstOnly }, event: ends(14), decisions: [debit, start(2, 'retry', 1)], state: live(2) },
    ],
  ] as const satisfies readonly (readonly [string, Moment])[])(
    'finds nothing wrong with a call that %s',
    (_what, moment) => {
      expect(broken(moment)).toEqual([]);
    },
  );

  it('finds nothing wrong with a call that has not begun', () => {
    const env = { now: millis(5), random: () => 0, throttled: () => false };
    const step = transition(createCall(noPlan, { maxTransparent: 1 }), woke, env);
    expect(audit(nothingSeen, woke, env, step).broken).toEqual([]);
  });

  it('asks nothing more of a finished call than that it stays silent', () => {
    const finished: Moment = { account: { finished: true, live: inFlight() }, state: over };
    expect(broken(finished)).toEqual([]);
    expect(broken({ ...finished, decisions: [debit] })).toEqual(['finish is the last decision']);
    expect(broken({ ...finished, wakeAt: 1100 })).toEqual(['a call that is over never wakes']);
    // Its account is closed: what comes late is not entered.
    const env = { now: millis(1000), throttled: () => false };
    const state = { ...createCall(noPlan, { maxTransparent: 2 }), ...over };
    const account: Account = { ...nothingSeen, finished: true };
    expect(audit(account, overflow(), env, { state, decisions: [], wakeAt: null }).account).toBe(account);
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
    expect(send(overflow())).toEqual([]);
    expect(account).toMatchObject({ committed: 1, deadlineAt: 9000, overflowed: true, begun: true, finished: false });
    expect(send(ends(14, { reach: 'unsent' }))).toEqual([]);
    expect(account).toMatchObject({ committed: 2, started: 2, counted: 1, unsentRepeats: 1, refusedRepeats: 0 });
    expect(send(ends(14, { attempt: 2 }))).toEqual([]);
    expect(account.finished).toBe(true);
  });

  it('leaves the account before it as it was', () => {
    const state = { ...createCall(retryPlan(), { maxTransparent: 2 }), ...waiting, phase: 'running' as const };
    const env = { now: millis(1000), throttled: () => false };
    const { account } = audit(one, ends(14), env, { state, decisions: [debit], wakeAt: millis(1100) });
    expect([...one.live.keys()]).toEqual([1]);
    expect(one.last).toBe(null);
    expect(account.live.size).toBe(0);
    expect(account).toMatchObject({ told: 1, last: 1 });
  });

  it('takes the first start of a call alone for its start', () => {
    const begun: CallEvent = { type: 'started', deadlineAt: millis(500), placement: strict, policy: 'off' };
    expect(broken({ event: begun })).toEqual([]);
  });

  it('asks the throttle with a debit only where one is to be taken', () => {
    const asked: boolean[] = [];
    const state = { ...createCall(retryPlan(), { maxTransparent: 2 }), ...waiting, phase: 'running' as const };
    const throttled = (taken: boolean): boolean => {
      asked.push(taken);
      return false;
    };
    const env = { now: millis(1000), throttled };
    for (const event of [ends(13), ends(14), ends(0), ends(14, { attempt: 9 })])
      audit(one, event, env, { state, decisions: [], wakeAt: millis(1100) });
    const repeat = { state, decisions: [start(2, 'transparent', 0)], wakeAt: null };
    audit(one, ends(14, { reach: 'unsent' }), env, repeat);
    expect(asked).toEqual([false, true, false, false, false]);
  });
});

describe('the account of a call', () => {
  it('knows when the next hedge is due, where there is to be one', () => {
    expect(nextHedgeAt(one, hedgePlan())).toBe(1050);
    expect(nextHedgeAt({ ...one, notBefore: millis(1200) }, hedgePlan())).toBe(1200);
    for (const account of [
      { ...one, policy: 'off' as const },
      { ...one, placement: strict },
      { ...one, placement: again },
      { ...one, startedAt: null },
      { ...one, counted: 3 },
      { ...one, committed: 1 },
      { ...one, barredBy: 'drop' as const },
    ])
      expect(nextHedgeAt(account, hedgePlan())).toBe(null);
    for (const plan of [retryPlan(), noPlan]) expect(nextHedgeAt(one, plan)).toBe(null);
  });

  it('counts repeats of refused attempts and of unsent ones apart', () => {
    const env = { now: millis(1000), throttled: () => false };
    const step = {
      state: createCall(noPlan, { maxTransparent: 2 }),
      decisions: [start(2, 'transparent', 0)],
      wakeAt: null,
    };
    const refused = audit(one, ends(14, { reach: 'refused' }), env, step).account;
    expect(refused).toMatchObject({ refusedRepeats: 1, unsentRepeats: 0 });
    const unsent = audit(one, ends(14, { reach: 'unsent' }), env, step).account;
    expect(unsent).toMatchObject({ refusedRepeats: 0, unsentRepeats: 1 });
  });
});
