import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { Step } from '../policy/call.js';
import type { Throttle } from '../policy/throttle.js';
import type {
  AttemptCause,
  AttemptId,
  CallEvent,
  CancelCause,
  CommitCause,
  Decision,
  Env,
  Placement,
  Plan,
} from '../policy/types.js';
import { driveCall } from './drive-call.js';
import { createVirtualTime, type VirtualTime } from './virtual-time.js';

/** What one attempt meets. Times count from its own start. */
export interface Outcome {
  /** Where it is placed, at once; null: it does not matter. */
  readonly backend: BackendId | null;
  /** Response headers that are not Trailers-Only; null: none. */
  readonly headersAt: Millis | null;
  /** Null: it never ends by itself. */
  readonly end: { readonly at: Millis; readonly how: AttemptEnd } | null;
}

/** An attempt of which nothing is ever heard. */
export const silence: Outcome = { backend: null, headersAt: null, end: null };

export type StartAttempt = Extract<Decision, { type: 'startAttempt' }>;

/** One call and the world that it meets. */
export interface CallScenario {
  readonly plan: Plan;
  readonly policy: 'on' | 'off';
  readonly placement: Placement;
  /** From the call's start; null: no deadline. */
  readonly timeout: Millis | null;
  readonly maxTransparent: number;
  /** Read and counted: calls may share one. */
  readonly throttle: Throttle;
  /** In [0, 1). */
  readonly random: () => number;
  /** What an attempt will meet, asked once as it starts. */
  readonly outcome: (start: StartAttempt) => Outcome;
  /** What befalls the call as a whole, `at` from its start: a cancel, a full buffer. */
  readonly happenings: readonly { readonly at: Millis; readonly event: CallEvent }[];
  /** Sees each transition before its decisions are applied. */
  readonly watch?: (event: CallEvent, env: Env, step: Step) => void;
}

/** One event, and what it led to. Times count from the call's start. */
export interface TimelineEntry {
  readonly at: Millis;
  readonly event: CallEvent;
  readonly decisions: readonly Decision[];
  /** The bucket in thousandths of a token, before and after; null where nothing throttles. */
  readonly tokens: { readonly before: number; readonly after: number } | null;
  /** The random number that a backoff was drawn with; null where none was. */
  readonly random: number | null;
  /** When the next policy attempt is due, as things stand after it. */
  readonly dueAt: Millis | null;
  /** A hedge's pushback that has not been served, as things stand after it. */
  readonly pushedUntil: Millis | null;
  /** Why no further hedge is sent, as things stand after it. */
  readonly held: StopReason | null;
}

/** One attempt's life. Times count from the call's start. */
export interface AttemptRun {
  readonly id: AttemptId;
  readonly cause: AttemptCause;
  /** grpc-previous-rpc-attempts; 0 is not sent. */
  readonly previous: number;
  readonly startedAt: Millis;
  /** When it ended or was cancelled; null: it never did. */
  readonly endedAt: Millis | null;
  /** Null where it was cancelled or never ended. */
  readonly end: AttemptEnd | null;
  readonly cancelled: CancelCause | null;
}

/** What the client is told. */
export interface CallResult {
  readonly at: Millis;
  readonly code: StatusCode;
  /** Whose end it is; null where the proxy speaks for itself. */
  readonly attempt: AttemptId | null;
  readonly reason: StopReason;
}

export interface CallRun {
  readonly timeline: readonly TimelineEntry[];
  /** In order of start; an attempt's id is its index + 1. */
  readonly attempts: readonly AttemptRun[];
  readonly commit: { readonly attempt: AttemptId; readonly cause: CommitCause } | null;
  /** Null: the call is open, and nothing more can happen to it. */
  readonly result: CallResult | null;
}

/** Runs one call alone to its end, or until nothing more can happen. */
export function runCall(scenario: CallScenario): CallRun {
  const time = createVirtualTime();
  const run = startCall(time, scenario);
  while (run.result === null && time.step());
  return run;
}

