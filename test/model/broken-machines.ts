import { millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import { transition } from '../../src/policy/call.js';
import type { Decision } from '../../src/policy/types.js';

import { type Broken, isLive, without } from './machines.js';

/** Machines with one defect each, and the invariant that must catch it. */
export const brokenMachines: readonly Broken[] = [
  [
    'never says that it has finished',
    'a call is over when it has finished',
    (...a) => without('finish', transition(...a)),
  ],
  [
    'finishes twice',
    'finish is the last decision',
    (...a) => {
      const step = transition(...a);
      return { ...step, decisions: step.decisions.flatMap((d): Decision[] => (d.type === 'finish' ? [d, d] : [d])) };
    },
  ],
  [
    'speaks after its end',
    'finish is the last decision',
    (state, event, env) => {
      const over = state.phase === 'over';
      const step = transition(state, event, env);
      return over ? { ...step, decisions: [{ type: 'countThrottle', as: 'failure' }] } : step;
    },
  ],
  [
    'keeps an alarm after its end',
    'a call that is over never wakes',
    (state, event, env) => {
      const step = transition(state, event, env);
      return step.wakeAt === null && state.phase === 'over' ? { ...step, wakeAt: millis(env.now + 1) } : step;
    },
  ],
  [
    'forgets to cancel',
    'a call that is over has nothing in flight',
    (...a) => without('cancelAttempt', transition(...a)),
  ],
  [
    'retries after headers',
    'no start after commit',
    (state, event, env) => {
      if (event.type === 'attemptEnded' && event.code !== Status.OK && state.commit === 'headers') state.commit = null;
      return transition(state, event, env);
    },
  ],
  [
    'commits twice',
    'at most one commit',
    (state, event, env) => {
      if (event.type === 'headersReceived' && isLive(state, event)) state.commit = null;
      return transition(state, event, env);
    },
  ],
  [
    'loses the retry that is due',
    'a call that is not over has an attempt in flight or due',
    (state, event, env) => {
      const step = transition(state, event, env);
      if (event.type === 'attemptEnded') step.state.dueAt = null;
      return step;
    },
  ],
  [
    'starts what is due only when woken',
    'nothing is due in the past',
    (state, event, env) => {
      const { dueAt } = state;
      if (event.type !== 'headersReceived' || dueAt === null || env.now < dueAt) return transition(state, event, env);
      return { state, decisions: [], wakeAt: dueAt };
    },
  ],
  [
    'sleeps past what is due',
    'it wakes for what is due or for its deadline',
    (...a) => {
      const step = transition(...a);
      return step.state.dueAt === null ? step : { ...step, wakeAt: step.state.deadlineAt };
    },
  ],
  [
    'makes an attempt too many',
    'nothing is due when maxAttempts are made',
    (state, event, env) => {
      if (state.plan.kind === 'none') return transition(state, event, env);
      const generous = { ...state, plan: { ...state.plan, maxAttempts: 99 } };
      const step = transition(generous, event, env);
      return { ...step, state: { ...generous, plan: state.plan } };
    },
  ],
  [
    'repeats refused attempts for ever',
    'is repeated while there is quota, and no other',
    (state, event, env) => {
      state.refusedRepeated = false;
      return transition(state, event, env);
    },
  ],
  [
    'repeats unsent attempts for ever',
    'is repeated while there is quota, and no other',
    (state, event, env) => {
      if (event.type === 'attemptEnded' && isLive(state, event)) state.unsentRepeats = 0;
      return transition(state, event, env);
    },
  ],
  [
    'is deaf to the throttle',
    'no policy attempt past a shut throttle',
    (state, event, env) => transition(state, event, { ...env, throttled: () => false }),
  ],
  [
    'looks at the throttle before its own debit',
    'no policy attempt past a shut throttle',
    (state, event, env) => transition(state, event, { ...env, throttled: () => env.throttled(false) }),
  ],
  [
    'debits a transparent repeat',
    'nothing else counts',
    (...a) => {
      const step = transition(...a);
      return step.decisions.some((d) => d.type === 'startAttempt' && d.cause === 'transparent')
        ? { ...step, decisions: [{ type: 'countThrottle', as: 'failure' }, ...step.decisions] }
        : step;
    },
  ],
  [
    'forgets an overflow between attempts',
    'an overflow leaves the call committed',
    (state, event, env) =>
      event.type === 'bufferOverflowed' && state.live.length === 0
        ? transition(state, { type: 'woke' }, env)
        : transition(state, event, env),
  ],
  [
    'lives on past its deadline',
    'no call outlives its deadline',
    (state, event, env) => {
      const { deadlineAt } = state;
      const now = deadlineAt === null ? env.now : Math.min(env.now, deadlineAt - 1);
      return transition(state, event, { ...env, now: millis(now) });
    },
  ],
  [
    'tells the status of an attempt that has none',
    'the status told is the last that a backend spoke for',
    (...a) => {
      const step = transition(...a);
      return {
        ...step,
        decisions: step.decisions.map((d) =>
          d.type === 'finish' && 'from' in d.with ? { ...d, with: { from: 77 } } : d,
        ),
      };
    },
  ],
  [
    'counts a repeat as an attempt',
    'a policy attempt is told how many went before it',
    (state, event, env) => {
      const step = transition(state, event, env);
      if (step.decisions.some((d) => d.type === 'startAttempt' && d.cause === 'transparent')) step.state.counted += 1;
      return step;
    },
  ],
  [
    'lets the dead commit',
    'a commit is to an attempt in flight, or to the one that just ended OK',
    (state, event, env) => {
      if (event.type !== 'headersReceived' || state.phase !== 'running' || state.commit !== null)
        return transition(state, event, env);
      state.commit = 'headers';
      return { state, decisions: [{ type: 'commit', attempt: event.attempt, cause: 'headers' }], wakeAt: null };
    },
  ],
  [
    'takes notice of where a dead attempt went',
    'an event about an attempt that is not in flight changes nothing',
    (state, event, env) => {
      const step = transition(state, event, env);
      if (event.type === 'attemptPlaced') step.state.tried = [event.backend];
      return step;
    },
  ],
  [
    'credits a failure',
    'an OK credits once, a failure that is listed',
    (state, event, env) => {
      const step = transition(state, event, env);
      return event.type === 'attemptEnded' && event.code !== Status.OK
        ? { ...step, decisions: step.decisions.map((d) => (d.type === 'countThrottle' ? { ...d, as: 'success' } : d)) }
        : step;
    },
  ],
];
