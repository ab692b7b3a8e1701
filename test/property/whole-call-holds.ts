import type { StopReason } from '../../src/grpc/stop-reason.js';
import { endsSeen } from './whole-call-ends.js';
import { type CallFacts, hasPolicy, previousOf, recordOf, strictPin } from './whole-call-facts.js';

/** Reasons that keep further hedges back while some are in flight (D12, "wait for siblings"). */
const holds: ReadonlySet<StopReason> = new Set<StopReason>([
  'pushback',
  'attempts_exhausted',
  'backoff_beyond_deadline',
]);

/**
 * D12: where hedges are in flight the first failure that rules further ones out names the end of the call, whatever the ones
 * after it would have said. Reckoned where each attempt had its place at once, so that the log has the order, and no bucket counts.
 */
export function brokenHolds(facts: CallFacts, complain: (what: string) => void): void {
  const { policy, streams, deadline } = facts;
  const record = recordOf(facts);
  if (record === null || policy.kind !== 'hedge' || !hasPolicy(facts) || strictPin(facts) !== null) return;
  if (facts.throttled || facts.late > 0 || record.commit !== null || !holds.has(record.reason)) return;
  const starts = record.attempts.map(({ startedAt }) => startedAt).join();
  if (starts !== streams.map(({ opened }) => opened.at).join()) return;
  for (const { at, index, end, repeated } of endsSeen(facts)) {
    if (repeated || end.code === 0) continue;
    const before = streams.filter(({ opened }) => opened.index < index);
    const made = 1 + Math.max(...before.map((stream) => previousOf(facts, stream)));
    const { pushback } = end;
    let reason: StopReason | null = null;
    if (pushback === 'never') reason = 'pushback';
    else if (made === policy.maxAttempts) reason = 'attempts_exhausted';
    else if (at + (pushback === 'none' ? 0 : pushback) >= deadline) reason = 'backoff_beyond_deadline';
    if (reason === null) continue;
    if (reason !== record.reason)
      complain(`stop reason ${record.reason}, ${reason} had ruled further hedges out before`);
    return;
  }
  complain(`stop reason ${record.reason}, and no failure ruled further hedges out`);
}
