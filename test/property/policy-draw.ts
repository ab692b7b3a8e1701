import fc from 'fast-check';
import type { Pushback } from '../../src/grpc/attempt-facts.js';
import { millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import type { Placement, Plan } from '../../src/policy/types.js';
import type { AttemptScript, Bucket, CallScript } from './policy-scripts.js';

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

const hedgePlans: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constant('hedge' as const),
  maxAttempts: fc.integer({ min: 2, max: 5 }),
  // As long as attempts are: an end and a hedge fall together often.
  delay: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 })).map(millis),
  nonFatal: fc
    .subarray([Status.CANCELLED, Status.DEADLINE_EXCEEDED, Status.UNAVAILABLE], { minLength: 2 })
    .map((codes) => new Set<number>(codes)),
});

const placements: fc.Arbitrary<Placement> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Placement>({ kind: 'any' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('only' as const),
      target: fc.constantFrom('a', 'b'),
      by: fc.constantFrom('pin' as const, 'session' as const),
      again: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('firstOnly' as const),
      target: fc.constantFrom('a', 'b'),
      by: fc.constantFrom('pin' as const, 'session' as const),
    }),
  },
);

const byte = fc.integer({ min: 0, max: 3 });

export const calls: fc.Arbitrary<CallScript> = fc.record({
  plan: fc.oneof(
    { weight: 9, arbitrary: retryPlans },
    { weight: 9, arbitrary: hedgePlans },
    { weight: 1, arbitrary: fc.constant<Plan>({ kind: 'none' }) },
  ),
  placement: placements,
  sent: fc.tuple(byte, fc.array(byte, { maxLength: 4 })).map(([first, rest]): CallScript['sent'] => [first, ...rest]),
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

export const buckets: fc.Arbitrary<Readonly<Bucket>> = fc.integer({ min: 1, max: 40 }).chain((max) =>
  fc.record({
    max: fc.constant(max * 1000),
    ratio: fc.integer({ min: 1, max: 2500 }),
    tokens: fc.oneof(fc.integer({ min: 0, max: max * 1000 }), fc.constant(max * 1000)),
  }),
);
