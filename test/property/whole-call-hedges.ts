import { endsSeen, type SeenEnd } from './whole-call-ends.js';
import { type CallFacts, endOf, recordOf } from './whole-call-facts.js';

/** Rounding of decimal milliseconds. */
const hair = 1e-6;

/** How far the reckoning has come. */
interface Standing {
  /** Policy attempts so far. */
  readonly made: number;
  /** When the next hedge is to leave; null: never. */
  readonly due: number | null;
  readonly pushedUntil: number | null;
}

/**
 * A6, Hedging and Pushback, reckoned from the failures alone: one attempt every hedgingDelay; the next at once after a failure,
 * but not before a pushback is served; none after one for good. What leaves must leave then; what does not leave must have a
 * reason: the commit, the end, the throttle.
 */
export function brokenHedges(facts: CallFacts, complain: (what: string) => void): void {
  const record = recordOf(facts);
  const attempts = record?.attempts ?? [];
  // What is late may be overtaken by what comes meanwhile.
  if (facts.late > 0) return;
  // Those that found no place leave no failure on the wire.
  if (record === null || attempts.some(({ result, backend }) => result === 'unplaced' || backend === null)) return;
  const starts = attempts.filter(({ cause }) => cause !== 'transparent').map(({ startedAt }) => startedAt);
  const failures = endsSeen(facts).filter(({ end, repeated }) => end.code !== 0 && !repeated);
  const [first] = starts;
  if (first === undefined) return;
  const why = reckon(facts, starts, failures, { made: 1, due: first + facts.policy.delay, pushedUntil: null });
  if (why !== null) complain(why);
}

/** Null where what left fits. */
function reckon(
  facts: CallFacts,
  starts: readonly number[],
  failures: readonly SeenEnd[],
  standing: Standing,
): string | null {
  const [failure, ...later] = failures;
  if (failure === undefined) return rest(facts, starts, standing);
  const { at } = failure;
  const left = leave(facts, starts, standing);
  const { due } = standing;
  if (left !== null && due !== null && due < at) return reckon(facts, starts, failures, left);
  // The reckoning is behind: a hedge that was due has not left.
  if (due !== null && due < at && standing.made < facts.policy.maxAttempts) return rest(facts, starts, standing);
  // What is due in the instant of a failure leaves before it or after it.
  const before = left !== null && due === at ? reckon(facts, starts, failures, left) : 'it left in no such instant';
  return before === null ? null : reckon(facts, starts, later, fail(facts, failure, standing));
}

/** After the next hedge, where one left when it was due; else null. */
function leave({ policy }: CallFacts, starts: readonly number[], { made, due }: Standing): Standing | null {
  const at = starts[made];
  if (due === null || made >= policy.maxAttempts || at === undefined || Math.abs(at - due) > hair) return null;
  return { made: made + 1, due: due + policy.delay, pushedUntil: null };
}

function fail({ policy, deadline }: CallFacts, { at, end }: SeenEnd, standing: Standing): Standing {
  const never: Standing = { ...standing, due: null, pushedUntil: null };
  if (standing.due === null || !policy.codes.has(end.code)) return never;
  switch (end.pushback) {
    case 'never':
      return never;
    case 'none':
      return standing.pushedUntil === null ? { ...standing, due: at } : standing;
    default: {
      const until = at + end.pushback;
      if (until >= deadline) return never;
      const sooner = standing.pushedUntil !== null && standing.pushedUntil >= until;
      return sooner ? standing : { ...standing, due: until, pushedUntil: until };
    }
  }
}

/** No failure is left: the hedges that are due leave one after the other. */
function rest(facts: CallFacts, starts: readonly number[], standing: Standing): string | null {
  const left = leave(facts, starts, standing);
  if (left !== null) return rest(facts, starts, left);
  const { made, due } = standing;
  const most = facts.policy.maxAttempts;
  if (starts.length > made)
    return `hedge ${made} left at ${starts[made]}, due ${made < most ? (due ?? 'never') : 'no more'}`;
  const over = endOf(facts)?.at ?? 0;
  const held = due === null || recordOf(facts)?.commit !== null || made === most || facts.throttled;
  return !held && due < over ? `hedge ${made} was due at ${due} and never left` : null;
}
