import fc from 'fast-check';
import type { BackendPlan, ClientCallPlan, Outcome, RunScript } from '../support/call-script.js';

/** Null `nulls` times as often as something. */
export function maybe<T>(nulls: number, something: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: nulls, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: something });
}

/** `common` so many times as often as something rare. */
function mostly<T>(times: number, common: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: times, arbitrary: common }, { weight: 1, arbitrary: rare });
}

/** Coarse, so that things fall into the same instant. */
export const soon = fc.oneof(fc.constantFrom(0, 0, 5, 10, 20), fc.integer({ min: 0, max: 60 }));
export const long = fc.oneof(fc.constantFrom(5, 10, 20, 40, 50, 100), fc.integer({ min: 1, max: 300 }));

// === The service config ===

const codes = ['UNAVAILABLE', 'ABORTED', 'CANCELLED', 'INTERNAL', 'RESOURCE_EXHAUSTED'] as const;
const someCodes = mostly(
  6,
  fc.subarray([...codes], { minLength: 1 }).map((list) => [...new Set(['UNAVAILABLE', ...list])]),
  fc.constant<string[]>(['ABORTED']),
);
export const seconds = (ms: number): string => `${ms / 1000}s`;
const waits = fc.constantFrom(1, 5, 10, 20, 50, 100).map(seconds);

const retryPolicy = fc.record({
  retryPolicy: fc.record({
    maxAttempts: fc.integer({ min: 2, max: 6 }),
    initialBackoff: waits,
    maxBackoff: waits,
    backoffMultiplier: fc.constantFrom(0.5, 1, 2, 3),
    retryableStatusCodes: someCodes,
  }),
});
const hedgingPolicy = fc.record({
  hedgingPolicy: fc.record(
    {
      maxAttempts: fc.integer({ min: 2, max: 6 }),
      hedgingDelay: fc.constantFrom(0, 5, 10, 20, 50).map(seconds),
      nonFatalStatusCodes: mostly(6, someCodes, fc.constant<string[]>([])),
    },
    { requiredKeys: ['maxAttempts'] },
  ),
});

const bounds = fc.record(
  {
    timeout: fc.constantFrom(5, 20, 50, 100, 300).map(seconds),
    waitForReady: fc.boolean(),
    maxRequestMessageBytes: fc.constantFrom(0, 40, 300),
    maxResponseMessageBytes: fc.constantFrom(0, 40, 300),
  },
  { requiredKeys: [] },
);
const policy: fc.Arbitrary<object> = fc.oneof(
  { weight: 4, arbitrary: retryPolicy },
  { weight: 4, arbitrary: hedgingPolicy },
  { weight: 1, arbitrary: fc.constant({}) },
);
const entry = fc
  .tuple(policy, mostly(4, fc.constant<object>({}), bounds))
  .map(([one, other]): object => ({ ...one, ...other }));

const config = fc
  .record({
    methods: fc.tuple(entry, entry),
    throttling: maybe(
      1,
      fc.record({ maxTokens: fc.integer({ min: 1, max: 8 }), tokenRatio: fc.constantFrom(0.1, 0.5, 1, 2.3456) }),
    ),
  })
  .map(({ methods: [add, rest], throttling }) =>
    JSON.stringify({
      methodConfig: [
        { name: [{ service: 'shop.Cart' }], ...add },
        { name: [{}], ...rest },
      ],
      ...(throttling === null ? {} : { retryThrottling: throttling }),
    }),
  );

// === What backends do ===

const pushback = fc.oneof(
  { weight: 8, arbitrary: fc.constant<readonly string[]>([]) },
  { weight: 3, arbitrary: soon.map((ms) => [String(ms)]) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(['-1'], ['x'], ['007'], ['5', '5'], ['2147483648'], ['+3'], ['-0'], ['1.5']),
  },
);
const failure = mostly(8, fc.constantFrom(14, 14, 14, 10, 8, 13, 1), fc.constantFrom(3, 5, 0));
const length = fc.oneof(fc.constantFrom(0, 1, 30), fc.integer({ min: 0, max: 300 }));

const answered = fc.record({
  kind: fc.constant('answer' as const),
  code: mostly(2, fc.constant(0), failure),
  pushback: mostly(3, fc.constant<readonly string[]>([]), pushback),
  messages: fc.array(length, { maxLength: 3 }),
  gap: soon,
});
const refused = fc.record({
  kind: fc.constant('trailersOnly' as const),
  code: failure,
  pushback,
});
const broken = fc.record({
  kind: fc.constant('reset' as const),
  code: fc.constantFrom(7, 7, 7, 8, 11, 2, 0),
  headersFirst: mostly(5, fc.constant(false), fc.constant(true)),
});
const outcome: fc.Arbitrary<Outcome> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: refused },
      { weight: 3, arbitrary: answered },
      { weight: 3, arbitrary: broken },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constantFrom('goaway' as const, 'lose' as const, 'silence' as const) }),
      },
    ),
    fc.record({
      after: soon,
      reads: mostly(4, fc.constant(true), fc.constant(false)),
      waits: fc.boolean(),
    }),
  )
  .map(([what, how]): Outcome => ({ ...what, ...how }));

