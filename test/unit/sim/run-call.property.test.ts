import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AttemptEnd, EndedBy, Pushback, Reach } from '../../../src/grpc/attempt-facts.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { nothingSeen } from '../../../src/policy/account.js';
import { audit } from '../../../src/policy/invariants.js';
import type { CallEvent, Plan } from '../../../src/policy/types.js';
import { type CallRun, type CallScenario, type Outcome, runCall, silence } from '../../../src/sim/run-call.js';
import { seededRandom } from '../../../src/sim/seeded-random.js';
import { throttleAt } from '../../../src/sim/throttle-at.js';

const time = fc.integer({ min: 0, max: 300 }).map((ms) => millis(ms));
const codes = fc.oneof(
  { weight: 6, arbitrary: fc.constant(Status.UNAVAILABLE) },
  { weight: 2, arbitrary: fc.constantFrom<number>(Status.OK, Status.ABORTED, Status.NOT_FOUND, 300) },
);
const both = new Set<number>([Status.UNAVAILABLE, Status.ABORTED]);
const listed = fc.oneof(
  { weight: 8, arbitrary: fc.constant(both) },
  fc.constantFrom(new Set<number>([Status.ABORTED]), new Set<number>()),
);
const maxAttempts = fc.integer({ min: 2, max: 5 });

const plans: fc.Arbitrary<Plan> = fc.oneof(
  fc.constant<Plan>({ kind: 'none' }),
  fc.record({
    kind: fc.constant('retry' as const),
    maxAttempts,
    initialBackoff: fc.integer({ min: 1, max: 200 }).map(millis),
    maxBackoff: fc.integer({ min: 1, max: 400 }).map(millis),
    multiplier: fc.constantFrom(0.5, 1, 2),
    retryable: listed,
  }),
  fc.record({ kind: fc.constant('hedge' as const), maxAttempts, delay: time, nonFatal: listed }),
);

const pushbacks: fc.Arbitrary<Pushback> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Pushback>({ kind: 'none' }) },
  fc.constant<Pushback>({ kind: 'never' }),
  time.map((ms): Pushback => ({ kind: 'after', ms })),
);

const reaches = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Reach>('processed') },
  { weight: 2, arbitrary: fc.constantFrom<Reach>('refused', 'unsent', 'unplaced', 'dropped') },
);
const authors = fc.constantFrom<EndedBy>('backend', 'backend', 'loss', 'proxy');

const ends: fc.Arbitrary<AttemptEnd> = fc
  .record({
    code: codes,
    message: fc.constant(''),
    reach: reaches,
    pushback: pushbacks,
    by: authors,
    sign: fc.constant({ kind: 'stated' } as const),
  })
  .map((end) => (end.reach === 'processed' || end.code !== Status.OK ? end : { ...end, code: Status.UNAVAILABLE }));

const outcomes: fc.Arbitrary<Outcome> = fc
  .record({
    backend: fc.constantFrom(null, backendId('a'), backendId('b')),
    headersAt: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, time),
    end: fc.oneof({ weight: 9, arbitrary: fc.record({ at: time, how: ends }) }, fc.constant(null)),
  })
  .map(({ backend, headersAt, end }) => {
    const at = headersAt === null || end === null ? headersAt : millis(Math.min(headersAt, end.at));
    return { backend, headersAt: end === null || end.how.reach === 'processed' ? at : null, end };
  });

const happenings = fc.oneof(
  { weight: 8, arbitrary: fc.constant<CallScenario['happenings']>([]) },
  fc.array(
    fc.record({
      at: time,
      event: fc.constantFrom<CallEvent>(
        { type: 'aborted', by: 'client' },
        { type: 'aborted', by: 'shutdown' },
        { type: 'bufferOverflowed', limit: 'call', sent: new Map() },
      ),
    }),
    { minLength: 1, maxLength: 2 },
  ),
);

const worlds = fc.record({
  plan: plans,
  policy: fc.oneof({ weight: 9, arbitrary: fc.constant<'on'>('on') }, fc.constant<'off'>('off')),
  timeout: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, fc.integer({ min: 0, max: 2000 }).map(millis)),
  script: fc.array(outcomes, { minLength: 1, maxLength: 9, size: 'max' }),
  happenings,
  bucket: fc.option(
    fc.record({ max: fc.integer({ min: 1, max: 12 }), spent: fc.double({ min: 0, max: 1, noNaN: true }) }),
  ),
  seed: fc.integer({ min: 0 }),
});

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

it('the timeline of a scripted call never breaks an invariant, and ends where anything can end it', () => {
  console.info(`run-call: HEDGEROW_SEED=${seed}`);
  const seen = { hedges: 0, retries: 0, open: 0, reasons: new Set<string>() };
  fc.assert(
    fc.property(worlds, ({ script, bucket, seed: drawn, ...world }) => {
      const max = (bucket?.max ?? 0) * 1000;
      const limits = bucket === null ? null : { maxMilliTokens: max, milliTokensPerSuccess: 300 };
      const throttle = throttleAt(limits, bucket === null ? null : Math.floor((1 - bucket.spent) * max));
      let account = nothingSeen;
      const run = runCall({
        ...world,
        placement: { kind: 'any' },
        maxTransparent: 3,
        throttle,
        random: seededRandom(drawn),
        outcome: ({ attempt }) => script[attempt - 1] ?? silence,
        watch: (event, env, step) => {
          const audited = audit(account, event, env, step);
          expect(audited.broken).toEqual([]);
          account = audited.account;
        },
      });
      holds(run, world.timeout);
      for (const { cause } of run.attempts) {
        if (cause === 'hedge') seen.hedges += 1;
        if (cause === 'retry') seen.retries += 1;
      }
      if (run.result === null) seen.open += 1;
      else seen.reasons.add(run.result.reason);
    }),
    { seed, numRuns: 2000 },
  );
  console.info(`run-call: ${seen.hedges} hedges, ${seen.retries} retries, ${seen.open} open`);
  // The draw reaches what it is to prove something of.
  expect(Math.min(seen.hedges, seen.retries, seen.open)).toBeGreaterThan(50);
  for (const reason of ['ok', 'throttled', 'pushback', 'attempts_exhausted', 'deadline_exceeded', 'fatal_status'])
    expect(seen.reasons).toContain(reason);
});

/** The record of a run agrees with itself. */
function holds({ timeline, attempts, result }: CallRun, timeout: number | null): void {
  const times = timeline.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  let level = timeline[0]?.tokens?.before ?? null;
  for (const { tokens } of timeline) {
    expect(tokens?.before ?? null).toBe(level);
    level = tokens?.after ?? null;
  }
  for (const { startedAt, endedAt, end, cancelled } of attempts) {
    expect(endedAt === null).toBe(end === null && cancelled === null);
    if (endedAt !== null) expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  }
  if (result === null) {
    expect(timeout).toBeNull();
    expect(attempts.some(({ endedAt }) => endedAt === null)).toBe(true);
    return;
  }
  expect(attempts.every(({ endedAt }) => endedAt !== null && endedAt <= result.at)).toBe(true);
  expect(result.at).toBe(times.at(-1));
  if (timeout !== null) expect(result.at).toBeLessThanOrEqual(timeout);
  if (result.attempt !== null) expect(attempts[result.attempt - 1]?.end?.code).toBe(result.code);
}
