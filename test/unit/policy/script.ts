import { expect } from 'vitest';
import type { EndedBy, Pushback, Reach } from '../../../src/grpc/attempt-facts.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { type Millis, millis } from '../../../src/grpc/millis.js';
import { Status, type StatusCode, statusName } from '../../../src/grpc/status.js';
import type { StopReason } from '../../../src/grpc/stop-reason.js';
import { type Account, nothingSeen } from '../../../src/policy/account.js';
import { type Step, transition } from '../../../src/policy/call.js';
import { type CallState, createCall } from '../../../src/policy/call-state.js';
import { audit } from '../../../src/policy/invariants.js';
import type { Throttle } from '../../../src/policy/throttle.js';
import type {
  AttemptId,
  BufferLimit,
  CallEvent,
  Decision,
  HedgePlan,
  Placement,
  Plan,
  RetryPlan,
} from '../../../src/policy/types.js';

/** `RP(4, 0.1s, 1s, 2, [UNAVAILABLE])`, as the catalogue has it, with what a test changes. */
export function retryPlan(change: Partial<RetryPlan> = {}): RetryPlan {
  return {
    kind: 'retry',
    maxAttempts: 4,
    initialBackoff: millis(100),
    maxBackoff: millis(1000),
    multiplier: 2,
    retryable: new Set([Status.UNAVAILABLE]),
    ...change,
  };
}

/** `HP(3, 0.1s, [UNAVAILABLE])`, with what a test changes. */
export function hedgePlan(change: Partial<HedgePlan> = {}): HedgePlan {
  return { kind: 'hedge', maxAttempts: 3, delay: millis(100), nonFatal: new Set([Status.UNAVAILABLE]), ...change };
}

export const noPlan: Plan = { kind: 'none' };
export const never: Pushback = { kind: 'never' };

export function pause(ms: number): Pushback {
  return { kind: 'after', ms: millis(ms) };
}

/** An end's facts that a test cares about. */
export interface EndFacts {
  readonly reach?: Reach;
  readonly pushback?: Pushback;
  readonly by?: EndedBy;
  readonly breached?: boolean;
}

export interface Setting {
  readonly plan?: Plan;
  /** From the start. */
  readonly deadline?: number | null;
  readonly policy?: 'on' | 'off';
  readonly placement?: Placement;
  readonly maxTransparent?: number;
  /** A real bucket, in the place of `shut`; what the call counts is applied to it. */
  readonly throttle?: Throttle;
}

const startAt = 1_000_000;

/**
 * One call driven by hand on a clock that stands still until a test moves it. Each step is held against the invariants, and
 * its decisions are given back as words: `first 1`, `retry 2`, `transparent 2`, `commit 1 headers`, `cancel 1 client`,
 * `debit`, `credit`, `finish 1 ok`, `finish DEADLINE_EXCEEDED deadline_exceeded`.
 */
export class Script {
  readonly state: CallState;
  /** Milliseconds since the start. */
  now = 0;
  random = 0.5;
  /** The bucket is at or under half before, or after, this event's debit. */
  shut: { before: boolean; after: boolean } = { before: false, after: false };
  /** The last step's decisions as they are. */
  decisions: readonly Decision[] = [];
  wakeAt: number | null = null;
  private readonly setting: Setting;
  private account: Account = nothingSeen;

  constructor(setting: Setting = {}) {
    this.setting = setting;
    this.state = createCall(setting.plan ?? retryPlan(), { maxTransparent: setting.maxTransparent ?? 1000 });
  }

  start(): string[] {
    const { deadline = null, policy = 'on', placement = { kind: 'any' } } = this.setting;
    return this.send({
      type: 'started',
      deadlineAt: deadline === null ? null : millis(startAt + deadline),
      placement,
      policy,
    });
  }

  placed(attempt: AttemptId, backend: string): string[] {
    return this.send({ type: 'attemptPlaced', attempt, backend: backendId(backend) });
  }

  headers(attempt: AttemptId): string[] {
    return this.send({ type: 'headersReceived', attempt });
  }

  ends(attempt: AttemptId, code: StatusCode, facts: EndFacts = {}): string[] {
    const { reach = 'processed', pushback = { kind: 'none' }, by = 'backend', breached } = facts;
    return this.send({ type: 'attemptEnded', attempt, code, reach, pushback, by, breached });
  }

  /** UNAVAILABLE, which the usual plan lists. */
  fails(attempt: AttemptId, facts: EndFacts = {}): string[] {
    return this.ends(attempt, Status.UNAVAILABLE, facts);
  }

  /** @param sent request bytes written to attempt 1, 2 and so on */
  overflows(limit: BufferLimit = 'call', sent: readonly number[] = []): string[] {
    return this.send({ type: 'bufferOverflowed', limit, sent: new Map(sent.map((bytes, i) => [i + 1, bytes])) });
  }

  rejected(code: StatusCode, reason: StopReason, detail: string): string[] {
    return this.send({ type: 'rejected', code, reason, detail });
  }

  aborted(by: 'client' | 'shutdown'): string[] {
    return this.send({ type: 'aborted', by });
  }

  /** Says `woke` at this moment. */
  woke(): string[] {
    return this.send({ type: 'woke' });
  }

  /** Lets time pass to when the machine asked to be woken, and wakes it. */
  wakes(): string[] {
    if (this.wakeAt === null) throw new Error('the machine does not want to be woken');
    this.now = this.wakeAt;
    return this.woke();
  }

  /** How long the machine waits from now. */
  get wait(): number | null {
    return this.wakeAt === null ? null : this.wakeAt - this.now;
  }

  send(event: CallEvent): string[] {
    const env = {
      now: this.clock(),
      random: () => this.random,
      throttled: (debit: boolean) =>
        this.setting.throttle?.isShut(debit) ?? (debit ? this.shut.after : this.shut.before),
    };
    const step = transition(this.state, event, env);
    this.take(event, step, env);
    for (const decision of step.decisions)
      if (decision.type === 'countThrottle') this.setting.throttle?.count(decision.as);
    return step.decisions.map(inWords);
  }

  private take(event: CallEvent, step: Step, env: Parameters<typeof audit>[2]): void {
    this.decisions = step.decisions;
    this.wakeAt = step.wakeAt === null ? null : step.wakeAt - startAt;
    const { account, broken } = audit(this.account, event, env, step);
    expect(broken).toEqual([]);
    this.account = account;
  }

  private clock(): Millis {
    return millis(startAt + this.now);
  }
}

function inWords(decision: Decision): string {
  switch (decision.type) {
    case 'startAttempt':
      return `${decision.cause} ${decision.attempt}`;
    case 'commit':
      return `commit ${decision.attempt} ${decision.cause}`;
    case 'cancelAttempt':
      return `cancel ${decision.attempt} ${decision.why}`;
    case 'countThrottle':
      return decision.as === 'failure' ? 'debit' : 'credit';
    case 'finish':
      return `finish ${'from' in decision.with ? decision.with.from : statusName(decision.with.code)} ${decision.reason}`;
    default:
      return decision satisfies never;
  }
}