const backend: fc.Arbitrary<BackendPlan> = fc.record({
  latency: fc.constantFrom(0, 0, 1, 3),
  streams: mostly(4, fc.constant(100), fc.constantFrom(1, 2)),
  window: fc.constantFrom(65_535, 65_535, 10, 100),
  events: mostly(
    2,
    fc.constant<BackendPlan['events']>([]),
    fc.array(
      fc.record({
        at: mostly(2, fc.integer({ min: 0, max: 300 }), fc.constant(0)),
        kind: fc.constantFrom(
          'up' as const,
          'refuse' as const,
          'hang' as const,
          'lose' as const,
          'goaway' as const,
          'trip' as const,
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  ),
});

// === Calls ===

const directive = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'a', 'a', 'B', 'zz').map((name) => [['pin', name]] as const) },
  fc.constantFrom('a', 'b').map(
    (name) =>
      [
        ['pin', name],
        ['allow-retry', 'True'],
      ] as const,
  ),
  fc.constantFrom('a', 'b', 'a,zz', 'b, C', 'a,b,c').map((names) => [['exclude', names]] as const),
  fc.constant([['retry', 'off']] as const),
  fc.constantFrom('', 'x'.repeat(257)).map((name) => [['pin', name]] as const),
);

export const call: fc.Arbitrary<ClientCallPlan> = fc.record({
  at: soon,
  connection: fc.integer({ min: 0, max: 1 }),
  service: fc.integer({ min: 0, max: 1 }),
  messages: fc.array(length, { maxLength: 4 }),
  pieces: mostly(
    1,
    fc.constant<ClientCallPlan['pieces']>([]),
    fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 200 }), after: soon }), { maxLength: 4 }),
  ),
  halfClose: mostly(4, fc.constantFrom<(number | null)[]>(0, 0, 5, 20), fc.constant(null)),
  cancel: maybe(5, long),
  timeout: maybe(2, long),
  previous: mostly(4, fc.constant<string | null>(null), fc.constantFrom('3', 'x', '0')),
  directives: mostly(2, fc.constant<ClientCallPlan['directives']>([]), directive),
  readAfter: mostly(3, fc.constant(0), soon),
  outcomes: fc.array(outcome, { maxLength: 7 }),
});

const small = fc.constantFrom(0, 50, 200, 400);
export const plenty = 1_000_000;
/** Mostly one of them at a time is in reach. */
const buffers: fc.Arbitrary<Pick<RunScript['limits'], 'call' | 'client' | 'total'>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ call: plenty, client: plenty, total: plenty }) },
  { weight: 3, arbitrary: small.map((call) => ({ call, client: plenty, total: plenty })) },
  { weight: 1, arbitrary: small.map((client) => ({ call: plenty, client, total: plenty })) },
  { weight: 1, arbitrary: small.map((total) => ({ call: plenty, client: plenty, total })) },
  { weight: 1, arbitrary: fc.record({ call: small, client: small, total: small }) },
);
const limits: fc.Arbitrary<RunScript['limits']> = fc
  .record({
    buffers,
    relay: mostly(2, fc.constant(plenty), small),
    queue: mostly(3, fc.constant(1000), fc.constantFrom(1, 2)),
    connections: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ buffers: kept, ...rest }) => ({ ...kept, ...rest }));

/** Runs of one to six calls that share backends, buffers and the bucket. */
export const runs: fc.Arbitrary<RunScript> = fc.record({
  config,
  limits,
  randoms: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1, maxLength: 5 }),
  alarmsLate: mostly(4, fc.constant(0), fc.constantFrom(0.5, 2, 7)),
  clientLatency: fc.constantFrom(0, 0, 1, 2),
  clientWindow: mostly(2, fc.constant(65_535), fc.constantFrom(10, 100)),
  proxyWindow: mostly(2, fc.constant(262_144), fc.constantFrom(20, 100)),
  warmup: mostly(5, fc.constant(20), fc.constantFrom(0, 2)),
  backends: fc.array(backend, { minLength: 1, maxLength: 3 }),
  calls: fc.array(call, { minLength: 1, maxLength: 6 }),
  pin: mostly(3, fc.constant('strict' as const), fc.constant('first-attempt' as const)),
  pinSameBackendRetry: fc.boolean(),
  clientLost: maybe(12, fc.record({ at: long, connection: fc.integer({ min: 0, max: 1 }) })),
  abandonAt: maybe(12, long),
});
