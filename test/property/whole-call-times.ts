import { allOf } from '../support/call-log.js';
import { type CallFacts, endOf, hasPolicy, strictPin } from './whole-call-facts.js';
import { brokenHedges } from './whole-call-hedges.js';

/** Rounding of decimal milliseconds. */
const hair = 1e-6;

const unitMs: Readonly<Record<string, number>> = { n: 1e-6, u: 1e-3, m: 1, S: 1000, M: 60_000, H: 3_600_000 };

/** Deadlines, backoffs, pushbacks and hedging delays as A6 has them. */
export function brokenTimes(facts: CallFacts, complain: (what: string) => void): void {
  const { deadline, streams, late } = facts;
  const end = endOf(facts);
  if (end !== null && end.at > deadline + late) complain(`ended ${end.at - deadline} ms after its deadline`);
  let before = Number.POSITIVE_INFINITY;
  for (const { request, opened } of streams) {
    const values = allOf(request, 'grpc-timeout');
    const [value] = values;
    if (values.length > 1 || (value === undefined) !== (deadline === Number.POSITIVE_INFINITY)) {
      complain(`grpc-timeout ${values.join(' and ')}`);
      continue;
    }
    if (value === undefined) continue;
    const ms = Number(value.slice(0, -1)) * (unitMs[value.slice(-1)] ?? Number.NaN);
    const left = deadline - opened.at;
    if (!(ms > 0 && ms <= left + hair && ms > left - 1)) complain(`grpc-timeout ${value} with ${left} ms left`);
    if (ms > before) complain(`grpc-timeout grew to ${value}`);
    before = ms;
  }
  if (!hasPolicy(facts)) return;
  if (facts.policy.kind === 'retry') retryWaits(facts, complain);
  if (facts.policy.kind === 'hedge' && strictPin(facts) === null) brokenHedges(facts, complain);
}

/** One attempt after the other: each wait is the last pushback, or the next backoff since it (A6, Exponential Backoff). */
function retryWaits({ policy, streams, records, late }: CallFacts, complain: (what: string) => void): void {
  const attempts = records[0]?.record.attempts ?? [];
  const sent = [...streams];
  let waits = 0;
  attempts.forEach((attempt, i) => {
    const next = attempts[i + 1];
    const stream = attempt.backend === null ? undefined : sent.shift();
    if (next === undefined) return;
    const wait = next.startedAt - attempt.endedAt;
    if (next.cause === 'transparent') {
      if (wait !== 0) complain(`a transparent retry ${wait} ms late`);
      return;
    }
    const pushback = stream?.end?.pushback ?? 'none';
    if (pushback === 'never') complain('a retry that was pushed back for good');
    if (typeof pushback === 'number') {
      waits = 0;
      if (wait < pushback || wait > pushback + late) complain(`a retry after ${wait} ms, pushed back by ${pushback}`);
      return;
    }
    const base = Math.min(policy.initialBackoff * policy.multiplier ** waits, policy.maxBackoff);
    waits += 1;
    if (wait < base * 0.8 - hair || wait > base * 1.2 + late + hair)
      complain(`retry ${i + 1} after ${wait} ms where the backoff is ${base} ms`);
  });
}
