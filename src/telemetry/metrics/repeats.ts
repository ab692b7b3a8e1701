import { Status } from '../../grpc/status.js';
import type { MeteredAttempt, MeteredCall } from '../../proxy/meters.js';
import type { PinOutcome, RetryReason } from './labels.js';

/*
 * What a call's attempts add up to. Asked at the end of calls that had more than one, or were bound to a backend.
 */

/**
 * Time within a call in which no attempt was active, after its first (A96).
 *
 * @param attempts in order of start
 * @param endedAt of the call (clock ms)
 * @returns milliseconds
 */
export function delayOf(attempts: readonly MeteredAttempt[], endedAt: number): number {
  let active = Number.POSITIVE_INFINITY;
  let delay = 0;
  for (const attempt of attempts) {
    if (attempt.startedAt > active) delay += attempt.startedAt - active;
    active = active === Number.POSITIVE_INFINITY ? attempt.endedAt : Math.max(active, attempt.endedAt);
  }
  return endedAt > active ? delay + endedAt - active : delay;
}

/** What made a retry: the end of the attempt before it. */
export function retryReasonOf(before: MeteredAttempt | undefined): RetryReason {
  const end = before?.end ?? null;
  if (end === null) return 'status';
  if (end.by === 'loss') return 'backend_lost';
  if (end.reach === 'unplaced') return 'pick_failure';
  return end.pushback.kind === 'after' ? 'pushback' : 'status';
}

/** Whether a hedge, or the transparent repeat of it, gave the call its answer. */
export function hasWon(hedge: MeteredAttempt, { winner }: MeteredCall, ok: boolean): boolean {
  return ok && winner !== null && winner.previous === hedge.previous;
}

/**
 * Whether a call that ended OK would have failed without its policy: its first policy attempt, or the transparent repeat of
 * it, failed, so that another one answered. One that was cancelled for a hedge's answer might have answered too.
 */
export function isSaved({ attempts }: MeteredCall, ok: boolean): boolean {
  const end = lastFirst(attempts)?.end ?? null;
  return ok && end !== null && end.code !== Status.OK;
}

/** A call's first policy attempt as it ended: the last of its transparent repeats. */
export function lastFirst(attempts: readonly MeteredAttempt[]): MeteredAttempt | undefined {
  return attempts.findLast(({ previous }) => previous === 0);
}

/** What a pin, or a session, did for a call that is over; null where it had none. `moved`: another backend answered (D23). */
export function pinOutcomeOf(call: MeteredCall, code: number, reason: string): PinOutcome | null {
  const { placement, winner, seat } = call;
  if (placement.kind === 'any') return null;
  if (code !== Status.OK) return refusals.has(reason) ? 'refused' : 'failed';
  const backend = winner?.backend ?? null;
  if (placement.kind === 'only' || backend === null) return 'served';
  const target = placement.by === 'session' ? (seat?.backend ?? null) : placement.target;
  return target === null || target === backend.id || target === backend.name ? 'served' : 'moved';
}

const refusals: ReadonlySet<string> = new Set([
  'pin_unknown',
  'pinned_backend_unavailable',
  'pinned_backend_busy',
  'session_lost',
]);
