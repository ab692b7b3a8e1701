import { describe, expect, it } from 'vitest';
import { millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import { type Step, transition } from '../../src/policy/call.js';
import type { Decision } from '../../src/policy/types.js';
import { search } from './search.js';
import { worlds } from './worlds.js';

/** Mutation testing runs this often, and caps it; without a cap the search ends when no new state is left. */
const maxDepth = Number(process.env['HEDGEROW_SEARCH_DEPTH'] ?? Number.POSITIVE_INFINITY);

describe('every order of events', () => {
  it.each(worlds)('keeps every invariant: $name', { timeout: 120_000 }, (world) => {
    const found = search(world, transition, maxDepth);
    console.info(
      `${world.name}: ${found.states} states, ${found.transitions} transitions, depth ${found.depth}${found.complete ? ', complete' : ''}`,
    );
    expect(found.broken).toEqual(null);
    expect(found.complete || found.depth === maxDepth).toBe(true);
    expect(found.transitions).toBeGreaterThan(world.deadline === 0 ? 50 : 1000);
  });
});

type Machine = typeof transition;

function without(type: Decision['type'], step: Step): Step {
  return { ...step, decisions: step.decisions.filter((decision) => decision.type !== type) };
}

function isLive(state: Step['state'], event: { readonly attempt: number }): boolean {
  return state.live.some(({ id }) => id === event.attempt);
}

/** Machines with one defect each, and the invariant that must catch it. */
const broken: readonly (readonly [string, string, Machine])[] = [
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
    'counted attempts are at most maxAttempts',
    (state, event, env) => {
      if (state.plan.kind === 'none') return transition(state, event, env);
      const generous = { ...state, plan: { ...state.plan, maxAttempts: 99 } };
      const step = transition(generous, event, env);
      return { ...step, state: { ...generous, plan: state.plan } };
    },
  ],
  [
    'repeats refused attempts for ever',
    'at most one repeat of a refused attempt',
    (state, event, env) => {
      state.refusedRepeated = false;
      return transition(state, event, env);
    },
  ],
  [
    'repeats unsent attempts for ever',
    'repeats of never-sent attempts are bounded',
    (state, event, env) => {
      if (event.type === 'attemptEnded' && isLive(state, event)) state.unsentRepeats = 0;
      return transition(state, event, env);
    },
  ],
  [
    'is deaf to the throttle',
    'no retry past a shut throttle',
    (state, event, env) => transition(state, event, { ...env, throttled: () => false }),
  ],
  [
    'looks at the throttle before its own debit',
    'no retry past a shut throttle',
    (state, event, env) => transition(state, event, { ...env, throttled: () => env.throttled(false) }),
  ],
  [
    'debits a transparent repeat',
    'a transparent attempt takes no token',
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
    'the status told is that of an end',
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
    'the throttle counts attempts that ended: success for OK, failure for the rest',
    (state, event, env) => {
      const step = transition(state, event, env);
      return event.type === 'attemptEnded' && event.code !== Status.OK
        ? { ...step, decisions: step.decisions.map((d) => (d.type === 'countThrottle' ? { ...d, as: 'success' } : d)) }
        : step;
    },
  ],
];

/** Deep enough for every defect to show. */
const controlDepth = 7;

describe.skipIf(maxDepth < controlDepth)('the search itself', () => {
  it.each(broken)('catches a machine that %s', { timeout: 120_000 }, (_defect, invariant, machine) => {
    const found = worlds.map((world) => search(world, machine, controlDepth).broken).find((broken) => broken !== null);
    expect(found?.invariants.join('; ')).toContain(invariant);
    expect(found?.path.length).toBeGreaterThan(0);
  });
});
