import type { Millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import { type Step, transition } from '../../src/policy/call.js';
import type { CallState } from '../../src/policy/call-state.js';
import type { CallEvent, Decision, Env, Placement, Plan } from '../../src/policy/types.js';

export type Machine = typeof transition;

/** A defect, words of the invariant that must catch it, and the machine that has it. */
export type Broken = readonly [defect: string, invariant: string, machine: Machine];

export function without(type: Decision['type'], step: Step): Step {
  return { ...step, decisions: step.decisions.filter((decision) => decision.type !== type) };
}

export function isLive(state: Step['state'], event: { readonly attempt: number }): boolean {
  return state.live.some(({ id }) => id === event.attempt);
}

type Decide = (decision: Decision) => readonly Decision[];

/** The machine with its decisions edited. */
export function edit(decide: Decide): Machine {
  return (...a) => {
    const step = transition(...a);
    return { ...step, decisions: step.decisions.flatMap(decide) };
  };
}

/** The machine under another plan than it says. */
export function planned(change: (plan: Plan) => Plan): Machine {
  return (state, event, env) => {
    const other: CallState = { ...state, plan: change(state.plan) };
    const step = transition(other, event, env);
    return { ...step, state: Object.assign(other, { plan: state.plan }) };
  };
}

/** The machine under another placement than the client asked for. */
export function placed(change: (placement: Placement) => Placement): Machine {
  return (state, event, env) =>
    transition(state, event.type === 'started' ? { ...event, placement: change(event.placement) } : event, env);
}

/** The machine with its state set right, or wrong, before each event. */
export function before(change: (state: CallState, event: CallEvent, env: Env) => void): Machine {
  return (state, event, env) => {
    if (state.phase === 'running') change(state, event, env);
    return transition(state, event, env);
  };
}

/** The machine with its next start moved after each event. */
export function moved(at: (dueAt: Millis, event: CallEvent, env: Env, state: CallState) => Millis | null): Machine {
  return (state, event, env) => {
    const step = transition(state, event, env);
    if (state.phase !== 'running' || state.dueAt === null) return step;
    state.dueAt = at(state.dueAt, event, env, state);
    const { dueAt, deadlineAt } = state;
    return { ...step, wakeAt: dueAt === null || (deadlineAt !== null && deadlineAt < dueAt) ? deadlineAt : dueAt };
  };
}

export function isFailure(event: CallEvent): boolean {
  return event.type === 'attemptEnded' && event.code !== Status.OK && event.reach === 'processed';
}
