import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pushback } from '../../src/grpc/attempt-facts.js';
import { backendId } from '../../src/grpc/backend-id.js';
import { type Millis, millis } from '../../src/grpc/millis.js';
import { Status, statusName } from '../../src/grpc/status.js';
import { nothingSeen } from '../../src/policy/account.js';
import { transition } from '../../src/policy/call.js';
import { createCall } from '../../src/policy/call-state.js';
import { audit } from '../../src/policy/invariants.js';
import type { CallEvent, Decision, Plan } from '../../src/policy/types.js';
import {
  type AttemptScript,
  attemptScript,
  type Bucket,
  type CallScript,
  type Interruption,
  randomAfter,
  reckon,
} from './policy-reckoning.js';

/** Where a run began is not where time began. */
const t0 = 1_000_000;

/** Plays a script to the machine on virtual time, each step audited; says what it decided and when. */
function play(script: CallScript, bucket: Bucket, eager: boolean): string[] {
  const state = createCall(script.plan, { maxTransparent: script.maxTransparent });
  const lines: string[] = [];
  const agenda: { readonly at: number; readonly event: CallEvent }[] = [];
  let account = nothingSeen;
  let wakeAt: Millis | null = null;
  let over = false;
  const schedule = (at: number, event: CallEvent): void => {
    agenda.push({ at, event });
  };

  const step = (now: number, event: CallEvent): void => {
    let draws = 0;
    const env = {
      now: millis(now),
      random: () => {
        draws += 1;
        return event.type === 'attemptEnded' ? randomAfter(script, event.attempt) : Number.NaN;
      },
      throttled: (debit: boolean) => Math.max(0, bucket.tokens - (debit ? 1000 : 0)) * 2 <= bucket.max,
    };
    const taken = transition(state, event, env);
    const audited = audit(account, event, env, taken);
    expect(audited.broken).toEqual([]);
    expect(draws).toBeLessThanOrEqual(1);
    account = audited.account;
    wakeAt = taken.wakeAt;
    for (const decision of taken.decisions) {
      lines.push(`${now} ${inWords(decision)}`);
      if (decision.type === 'startAttempt') begin(now, decision.attempt);
      if (decision.type === 'countThrottle')
        bucket.tokens =
          decision.as === 'failure'
            ? Math.max(0, bucket.tokens - 1000)
            : Math.min(bucket.max, bucket.tokens + bucket.ratio);
      if (decision.type === 'finish') over = true;
    }
  };
  const begin = (now: number, attempt: number): void => {
    const { backend, headersAfter, lasts, code, reach, pushback, by } = attemptScript(script, attempt);
    if (backend !== null) schedule(now, { type: 'attemptPlaced', attempt, backend: backendId(backend) });
    if (headersAfter !== null) schedule(now + headersAfter, { type: 'headersReceived', attempt });
    schedule(now + lasts, { type: 'attemptEnded', attempt, code, reach, pushback, by });
  };

  const { overflow, interruption } = script;
  if (overflow !== null)
    schedule(t0 + overflow.at, { type: 'bufferOverflowed', limit: overflow.limit, sent: new Map() });
  if (interruption !== null) schedule(t0 + interruption.at, eventOf(interruption));
  step(t0, {
    type: 'started',
    deadlineAt: script.deadline === null ? null : millis(t0 + script.deadline),
    placement: { kind: 'any' },
    policy: script.policy,
  });
  while (!over) {
    const next = agenda.reduce<number>((best, { at }) => Math.min(best, at), Number.POSITIVE_INFINITY);
    const alarm: number = wakeAt ?? Number.POSITIVE_INFINITY;
    if (alarm < next || (eager && alarm === next && Number.isFinite(alarm))) {
      step(alarm, { type: 'woke' });
      continue;
    }
    const index = agenda.findIndex(({ at }) => at === next);
    const [item] = agenda.splice(index, 1);
    if (item === undefined) throw new Error('the call hangs: nothing is to happen and it is not over');
    step(item.at, item.event);
  }
  // What comes late changes nothing, and asks for nothing.
  for (const { at, event } of agenda.sort((a, b) => a.at - b.at)) step(at, event);
  return lines;
}

function eventOf(interruption: Interruption): CallEvent {
  return interruption.kind === 'aborted'
    ? { type: 'aborted', by: interruption.by }
    : { type: 'rejected', code: Status.RESOURCE_EXHAUSTED, reason: 'message_too_large', detail: 'too large' };
}

function inWords(decision: Decision): string {
  switch (decision.type) {
    case 'startAttempt':
      return `${decision.cause} ${decision.attempt} previous ${decision.previous} avoid ${decision.avoid.join()}`;
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

// === What is drawn ===

/** Null `nulls` times as often as something. */
function maybe<T>(nulls: number, something: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: nulls, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: something });
}

const shortTime = fc.integer({ min: 0, max: 60 });
/** Later than any whole millisecond: meets nothing else. */
const oddTime = fc.integer({ min: 0, max: 400 }).map((ms) => ms + 0.377);
const random = fc.oneof(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.constantFrom(0, 0.5));

const pushbacks: fc.Arbitrary<Pushback> = fc.oneof(
  { weight: 10, arbitrary: fc.constant<Pushback>({ kind: 'none' }) },
  { weight: 1, arbitrary: fc.constant<Pushback>({ kind: 'never' }) },
  { weight: 4, arbitrary: shortTime.map((ms): Pushback => ({ kind: 'after', ms: millis(ms) })) },
);

