import type { Reach } from '../../src/grpc/attempt-facts.js';
import { type BackendId, backendId } from '../../src/grpc/backend-id.js';
import { millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import type { BufferLimit, CallEvent, HedgePlan, Placement, Plan } from '../../src/policy/types.js';

export type End = Omit<Extract<CallEvent, { type: 'attemptEnded' }>, 'type' | 'attempt'>;

/** One call's world: its plan, what its client asked for, and what its attempts may meet. All of that is tried in every order. */
export interface World {
  readonly name: string;
  readonly plan: Plan;
  readonly policy: 'on' | 'off';
  /** Milliseconds from the start. */
  readonly deadline: number | null;
  readonly placement: Placement;
  /** How attempts end here. */
  readonly ends: readonly End[];
  /** Where attempts are placed here. */
  readonly backends: readonly BackendId[];
  readonly limits: readonly BufferLimit[];
  /** The most repeats of never-sent attempts. */
  readonly maxTransparent: number;
  /** What is due may also be noticed late. */
  readonly late: boolean;
}

export const listed = Status.UNAVAILABLE;
const none: End['pushback'] = { kind: 'none' };
const never: End['pushback'] = { kind: 'never' };

function after(ms: number): End['pushback'] {
  return { kind: 'after', ms: millis(ms) };
}

/**
 * Every mix of code, reach, pushback and author. Left out: `by: 'proxy'`, which nothing tells from `by: 'backend'`, and what an
 * OK says beside its being one. Of the pushbacks one is shorter and one longer than the delays below.
 */
const allEnds: readonly End[] = [
  ...[none, never].map((pushback): End => ({ code: Status.OK, reach: 'processed', pushback, by: 'backend' })),
  ...[listed, Status.INTERNAL].flatMap((code) =>
    (['unsent', 'refused', 'unplaced', 'dropped', 'processed'] satisfies Reach[]).flatMap((reach) =>
      [none, never, after(0), after(30), after(150)].flatMap((pushback) =>
        (['backend', 'loss'] as const).map((by): End => ({ code, reach, pushback, by })),
      ),
    ),
  ),
];

const retry: Plan = {
  kind: 'retry',
  maxAttempts: 3,
  initialBackoff: millis(100),
  maxBackoff: millis(150),
  multiplier: 2,
  retryable: new Set([listed]),
};

function hedge(change: Partial<HedgePlan>): Plan {
  return { kind: 'hedge', maxAttempts: 3, delay: millis(100), nonFatal: new Set([listed]), ...change };
}

const anywhere: Placement = { kind: 'any' };
const strict: Placement = { kind: 'only', target: 'a', by: 'pin', again: false };
const again: Placement = { ...strict, again: true };
const firstOnly: Placement = { kind: 'firstOnly', target: 'a', by: 'session' };

const bare: Omit<World, 'name'> = {
  plan: { kind: 'none' },
  policy: 'on',
  deadline: null,
  placement: anywhere,
  ends: allEnds,
  backends: ['a', 'b'].map(backendId),
  limits: ['call', 'total'],
  maxTransparent: 2,
  late: true,
};

/**
 * Where several attempts run at once. Left out: where they were placed. The worlds above have it, and the machine only hands it
 * on, as `avoid`.
 */
const many: Omit<World, 'name'> = { ...bare, backends: [] };

/**
 * With a deadline among waits that can still be begun. Left out, as the same worlds without a deadline have them and they meet
 * it in nothing: late alarms, which are those at the deadline where they matter, and a second repeat of a never-sent attempt.
 */
const timed = { deadline: 260, late: false, maxTransparent: 1 } as const;

export const worlds: readonly World[] = [
  { ...bare, name: 'no policy' },
  { ...bare, name: 'no policy, a deadline', deadline: 260 },
  { ...bare, name: 'retry', plan: retry },
  { ...bare, ...timed, name: 'retry, a deadline', plan: retry },
  { ...bare, name: 'retry, a deadline that is over', plan: retry, deadline: 0 },
  { ...bare, name: 'retry, switched off, a deadline', plan: retry, policy: 'off', deadline: 260 },
  { ...bare, name: 'a strict pin, no policy', placement: strict },
  { ...bare, name: 'a strict pin, retry, a deadline', plan: retry, placement: strict, deadline: 260 },
  { ...bare, name: 'a strict pin, retry on the target itself', plan: retry, placement: again },
  { ...bare, name: 'a pin for the first attempt, retry', plan: retry, placement: firstOnly },
  { ...bare, name: 'a strict pin, hedges, a deadline', plan: hedge({}), placement: strict, deadline: 260 },
  { ...bare, name: 'a strict pin, hedges, retry on the target itself', plan: hedge({}), placement: again },
  { ...bare, name: 'hedges, switched off', plan: hedge({}), policy: 'off' },
  { ...many, name: 'hedges', plan: hedge({}) },
  { ...many, ...timed, name: 'hedges, a deadline', plan: hedge({}) },
  { ...many, name: 'hedges at once', plan: hedge({ delay: millis(0) }) },
  { ...many, name: 'hedges at once, a deadline', plan: hedge({ delay: millis(0) }), deadline: 100 },
  { ...many, ...timed, name: 'hedges, every failure fatal', plan: hedge({ nonFatal: new Set() }) },
  { ...many, name: 'a pin for the first attempt, hedges', plan: hedge({}), placement: firstOnly },
  { ...many, name: 'four hedges', plan: hedge({ maxAttempts: 4 }), maxTransparent: 1 },
];

/** What the wire brings, without mixes that it cannot: enough for a planted defect to show. */
const wireEnds: readonly End[] = [
  { code: Status.OK, reach: 'processed', pushback: none, by: 'backend' },
  ...[none, never, after(0), after(30), after(150)].map(
    (pushback): End => ({ code: listed, reach: 'processed', pushback, by: 'backend' }),
  ),
  ...(['unsent', 'refused', 'unplaced', 'dropped'] satisfies Reach[]).map(
    (reach): End => ({ code: listed, reach, pushback: none, by: 'proxy' }),
  ),
  ...[none, never].map((pushback): End => ({ code: Status.INTERNAL, reach: 'processed', pushback, by: 'backend' })),
];

const small: Omit<World, 'name'> = {
  ...bare,
  ends: wireEnds,
  backends: [],
  limits: ['call'],
  maxTransparent: 1,
  late: false,
};

/** The worlds in which planted defects are looked for, small ones first. */
export const controls: readonly World[] = [
  { ...small, name: 'no policy', backends: ['a', 'b'].map(backendId) },
  { ...small, name: 'a strict pin, retry', plan: retry, placement: strict },
  { ...small, name: 'a strict pin, hedges', plan: hedge({}), placement: strict },
  { ...small, name: 'retry', plan: retry },
  { ...small, name: 'retry on the target itself', plan: retry, placement: again },
  { ...small, name: 'a pin for the first attempt, retry', plan: retry, placement: firstOnly },
  { ...small, name: 'hedges', plan: hedge({}) },
  { ...small, name: 'retry, a deadline', plan: retry, deadline: 260 },
  { ...small, name: 'hedges, a deadline', plan: hedge({}), deadline: 260 },
];
