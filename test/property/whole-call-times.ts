import { allOf } from '../support/call-log.js';
import { type CallFacts, endOf, hasPolicy, recordOf } from './whole-call-facts.js';

/** Rounding of decimal milliseconds. */
const hair = 1e-6;

const unitMs: Readonly<Record<string, number>> = { n: 1e-6, u: 1e-3, m: 1, S: 1000, M: 60_000, H: 3_600_000 };

/** Deadlines, backoffs, pushbacks and hedging delays as A6 has them. */
export function brokenTimes(facts: CallFacts, complain: (what: string) => void): void {
  const { deadline, streams } = facts;
  const end = endOf(facts);
  if (end !== null && end.at > deadline) complain(`ended ${end.at - deadline} ms after its deadline`);
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
  if (facts.policy.kind === 'hedge') hedgeWaits(facts, complain);
}

/** One attempt after the other: each wait is the last pushback, or the next backoff since it (A6, Exponential Backoff). */
function retryWaits({ policy, streams, records }: CallFacts, complain: (what: string) => void): void {
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
    if (typeof pushback === 'number') {
      waits = 0;
      if (wait !== pushback) complain(`a retry after ${wait} ms, pushed back by ${pushback}`);
      return;
    }
    const base = Math.min(policy.initialBackoff * policy.multiplier ** waits, policy.maxBackoff);
    waits += 1;
    if (wait < base * 0.8 - hair || wait > base * 1.2 + hair)
      complain(`retry ${i + 1} after ${wait} ms where the backoff is ${base} ms`);
  });
}

/** Hedges leave hedgingDelay apart, sooner after a failure, later after a pushback, and never together with more than that. */
function hedgeWaits({ policy, streams, records }: CallFacts, complain: (what: string) => void): void {
  const hedges = (records[0]?.record.attempts ?? []).filter(({ cause }) => cause !== 'transparent');
  const ends = streams.map(({ end }) => end).filter((end) => end !== null);
  hedges.forEach((hedge, i) => {
    const before = hedges[i - 1];
    if (before === undefined) return;
    const wait = hedge.startedAt - before.startedAt;
    const unplaced = (records[0]?.record.attempts ?? []).some(({ backend, endedAt, startedAt }) => {
      return backend === null && endedAt >= before.startedAt && endedAt <= hedge.startedAt && startedAt <= endedAt;
    });
    const touched =
      unplaced ||
      ends.some(({ at, pushback }) =>
        typeof pushback === 'number' ? at <= hedge.startedAt : at >= before.startedAt && at <= hedge.startedAt,
      );
    if (!touched && Math.abs(wait - policy.delay) > hair)
      complain(`hedge ${i} left ${wait} ms after the one before, where the delay is ${policy.delay} ms`);
  });
}

/** The record's times lie within the call's. */
export function recordedTimes(facts: CallFacts): boolean {
  const record = recordOf(facts);
  return record?.attempts.every(({ startedAt, endedAt }) => startedAt <= endedAt && endedAt <= record.endedAt) ?? true;
}
