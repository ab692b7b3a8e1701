import type fc from 'fast-check';
import { afterEach, describe, it, vi } from 'vitest';
import type { processedBy, storyOf } from '../../src/proxy/story.js';
import type { RunScript } from '../support/call-script.js';
import { mustFind } from './whole-call-find.js';
import { crowds, losses, refusals } from './whole-call-special.js';

type StoryParts = { readonly processedBy: typeof processedBy; readonly storyOf: typeof storyOf };
type StoryFault = (real: StoryParts) => Partial<StoryParts>;

const story = vi.hoisted((): { fault: StoryFault } => ({ fault: () => ({}) }));

vi.mock('../../src/proxy/story.js', async (load) => {
  const real = await load<StoryParts & { readonly retriesOf: unknown }>();
  return {
    ...real,
    processedBy: (...args: Parameters<typeof processedBy>) => ({ ...real, ...story.fault(real) }).processedBy(...args),
    storyOf: (...args: Parameters<typeof storyOf>) => ({ ...real, ...story.fault(real) }).storyOf(...args),
  };
});

/** Faults in what a call's attempts are added up to. */
const storyFaults: readonly (readonly [
  what: string,
  fault: StoryFault,
  seen: RegExp,
  drawn?: fc.Arbitrary<RunScript>,
])[] = [
  [
    'a `no` of a backend that had sent headers before it refused',
    (real) => ({
      processedBy(attempts) {
        const last = attempts.at(-1);
        const refused = last?.end?.message.includes('REFUSED_STREAM') === true && last.hasAnswered;
        return refused && attempts.length === 1 ? 'no' : real.processedBy(attempts);
      },
    }),
    /processed no, reckoned unknown/,
    refusals,
  ],
  [
    'a `no` of what was cancelled in flight',
    () => ({ processedBy: (attempts) => (attempts.some(({ end }) => end?.reach === 'processed') ? 'unknown' : 'no') }),
    /processed no, and an application at \w got/,
  ],
  [
    'an `unknown` of what was refused',
    () => ({ processedBy: (attempts) => (attempts.some(({ dispatched }) => dispatched > 0) ? 'unknown' : 'no') }),
    /told hedgerow-processed unknown, reckoned no/,
  ],
  [
    'a hedge forgotten where only its repeat was sent',
    (real) => ({
      storyOf: (attempts, ...rest) => ({
        ...real.storyOf(attempts, ...rest),
        hedged: attempts.some(({ cause, dispatched, end }) => {
          return cause === 'hedge' && dispatched > 0 && end?.reach !== 'unsent';
        }),
      }),
    }),
    /told hedgerow-hedged nothing, reckoned true/,
    losses,
  ],
  [
    'a hedge told where none was sent',
    (real) => ({
      storyOf: (attempts, ...rest) => ({
        ...real.storyOf(attempts, ...rest),
        hedged: attempts.some(({ hedge }) => hedge),
      }),
    }),
    /told hedgerow-hedged true, reckoned nothing/,
    crowds,
  ],
  [
    'backends in the order in which attempts were started',
    (real) => ({
      storyOf: (attempts, told, ...rest) =>
        real.storyOf(
          attempts.map((attempt, i) =>
            Object.assign(Object.create(attempt), { dispatched: attempt.dispatched && i + 1 }),
          ),
          told,
          ...rest,
        ),
    }),
    /told hedgerow-backends/,
  ],
  [
    'backends that were sent nothing among those that were',
    (real) => ({
      storyOf: (attempts, told, ...rest) =>
        real.storyOf(
          attempts.map((attempt) =>
            attempt.end?.reach === 'unsent' && attempt.dispatched > 0
              ? Object.assign(Object.create(attempt), { end: { ...attempt.end, reach: 'processed' } })
              : attempt,
          ),
          told,
          ...rest,
        ),
    }),
    /told hedgerow-backends \S+, reckoned nothing/,
    losses,
  ],
  [
    'the backend that answered where it was sent to',
    (real) => ({ storyOf: (attempts, _told, ...rest) => real.storyOf(attempts, null, ...rest) }),
    /told hedgerow-backends/,
  ],
  [
    'retries that count transparent ones',
    (real) => ({
      storyOf: (attempts, ...rest) => ({
        ...real.storyOf(attempts, ...rest),
        retries: Math.max(0, attempts.length - 1),
      }),
    }),
    /told hedgerow-retries \d+, reckoned \d+/,
  ],
];

describe('the property over whole calls, of what is told', () => {
  afterEach(() => {
    story.fault = () => ({});
  });

  for (const [what, fault, seen, drawn] of storyFaults)
    it(`finds ${what}`, () => {
      story.fault = fault;
      mustFind(seen, {}, drawn);
    }, 60_000);
});
