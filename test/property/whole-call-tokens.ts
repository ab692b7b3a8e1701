import type { RunScript } from '../support/call-script.js';
import type { VirtualProxy } from '../support/virtual-proxy.js';
import { endsSeen } from './whole-call-ends.js';
import { type CallFacts, recordOf, strictPin, throttlingOf } from './whole-call-facts.js';

/** One count that A6 asks for, and when. */
interface Count {
  readonly at: number;
  readonly as: 'failure' | 'success';
  readonly call: number;
}

/**
 * A6, Throttling, reckoned from what the wire said: a token for each attempt that failed with a listed code or a do-not-retry
 * pushback, the ratio back for each that succeeded, none for what was repeated transparently or cancelled. Compared instant by
 * instant; within one the order is the proxy's own.
 */
export function brokenTokens(script: RunScript, proxy: VirtualProxy, calls: readonly CallFacts[]): string[] {
  const broken: string[] = [];
  const expected = calls.flatMap(countsOf);
  const instants = new Map<number, { wanted: Count[]; got: ('failure' | 'success')[] }>();
  const instant = (at: number): { wanted: Count[]; got: ('failure' | 'success')[] } => {
    const known = instants.get(at) ?? { wanted: [], got: [] };
    instants.set(at, known);
    return known;
  };
  for (const count of expected) instant(count.at).wanted.push(count);
  const throttling = throttlingOf(script.config);
  let tokens = throttling?.max ?? 0;
  const levels: Level[] = [];
  for (const entry of proxy.log.entries) {
    if (entry.kind !== 'counted') continue;
    instant(entry.at).got.push(entry.as);
    if (throttling === null) continue;
    tokens =
      entry.as === 'failure' ? Math.max(0, tokens - 1000) : Math.min(throttling.max, tokens + throttling.perSuccess);
    levels.push({ at: entry.at, as: entry.as, to: tokens });
  }
  for (const [at, { wanted, got }] of instants) {
    const told = wanted.map(({ as }) => as).sort();
    if (told.join() === [...got].sort().join()) continue;
    const whose = wanted.map(({ call, as }) => `${as} of call ${call}`);
    broken.push(`tokens at ${at}: counted ${got.join() || 'nothing'}, reckoned ${whose.join() || 'nothing'}`);
  }
  const { state } = proxy.throttle;
  if ((state?.milliTokens ?? null) !== (throttling === null ? null : tokens))
    broken.push(`tokens: ${state?.milliTokens} left, reckoned ${tokens}`);
  if (throttling !== null) for (const facts of calls) broken.push(...shutAttempts(facts, throttling.max, levels));
  return broken;
}

/** What one count did to the bucket. */
interface Level {
  readonly at: number;
  readonly as: 'failure' | 'success';
  readonly to: number;
}

/** No retry and no hedge is made while the bucket is at half or under (A6, Throttling). */
function shutAttempts(facts: CallFacts, max: number, levels: readonly Level[]): string[] {
  const attempts = recordOf(facts)?.attempts ?? [];
  return attempts.flatMap((attempt, i) => {
    const { cause, startedAt } = attempt;
    const judged = cause === 'hedge' ? startedAt : cause === 'retry' ? (attempts[i - 1]?.endedAt ?? null) : null;
    if (judged === null) return [];
    const during = levels.filter(({ at }) => at === judged);
    const before = levels.findLast(({ at }) => at < judged)?.to ?? max;
    // A retry is judged when its failure has taken its token, a hedge when it is due (THR-20).
    const possible =
      cause === 'retry'
        ? during.filter(({ as }) => as === 'failure').map(({ to }) => to)
        : [before, ...during.map(({ to }) => to)];
    if (possible.some((tokens) => tokens * 2 > max)) return [];
    return [`call ${facts.call}: a ${cause} at ${startedAt} past a shut throttle`];
  });
}

/** What one call is to count. */
export function countsOf(facts: CallFacts): Count[] {
  const { call, policy, deadline } = facts;
  const counts: Count[] = [];
  for (const { end, at, repeated } of endsSeen(facts)) {
    if (end.code === 0) {
      if (at < deadline) counts.push({ at, as: 'success', call });
    } else if (!repeated && (policy.codes.has(end.code) || end.pushback === 'never'))
      counts.push({ at, as: 'failure', call });
  }
  for (const at of unplacedAt(facts)) if (policy.codes.has(14)) counts.push({ at, as: 'failure', call });
  return counts;
}

/**
 * When attempts ended that found no backend. They left nothing on the wire: the record alone tells of them, and of those that lost
 * their place in a queue and were repeated at once. A strict pin that cannot be had and a drop take no token.
 */
function unplacedAt(facts: CallFacts): number[] {
  if (strictPin(facts) !== null) return [];
  const attempts = recordOf(facts)?.attempts ?? [];
  const repeats = attempts.filter(({ cause }) => cause === 'transparent').map(({ startedAt }) => startedAt);
  // Those that follow from what the wire said are spoken for.
  for (const { at, repeated } of endsSeen(facts)) if (repeated) strike(repeats, at);
  return attempts
    .filter(({ backend, result, message }) => {
      return backend === null && result !== 'cancelled' && !message.includes('--queue-limit');
    })
    .map(({ endedAt }) => endedAt)
    .filter((at) => !strike(repeats, at));
}

function strike(list: number[], value: number): boolean {
  const place = list.indexOf(value);
  if (place >= 0) list.splice(place, 1);
  return place >= 0;
}
