import type { Pushback } from '../grpc/attempt-facts.js';
import { helpFor } from '../grpc/remedies.js';
import { statusName } from '../grpc/status.js';
import type { CallEvent, Decision, Plan } from '../policy/types.js';
import type { AttemptRun, TimelineEntry } from '../sim/run-call.js';
import type { ScheduledAttempt } from '../sim/schedule.js';
import type { Explanation, Timeline } from './explanation.js';
import type { FittingEntry } from './governing-entry.js';

/** The object of `hedgerow explain --json`; docs/command-line.md tells its fields, which are only ever added to. */
export function explainAsJson(explanation: Explanation, file: string): object {
  const { path, governing, deadline, throttle, schedule, timeline, notes } = explanation;
  const { policy, by, passedOver } = governing;
  return {
    file,
    method: path,
    entry: by === null ? null : entryAsJson(by),
    passed_over: passedOver.map(entryAsJson),
    notes,
    policy: planAsJson(policy.plan),
    timeout_ms: policy.timeout,
    wait_for_ready: policy.waitForReady,
    max_request_message_bytes: policy.maxRequestMessageBytes,
    max_response_message_bytes: policy.maxResponseMessageBytes,
    deadline_ms: deadline,
    throttle:
      throttle === null
        ? null
        : {
            tokens: throttle.milliTokens / 1000,
            max_tokens: throttle.limits.maxMilliTokens / 1000,
            token_ratio: throttle.limits.milliTokensPerSuccess / 1000,
            threshold: throttle.limits.maxMilliTokens / 2000,
          },
    schedule: schedule.map(scheduledOf),
    timeline: timeline === null ? null : timelineOf(timeline),
  };
}

/** An entry of methodConfig, with its place. */
export function entryAsJson({ entry, line, column, name }: FittingEntry): object {
  const service = name.kind === 'all' ? null : name.service;
  const method = name.kind === 'method' ? name.method : null;
  return { index: entry.index, line, column, fits: name.kind, name: { service, method } };
}

/** A plan in the words of the service config. */
export function planAsJson(plan: Plan): object {
  switch (plan.kind) {
    case 'none':
      return { kind: 'none' };
    case 'retry':
      return {
        kind: 'retry',
        max_attempts: plan.maxAttempts,
        initial_backoff_ms: plan.initialBackoff,
        max_backoff_ms: plan.maxBackoff,
        backoff_multiplier: plan.multiplier,
        retryable_status_codes: names(plan.retryable),
      };
    case 'hedge':
      return {
        kind: 'hedge',
        max_attempts: plan.maxAttempts,
        hedging_delay_ms: plan.delay,
        non_fatal_status_codes: names(plan.nonFatal),
      };
    default:
      return plan satisfies never;
  }
}

function names(codes: ReadonlySet<number>): string[] {
  return [...codes].toSorted((a, b) => a - b).map(statusName);
}

function scheduledOf({ attempt, wait, at, deadline, throttled }: ScheduledAttempt): object {
  return {
    attempt,
    wait_ms: [wait.from, wait.to],
    at_ms: [at.from, at.to],
    deadline: deadline.replaceAll(' ', '_'),
    throttled,
  };
}

function timelineOf({ script, draw, run, unscripted }: Timeline): object {
  const { result } = run;
  return {
    script,
    random: draw.kind === 'fixed' ? draw.value : null,
    seed: draw.kind === 'seed' ? draw.value : null,
    events: run.timeline.map(eventOf),
    attempts: run.attempts.map((attempt) => attemptOf(attempt, unscripted.includes(attempt.id))),
    committed: run.commit,
    result:
      result === null
        ? null
        : {
            at_ms: tidy(result.at),
            code: statusName(result.code),
            attempt: result.attempt,
            reason: result.reason,
            help: helpFor(result.reason),
          },
  };
}

function eventOf({ at, event, decisions, tokens, random, dueAt, pushedUntil, held }: TimelineEntry): object {
  return {
    at_ms: tidy(at),
    event: snake(event.type),
    ...factsOf(event),
    decisions: decisions.map(decisionOf),
    tokens: tokens === null ? null : { before: tokens.before / 1000, after: tokens.after / 1000 },
    random,
    next_attempt_at_ms: tidy(dueAt),
    pushed_back_until_ms: tidy(pushedUntil),
    no_further_hedge: held,
  };
}

function factsOf(event: CallEvent): object {
  if (event.type === 'attemptEnded') {
    const { attempt, code, reach, by, pushback } = event;
    return { attempt, code: statusName(code), reach, by, pushback_ms: pushbackOf(pushback) };
  }
  if (event.type === 'aborted') return { by: event.by };
  return 'attempt' in event ? { attempt: event.attempt } : {};
}

function attemptOf(
  { id, cause, previous, startedAt, endedAt, end, cancelled }: AttemptRun,
  unscripted: boolean,
): object {
  return {
    attempt: id,
    cause,
    previous_rpc_attempts: previous,
    started_at_ms: tidy(startedAt),
    ended_at_ms: tidy(endedAt),
    code: end === null ? null : statusName(end.code),
    reach: end?.reach ?? null,
    pushback_ms: end === null ? null : pushbackOf(end.pushback),
    cancelled,
    in_script: !unscripted,
  };
}

function decisionOf(decision: Decision): object {
  const kind = { decision: snake(decision.type) };
  switch (decision.type) {
    case 'startAttempt':
      return { ...kind, attempt: decision.attempt, cause: decision.cause, previous_rpc_attempts: decision.previous };
    case 'commit':
      return { ...kind, attempt: decision.attempt, cause: decision.cause };
    case 'cancelAttempt':
      return { ...kind, attempt: decision.attempt, why: decision.why };
    case 'countThrottle':
      return { ...kind, as: decision.as };
    case 'finish':
      return { ...kind, reason: decision.reason };
    default:
      return decision satisfies never;
  }
}

/** Null: none; `never`, or milliseconds. */
function pushbackOf(pushback: Pushback): 'never' | number | null {
  switch (pushback.kind) {
    case 'none':
      return null;
    case 'never':
      return 'never';
    case 'after':
      return pushback.ms;
    default:
      return pushback satisfies never;
  }
}

/** `attemptEnded` → `attempt_ended` */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Without what floating point adds: to a nanosecond. */
function tidy(time: number | null): number | null {
  return time === null ? null : Math.round(time * 1e6) / 1e6;
}
