import type { Millis } from '../grpc/millis.js';
import { type Step, transition } from '../policy/call.js';
import { type CallState, createCall } from '../policy/call-state.js';
import type { Throttle } from '../policy/throttle.js';
import type { CallEvent, Decision, Env, Plan } from '../policy/types.js';
import type { VirtualTime } from './virtual-time.js';

/** What a call runs with. */
export interface CallTerms {
  readonly plan: Plan;
  /** Repeats of attempts that were never sent. */
  readonly maxTransparent: number;
  /** Asked here; moved by whoever applies `countThrottle`. Calls may share one. */
  readonly throttle: Throttle;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Who does what the machine decides. */
export interface CallOwner {
  /** An event that this leads to at once is put in line: run to completion. */
  apply(decision: Decision): void;
  /** Sees each transition before its decisions are applied. */
  before?(event: CallEvent, env: Env, step: Step): void;
  /** And after that. @param random what a backoff was drawn with; null where none was */
  after?(event: CallEvent, step: Step, random: number | null): void;
}

/**
 * The call machine of the proxy (policy/call.ts) on virtual time, with one alarm for what is due. The event that begins it is
 * the caller's to tell.
 *
 * @returns takes an event; once the call is over, events change nothing
 */
export function driveCall(time: VirtualTime, terms: CallTerms, owner: CallOwner): (event: CallEvent) => void {
  const { throttle } = terms;
  const state: CallState = createCall(terms.plan, { maxTransparent: terms.maxTransparent });
  const backlog: CallEvent[] = [];
  let running = false;
  let wakeAt: Millis | null = null;

  function hear(event: CallEvent): void {
    if (state.phase === 'over') return;
    if (running) {
      backlog.push(event);
      return;
    }
    running = true;
    for (let next: CallEvent | undefined = event; next !== undefined; next = backlog.shift()) take(next);
    running = false;
  }

  function take(event: CallEvent): void {
    let drawn: number | null = null;
    const env: Env = {
      now: time.now,
      random: () => {
        drawn = terms.random();
        return drawn;
      },
      throttled: (debit) => throttle.isShut(debit),
    };
    const step = transition(state, event, env);
    owner.before?.(event, env, step);
    for (const decision of step.decisions) owner.apply(decision);
    owner.after?.(event, step, drawn);
    arm(step.wakeAt);
  }

  /** An older alarm finds that it is not the one that is waited for. */
  function arm(moment: Millis | null): void {
    if (moment === wakeAt) return;
    wakeAt = moment;
    if (moment === null) return;
    time.at(moment, 'due', () => {
      if (wakeAt !== moment) return;
      wakeAt = null;
      hear({ type: 'woke' });
    });
  }

  return hear;
}
