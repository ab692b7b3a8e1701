import { type Millis, millis } from '../grpc/millis.js';
import { transition } from '../policy/call.js';
import { type CallState, createCall, liveAttempt } from '../policy/call-state.js';
import type { AttemptCause, AttemptId, CallEvent, Decision, Plan } from '../policy/types.js';
import type { AlarmHandle } from '../runtime/ports.js';
import type { HedgeTrigger } from './meters.js';
import type { ProxyParts } from './parts.js';

/** Who does what the machine decides. */
export interface MachineOwner {
  /** Nothing more is to be decided. */
  readonly over: boolean;
  apply(decision: Decision): void;
  /** The throttle stopped a retry or a hedge: told once. */
  throttled(): void;
  /** A defect of ours was thrown. */
  machineFailed(error: unknown): void;
}

/** The most repeats of an attempt that never left (D12, No backend). */
const maxTransparent = 1000;

/** Runs the machine of policy/ for one call: events in, decisions out, one alarm for what is due. */
export class CallMachine {
  private readonly parts: ProxyParts;
  private readonly owner: MachineOwner;
  private readonly state: CallState;
  private alarm: AlarmHandle | null = null;
  private running = false;
  private backlog: CallEvent[] | null = null;
  /** What a hedge that is decided now is sent for. */
  private trigger: HedgeTrigger = 'delay';
  private throttledCounted = false;
  /** When the event was taken that is being worked on, or was last (clock ms): a look at the clock costs more than a count. */
  now: Millis = millis(0);
  private readonly ring = (): void => this.dispatch({ type: 'woke' });

  constructor(plan: Plan, parts: ProxyParts, owner: MachineOwner) {
    this.parts = parts;
    this.owner = owner;
    this.state = createCall(plan, { maxTransparent });
  }

  dispatch(event: CallEvent): void {
    if (this.owner.over) return;
    // Run to completion: a decision that fires an event at once enqueues it (design, The call machine).
    if (this.running) {
      // Exact room for one: see grpc/append.ts.
      if (this.backlog === null) this.backlog = [event];
      else this.backlog.push(event);
      return;
    }
    this.running = true;
    try {
      let next: CallEvent | undefined = event;
      let wakeAt: Millis | null = null;
      while (next !== undefined && !this.owner.over) {
        const { machineEnv } = this.parts;
        this.now = millis(this.parts.clock.now());
        machineEnv.now = this.now;
        if (this.state.plan.kind === 'hedge') this.trigger = triggerOf(next, this.state.pushedUntil !== null);
        const step = transition(this.state, next, machineEnv);
        wakeAt = step.wakeAt;
        if (this.state.held === 'throttled') this.countThrottled();
        for (const decision of step.decisions) this.owner.apply(decision);
        next = this.backlog?.shift();
      }
      this.running = false;
      this.backlog = null;
      if (!this.owner.over) this.arm(wakeAt);
    } catch (error) {
      this.running = false;
      this.backlog = null;
      this.owner.machineFailed(error);
    }
  }

  /** Whether the attempt is still wanted: it has neither ended nor been decided against, even where that is yet to be done. */
  wants(attempt: AttemptId): boolean {
    return liveAttempt(this.state, attempt) !== null;
  }

  /** Of the hedge whose start is being decided; null: it is another kind of attempt. */
  triggerOf(cause: AttemptCause): HedgeTrigger | null {
    return cause === 'hedge' ? this.trigger : null;
  }

  /** The call is over: nothing is due any more. */
  stop(): void {
    if (this.alarm === null) return;
    this.parts.alarms.cancel(this.alarm);
    this.alarm = null;
  }

  private countThrottled(): void {
    if (this.throttledCounted) return;
    this.throttledCounted = true;
    this.parts.throttle.suppress();
    this.parts.meters.throttled();
    this.owner.throttled();
  }

  private arm(at: Millis | null): void {
    if (this.alarm !== null) {
      if (this.alarm.at === at) return;
      this.stop();
    }
    if (at !== null) this.alarm = this.parts.alarms.set(at, this.ring);
  }
}

/** @param pushed a pushback stands until the next hedge */
function triggerOf(event: CallEvent, pushed: boolean): HedgeTrigger {
  if (event.type === 'attemptEnded' && event.pushback.kind === 'after') return 'pushback';
  if (pushed) return 'pushback';
  return event.type === 'attemptEnded' ? 'nonfatal' : 'delay';
}