const failed = fc.record({
  code: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(Status.UNAVAILABLE, Status.CANCELLED, Status.DEADLINE_EXCEEDED) },
    { weight: 1, arbitrary: fc.constantFrom(Status.INTERNAL, 300) },
  ),
  reach: fc.oneof(
    { weight: 10, arbitrary: fc.constant('processed' as const) },
    { weight: 8, arbitrary: fc.constantFrom('unsent' as const, 'refused' as const, 'unplaced' as const) },
    { weight: 1, arbitrary: fc.constantFrom('dropped' as const, 'unplaced' as const) },
  ),
  by: fc.constantFrom('backend' as const, 'backend' as const, 'loss' as const, 'proxy' as const),
});
const answeredOk = fc.constant({ code: Status.OK, reach: 'processed' as const, by: 'backend' as const });

const attempts: fc.Arbitrary<AttemptScript> = fc
  .record({
    end: fc.oneof({ weight: 12, arbitrary: failed }, { weight: 1, arbitrary: answeredOk }),
    lasts: shortTime,
    headers: maybe(12, shortTime),
    backend: fc.constantFrom('a', 'b', 'c'),
    pushback: pushbacks,
  })
  .map(({ end, lasts, headers, backend, pushback }) => ({
    ...end,
    lasts,
    pushback,
    headersAfter: headers === null || end.reach !== 'processed' ? null : Math.min(headers, lasts),
    backend: end.reach === 'processed' || end.reach === 'refused' ? backend : null,
  }));

const retryPlans: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constant('retry' as const),
  maxAttempts: fc.integer({ min: 2, max: 5 }),
  initialBackoff: fc.integer({ min: 1, max: 80 }).map(millis),
  maxBackoff: fc.integer({ min: 1, max: 200 }).map(millis),
  // Exact in binary, so that two ways of multiplying agree to the last bit.
  multiplier: fc.constantFrom(0.5, 1, 1.5, 2, 3, 1e308),
  retryable: fc
    .subarray([Status.CANCELLED, Status.DEADLINE_EXCEEDED, Status.UNAVAILABLE], { minLength: 2 })
    .map((codes) => new Set<number>(codes)),
});

const calls: fc.Arbitrary<CallScript> = fc.record({
  plan: fc.oneof({ weight: 9, arbitrary: retryPlans }, { weight: 1, arbitrary: fc.constant<Plan>({ kind: 'none' }) }),
  policy: fc.constantFrom('on', 'on', 'on', 'on', 'off'),
  deadline: maybe(1, fc.integer({ min: 0, max: 500 })),
  maxTransparent: fc.integer({ min: 1, max: 5 }),
  attempts: fc
    .tuple(attempts, fc.array(attempts, { maxLength: 11 }))
    .map(([first, rest]): CallScript['attempts'] => [first, ...rest]),
  overflow: maybe(
    3,
    fc.record({ at: oddTime, limit: fc.constantFrom('call' as const, 'client' as const, 'total' as const) }),
  ),
  interruption: maybe(
    4,
    fc.oneof(
      fc.record({
        kind: fc.constant('aborted' as const),
        by: fc.constantFrom('client' as const, 'shutdown' as const),
        at: oddTime.map((at) => at + 0.25),
      }),
      fc.record({ kind: fc.constant('rejected' as const), at: oddTime.map((at) => at + 0.25) }),
    ),
  ),
  randoms: fc
    .tuple(random, fc.array(random, { maxLength: 4 }))
    .map(([first, rest]): CallScript['randoms'] => [first, ...rest]),
});

const buckets: fc.Arbitrary<Readonly<Bucket>> = fc.integer({ min: 1, max: 40 }).chain((max) =>
  fc.record({
    max: fc.constant(max * 1000),
    ratio: fc.integer({ min: 1, max: 2500 }),
    tokens: fc.oneof(fc.integer({ min: 0, max: max * 1000 }), fc.constant(max * 1000)),
  }),
);

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

describe('the call machine and a naive reckoning of the same calls', () => {
  it('agree on attempts, delays, commits, tokens and ends', () => {
    console.info(`policy-call: HEDGEROW_SEED=${seed}`);
    const seen = { retries: 0, transparent: 0, reasons: new Map<string, number>() };
    fc.assert(
      fc.property(fc.array(calls, { minLength: 1, maxLength: 6 }), buckets, fc.boolean(), (scripts, initial, eager) => {
        const played = { ...initial };
        const reckoned = { ...initial };
        for (const script of scripts) {
          const lines = play(script, played, eager);
          expect(lines).toEqual(reckon(script, reckoned, t0, eager));
          expect(played.tokens).toBe(reckoned.tokens);
          count(lines, seen);
        }
      }),
      { seed, numRuns: 3000 },
    );
    console.info(`policy-call: ${JSON.stringify({ ...seen, reasons: Object.fromEntries(seen.reasons) })}`);
    // The draw reaches every way in which a call of this scope can end: else the agreement says little.
    expect([...seen.reasons.keys()].sort()).toEqual(
      [
        ...['attempts_exhausted', 'backend_lost', 'backoff_beyond_deadline', 'buffer_exceeded', 'client_cancelled'],
        ...['committed', 'deadline_exceeded', 'drain_timeout', 'fatal_status', 'message_too_large', 'no_backend'],
        ...['no_policy', 'ok', 'overloaded', 'pushback', 'throttled'],
      ].sort(),
    );
    expect(seen.retries).toBeGreaterThan(1000);
    expect(seen.transparent).toBeGreaterThan(1000);
  });
});

/** What was told and tried, so that a draw that no longer reaches it is noticed. */
function count(
  lines: readonly string[],
  seen: { retries: number; transparent: number; readonly reasons: Map<string, number> },
): void {
  for (const line of lines) {
    const [, what, , reason = ''] = line.split(' ');
    if (what === 'retry') seen.retries += 1;
    if (what === 'transparent') seen.transparent += 1;
    if (what === 'finish') seen.reasons.set(reason, (seen.reasons.get(reason) ?? 0) + 1);
  }
}
