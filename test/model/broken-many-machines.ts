import { millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import { transition } from '../../src/policy/call.js';
import type { Decision, Placement } from '../../src/policy/types.js';

import { type Broken, before, edit, isFailure, isLive, moved, placed, planned } from './machines.js';

const hedging: readonly Broken[] = [
  [
    'waits for its timer when a hedge fails',
    'a non-fatal failure brings the next hedge forward to now',
    (state, event, env) => {
      const { dueAt, live } = state;
      const step = transition(state, event, env);
      const next = step.decisions.findIndex((d) => d.type === 'startAttempt' && d.cause === 'hedge');
      if (!isFailure(event) || next < 0 || dueAt === null || dueAt <= env.now || live.length < 2) return step;
      state.counted -= 1;
      state.started -= 1;
      state.live = state.live.slice(0, -1);
      state.dueAt = dueAt;
      return { ...step, decisions: step.decisions.toSpliced(next, 1) };
    },
  ],
  [
    'keeps the old schedule after a hedge that was brought forward',
    'the next hedge is due at its delay or at its pushback',
    (state, event, env) => {
      const { dueAt } = state;
      const step = transition(state, event, env);
      if (isFailure(event) && state.dueAt !== null && dueAt !== null && dueAt > env.now) {
        state.dueAt = dueAt;
        return { ...step, wakeAt: state.deadlineAt !== null && state.deadlineAt < dueAt ? state.deadlineAt : dueAt };
      }
      return step;
    },
  ],
  [
    'hedges one too many',
    'nothing is due when maxAttempts are made',
    planned((plan) => (plan.kind === 'hedge' ? { ...plan, maxAttempts: 9 } : plan)),
  ],
  [
    'hedges late',
    'the next hedge is due at its delay',
    planned((plan) => (plan.kind === 'hedge' ? { ...plan, delay: millis(plan.delay + 1) } : plan)),
  ],
  [
    'takes every failure for a fatal one',
    'a non-fatal failure ends the call',
    planned((plan) => (plan.kind === 'hedge' ? { ...plan, nonFatal: new Set() } : plan)),
  ],
  [
    'takes a fatal failure for any other',
    'an end that nothing may follow is the end of the call',
    planned((plan) =>
      plan.kind === 'hedge' ? { ...plan, nonFatal: new Set([Status.UNAVAILABLE, Status.INTERNAL]) } : plan,
    ),
  ],
  [
    'lets losers run',
    'losers are cancelled in the step that commits',
    edit((d) => (d.type === 'cancelAttempt' && d.why === 'superseded' ? [] : [d])),
  ],
  [
    'forgets a hedge in flight',
    'the state knows what is in flight',
    (...a) => {
      const step = transition(...a);
      if (step.state.live.length > 2) step.state.live = step.state.live.slice(1);
      return step;
    },
  ],
  [
    'cancels one twice',
    'each attempt ends or is cancelled, once',
    edit((d) => (d.type === 'cancelAttempt' && d.why === 'superseded' ? [d, d] : [d])),
  ],
  [
    'hedges on after headers',
    'the next hedge is due at its delay or at its pushback, and at no other time',
    (state, event, env) => {
      const { dueAt } = state;
      const step = transition(state, event, env);
      if (event.type !== 'headersReceived' || dueAt === null || state.commit === null) return step;
      state.dueAt = dueAt;
      return { ...step, wakeAt: state.deadlineAt === null ? dueAt : millis(Math.min(dueAt, state.deadlineAt)) };
    },
  ],
  [
    'keeps the first hedge on overflow, whatever it has sent',
    'an overflow keeps the attempt that has sent most',
    (state, event, env) =>
      transition(state, event.type === 'bufferOverflowed' ? { ...event, sent: new Map() } : event, env),
  ],
  [
    'keeps a hedge that waits for a place before one that has it',
    'an overflow keeps the attempt that has sent most',
    (state, event, env) => {
      if (event.type !== 'bufferOverflowed') return transition(state, event, env);
      const sent = new Map(state.live.map(({ id }) => [id, event.sent.get(id) ?? 0]));
      return transition(state, { ...event, sent }, env);
    },
  ],
  [
    'keeps the latest of equals on overflow',
    'an overflow keeps the attempt that has sent most',
    before((state, event) => {
      if (event.type === 'bufferOverflowed') state.live = [...state.live].reverse();
    }),
  ],
  [
    'tells every hedge that it is the first',
    'a policy attempt is told how many went before it',
    edit((d) => (d.type === 'startAttempt' && d.cause === 'hedge' ? [{ ...d, previous: 0 }] : [d])),
  ],
  [
    'calls a hedge a retry',
    'a policy attempt is the first, a retry or a hedge',
    edit((d) => (d.type === 'startAttempt' && d.cause === 'hedge' ? [{ ...d, cause: 'retry' }] : [d])),
  ],
  [
    'debits losers',
    'nothing else counts',
    edit((d) =>
      d.type === 'cancelAttempt' && d.why === 'superseded' ? [d, { type: 'countThrottle', as: 'failure' }] : [d],
    ),
  ],
  [
    'looks at the throttle only when a hedge fails',
    'no policy attempt past a shut throttle',
    (state, event, env) =>
      transition(state, event, {
        ...env,
        throttled: (debit) => event.type === 'attemptEnded' && env.throttled(debit),
      }),
  ],
  [
    'hangs when the throttle shuts with nothing in flight',
    'a call that is not over has an attempt in flight or due',
    (state, event, env) => {
      const { dueAt, live } = state;
      if (event.type !== 'woke' || dueAt === null || env.now < dueAt || live.length > 0 || !env.throttled(false))
        return transition(state, event, env);
      state.dueAt = null;
      return { state, decisions: [], wakeAt: state.deadlineAt };
    },
  ],
  [
    'hedges on when the throttle opens again',
    'no policy attempt past a shut throttle',
    before((state, _event, env) => {
      if (state.held !== null && state.counted < 3 && !env.throttled(false)) {
        state.held = null;
        state.dueAt = env.now;
      }
    }),
  ],
  [
    'hangs when its last hedge fails while it is held',
    'a call that is not over has an attempt in flight or due',
    (state, event, env) => {
      const held = state.held !== null;
      const step = transition(state, event, env);
      if (!held || event.type !== 'attemptEnded' || !isFailure(event) || state.commit !== null) return step;
      state.phase = 'running';
      return { ...step, decisions: step.decisions.filter((d) => d.type !== 'finish') };
    },
  ],
  [
    'tells the first failure of its hedges, not the last',
    'the status told is the last that a backend spoke for',
    (state, event, env) => {
      const { told } = state;
      const step = transition(state, event, env);
      if (told !== null && state.phase === 'running') state.told = told;
      return step;
    },
  ],
  [
    'takes an OK that committed nothing for a failure to wait on',
    'an OK, or any end after commit, is the end of the call',
    (state, event, env) => {
      if (event.type !== 'attemptEnded' || event.code !== Status.OK || state.live.length < 2 || !isLive(state, event))
        return transition(state, event, env);
      state.live = state.live.filter(({ id }) => id !== event.attempt);
      return { ...transition(state, { type: 'woke' }, env), decisions: [{ type: 'countThrottle', as: 'success' }] };
    },
  ],
];

const pushedBack: readonly Broken[] = [
  [
    'hedges into a pushback',
    'the next hedge is due at its delay or at its pushback',
    moved((dueAt, event, env, state) =>
      event.type === 'attemptEnded' && event.pushback.kind === 'after' && state.plan.kind === 'hedge'
        ? millis(Math.min(dueAt, env.now + 1))
        : dueAt,
    ),
  ],
  [
    'lets a failure overtake a pushback',
    'no policy attempt before a pushback is served',
    before((state, event) => {
      if (event.type === 'attemptEnded' && event.pushback.kind === 'none' && isLive(state, event))
        state.pushedUntil = null;
    }),
  ],
  [
    'takes the later pushback for the one that counts, though it is due earlier',
    'no policy attempt before a pushback is served',
    before((state, event) => {
      if (event.type === 'attemptEnded' && event.pushback.kind === 'after' && isLive(state, event))
        state.pushedUntil = null;
    }),
  ],
  [
    'never forgets a pushback',
    'a non-fatal failure brings the next hedge forward to now',
    (state, event, env) => {
      const { pushedUntil } = state;
      const step = transition(state, event, env);
      if (state.phase === 'running' && state.plan.kind === 'hedge') state.pushedUntil ??= pushedUntil;
      return step;
    },
  ],
  [
    'is deaf to do-not-retry',
    'no policy attempt past a do-not-retry pushback',
    (state, event, env) => {
      if (event.type !== 'attemptEnded' || event.pushback.kind !== 'never' || event.code !== Status.UNAVAILABLE)
        return transition(state, event, env);
      return transition(state, { ...event, pushback: { kind: 'after', ms: millis(0) } }, env);
    },
  ],
  [
    'waits a little longer than it was told',
    'a retry is due exactly when its pushback is served',
    moved((dueAt, event, _env, state) =>
      event.type === 'attemptEnded' && event.pushback.kind === 'after' && state.plan.kind === 'retry'
        ? millis(dueAt + 1)
        : dueAt,
    ),
  ],
  [
    'ends a call for a pushback while others run',
    'a non-fatal failure ends the call when none is in flight or to come',
    (state, event, env) => {
      const step = transition(state, event, env);
      if (state.phase !== 'running' || state.held !== 'pushback' || state.live.length === 0) return step;
      const cancels = state.live.map(({ id }): Decision => ({ type: 'cancelAttempt', attempt: id, why: 'superseded' }));
      const finish: Decision = { type: 'finish', with: { from: state.told ?? 0 }, reason: 'pushback' };
      Object.assign(state, { phase: 'over', live: [], dueAt: null });
      return { ...step, decisions: [...step.decisions, ...cancels, finish], wakeAt: null };
    },
  ],
];

const loosened = (placement: Placement): Placement => ({ ...placement, kind: 'firstOnly' }) as Placement;

const pinned: readonly Broken[] = [
  [
    'takes a strict pin for a wish',
    'a policy attempt goes where the placement wants it',
    placed((placement) => (placement.kind === 'only' ? loosened(placement) : placement)),
  ],
  ['ignores pins', 'a policy attempt goes where the placement wants it', placed(() => ({ kind: 'any' }))],
  [
    'retries a pinned call',
    'an end that nothing may follow is the end of the call',
    placed((placement) => (placement.kind === 'only' ? { ...placement, again: true } : placement)),
  ],
  [
    'hedges a pinned call',
    'counted attempts are at most maxAttempts',
    (state, event, env) => {
      const { placement } = state;
      if (placement.kind === 'only') state.placement = loosened(placement);
      const step = transition(state, event, env);
      if (placement.kind === 'only') state.placement = placement;
      return step;
    },
  ],
  [
    'keeps a pin that was for the first attempt alone',
    'a policy attempt goes where the placement wants it',
    edit((d) =>
      d.type === 'startAttempt' && d.onlyOn === null && d.previous > 0
        ? [{ ...d, onlyOn: { target: 'a', strict: false } }]
        : [d],
    ),
  ],
  [
    'repeats a pinned attempt anywhere',
    'a transparent attempt goes where the one before it had to go',
    edit((d) => (d.type === 'startAttempt' && d.cause === 'transparent' ? [{ ...d, onlyOn: null }] : [d])),
  ],
  [
    'repeats a hedge as another',
    'a transparent attempt is told what the one before it was told',
    edit((d) => (d.type === 'startAttempt' && d.cause === 'transparent' ? [{ ...d, previous: d.previous + 1 }] : [d])),
  ],
  [
    'debits a pin that could not be had',
    'nothing else counts',
    (state, event, env) => {
      const strict = state.placement.kind === 'only';
      const step = transition(state, event, env);
      if (!strict || event.type !== 'attemptEnded' || event.reach !== 'unplaced' || step.decisions.length === 0)
        return step;
      return { ...step, decisions: [{ type: 'countThrottle', as: 'failure' }, ...step.decisions] };
    },
  ],
];

/** Of hedges, pushbacks and pins. */
export const brokenManyMachines: readonly Broken[] = [...hedging, ...pushedBack, ...pinned];
