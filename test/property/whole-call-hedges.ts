import { endsSeen } from './whole-call-ends.js';
import { type CallFacts, endOf, recordOf } from './whole-call-facts.js';

/** Rounding of decimal milliseconds. */
const hair = 1e-6;

/**
 * A6, Hedging and Pushback, reckoned from the failures alone: one attempt every hedgingDelay; the next at once after a failure,
 * but not before a pushback is served; none after one for good. What leaves must leave then; what does not leave must have a
 * reason: the commit, the end, the throttle.
 */
export function brokenHedges(facts: CallFacts, complain: (what: string) => void): void {
  const { policy, deadline } = facts;
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
  let made = 1;
  let due = first + policy.delay;
  let pushedUntil: number | null = null;
  const start = (): boolean => {
    const at = starts[made];
    if (at === undefined || Math.abs(at - due) > hair) return false;
    made += 1;
    due += policy.delay;
    pushedUntil = null;
    return true;
  };
  let stopped = false;
  for (const { at, end } of failures) {
    // What is due in the same instant may have left before.
    while (made < policy.maxAttempts && due <= at && start());
    if (made < policy.maxAttempts && due < at) break;
    if (end.pushback === 'never') stopped = true;
    else if (typeof end.pushback === 'number') {
      const until: number = at + end.pushback;
      if (until >= deadline) stopped = true;
      else if (pushedUntil === null || pushedUntil < until) {
        pushedUntil = until;
        due = until;
      }
    } else if (pushedUntil === null) due = at;
    if (stopped || !policy.codes.has(end.code)) {
      stopped = true;
      break;
    }
  }
  if (!stopped) while (made < policy.maxAttempts && start());
  if (starts.length > made) {
    complain(
      `hedge ${made} left at ${starts[made]}, due ${stopped ? 'never' : made < policy.maxAttempts ? due : 'no more'}`,
    );
    return;
  }
  const over = endOf(facts)?.at ?? 0;
  const held = stopped || record.commit !== null || made === policy.maxAttempts || facts.throttled;
  if (!held && due < over) complain(`hedge ${made} was due at ${due} and never left`);
}