/**
 * Starts a call on a clock that others may share; it goes on as the clock is stepped. The call machine is the proxy's own
 * (policy/call.ts): here is only what carries out its decisions.
 *
 * @returns the run as it grows
 */
export function startCall(time: VirtualTime, scenario: CallScenario): CallRun {
  const { throttle } = scenario;
  const startedAt = time.now;
  const timeline: TimelineEntry[] = [];
  const attempts: AttemptRun[] = [];
  let commit: CallRun['commit'] = null;
  let result: CallResult | null = null;
  let before: number | null = null;

  const since = (moment: Millis): Millis => millis(moment - startedAt);
  const sinceOrNull = (moment: Millis | null): Millis | null => (moment === null ? null : since(moment));
  const change = (id: AttemptId, to: Partial<AttemptRun>): void => {
    const attempt = attempts[id - 1];
    if (attempt !== undefined && attempt.endedAt === null) attempts[id - 1] = { ...attempt, ...to };
  };

  const take = driveCall(time, scenario, {
    apply,
    before: (event, env, step) => {
      before = throttle.state?.milliTokens ?? null;
      scenario.watch?.(event, env, step);
    },
    after: (event, { state, decisions }, random) => {
      const after = throttle.state?.milliTokens ?? null;
      timeline.push({
        at: since(time.now),
        event,
        decisions,
        tokens: before === null || after === null ? null : { before, after },
        random,
        dueAt: sinceOrNull(state.dueAt),
        pushedUntil: sinceOrNull(state.pushedUntil),
        held: state.held,
      });
    },
  });

  function begin(start: StartAttempt): void {
    const { attempt: id, cause, previous } = start;
    const now = time.now;
    attempts.push({ id, cause, previous, startedAt: since(now), endedAt: null, end: null, cancelled: null });
    const { backend, headersAt, end } = scenario.outcome(start);
    const meets = (moment: Millis, event: CallEvent, how: AttemptEnd | null): void => {
      time.at(moment, 'outside', () => {
        // What was cancelled is heard of no more.
        if (attempts[id - 1]?.endedAt !== null) return;
        if (how !== null) change(id, { endedAt: since(time.now), end: how });
        take(event);
      });
    };
    if (backend !== null) meets(now, { type: 'attemptPlaced', attempt: id, backend }, null);
    if (headersAt !== null) meets(millis(now + headersAt), { type: 'headersReceived', attempt: id }, null);
    if (end === null) return;
    const { code, reach, pushback, by } = end.how;
    meets(millis(now + end.at), { type: 'attemptEnded', attempt: id, code, reach, pushback, by }, end.how);
  }

  function apply(decision: Decision): void {
    switch (decision.type) {
      case 'startAttempt':
        // A committed call whose attempt never left is placed again, and stays committed.
        if (commit !== null) commit = { ...commit, attempt: decision.attempt };
        begin(decision);
        return;
      case 'commit':
        commit = { attempt: decision.attempt, cause: decision.cause };
        return;
      case 'cancelAttempt':
        change(decision.attempt, { endedAt: since(time.now), cancelled: decision.why });
        return;
      case 'countThrottle':
        throttle.count(decision.as);
        return;
      case 'finish': {
        const from = 'from' in decision.with ? (attempts[decision.with.from - 1] ?? null) : null;
        const code = 'code' in decision.with ? decision.with.code : (from?.end?.code ?? Status.INTERNAL);
        result = { at: since(time.now), code, attempt: from?.id ?? null, reason: decision.reason };
        return;
      }
      default:
        decision satisfies never;
    }
  }

  const { timeout, placement, policy } = scenario;
  for (const { at, event } of scenario.happenings) time.at(millis(startedAt + at), 'outside', () => take(event));
  take({
    type: 'started',
    deadlineAt: timeout === null ? null : millis(startedAt + timeout),
    placement,
    policy,
  });
  return {
    timeline,
    attempts,
    get commit() {
      return commit;
    },
    get result() {
      return result;
    },
  };
}
