import type { EndedBy, Pushback, Reach } from '../../src/grpc/attempt-facts.js';
import type { StopReason } from '../../src/grpc/stop-reason.js';
import type { BufferLimit, Plan } from '../../src/policy/types.js';

/** What becomes of one attempt; times in whole milliseconds. */
export interface AttemptScript {
  /** Null: none is found. */
  readonly backend: string | null;
  /** After its start; null: no response headers. */
  readonly headersAfter: number | null;
  readonly lasts: number;
  readonly code: number;
  readonly reach: Reach;
  readonly pushback: Pushback;
  readonly by: EndedBy;
}

/** What ends a call from outside. */
export type Interruption =
  | { readonly kind: 'aborted'; readonly by: 'client' | 'shutdown'; readonly at: number }
  | { readonly kind: 'rejected'; readonly at: number };

/** All that will happen to one call. Overflow and interruption fall on odd fractions, so that only the deadline meets others. */
export interface CallScript {
  readonly plan: Plan;
  readonly policy: 'on' | 'off';
  readonly deadline: number | null;
  readonly maxTransparent: number;
  /** The attempts in turn; one past the end is like the last. */
  readonly attempts: readonly [AttemptScript, ...AttemptScript[]];
  readonly overflow: { readonly at: number; readonly limit: BufferLimit } | null;
  readonly interruption: Interruption | null;
  /** One for the wait after each attempt, in turn. */
  readonly randoms: readonly [number, ...number[]];
}

/** A token bucket in thousandths. */
export interface Bucket {
  readonly max: number;
  readonly ratio: number;
  tokens: number;
}

export function attemptScript({ attempts }: CallScript, n: number): AttemptScript {
  return attempts[n - 1] ?? (attempts.at(-1) as AttemptScript);
}

export function randomAfter({ randoms }: CallScript, n: number): number {
  return randoms[(n - 1) % randoms.length] as number;
}

/**
 * A second reckoning of a call, made the other way round: no states and no events, one attempt after the other with all of
 * its future known, as A6 tells it (a6, 10). Good for one attempt at a time; takes its tokens from the bucket.
 *
 * @param t0 when the call begins
 * @param eager what is due at the same instant as an event is done before it
 * @returns all that the machine must decide, with the times
 */
export function reckon(script: CallScript, bucket: Bucket, t0: number, eager: boolean): string[] {
  const { plan, policy, maxTransparent } = script;
  const lines: string[] = [];
  const deadline = script.deadline === null ? Number.POSITIVE_INFINITY : t0 + script.deadline;
  const interruptedAt = script.interruption === null ? Number.POSITIVE_INFINITY : t0 + script.interruption.at;
  const overflowAt = script.overflow === null ? Number.POSITIVE_INFINITY : t0 + script.overflow.at;
  const endsAt = Math.min(deadline, interruptedAt);
  const hasPolicy = plan.kind === 'retry' && policy === 'on';

  /** The call ends from outside, with attempt n running or none. */
  const end = (running: number | null): string[] => {
    const [why, told] = outsideEnd(script, deadline <= interruptedAt);
    if (running !== null) lines.push(`${endsAt} cancel ${running} ${why}`);
    lines.push(`${endsAt} finish ${told}`);
    return lines;
  };
  const stop = (at: number, from: number, reason: StopReason): string[] => {
    lines.push(`${at} finish ${from} ${reason}`);
    return lines;
  };
  const debit = (at: number): void => {
    bucket.tokens = Math.max(0, bucket.tokens - 1000);
    lines.push(`${at} debit`);
  };

  if (deadline <= t0) return end(null);
  let at = t0;
  let cause = 'first';
  let policyAttempts = 1;
  let previous = 0;
  let exponent = 0;
  let unsent = 0;
  let refused = 0;
  let committed: string | null = null;
  let spoke: number | null = null;
  let allUnplaced = true;
  const tried: string[] = [];

  for (let n = 1; ; n += 1) {
    const attempt = attemptScript(script, n);
    const over = at + attempt.lasts;
    lines.push(`${at} ${cause} ${n} previous ${previous} avoid ${tried.join()}`);
    if (attempt.backend !== null && !tried.includes(attempt.backend)) tried.push(attempt.backend);

    const headersAt = attempt.headersAfter === null ? Number.POSITIVE_INFINITY : at + attempt.headersAfter;
    const overflowSeenAt = Math.max(at, overflowAt);
    const commits = [
      { at: headersAt, cause: 'headers' },
      { at: overflowSeenAt, cause: `buffer_${script.overflow?.limit}` },
    ].sort((a, b) => a.at - b.at || (a.cause === 'headers' ? 1 : -1));
    for (const commit of commits) {
      if (committed !== null || commit.at >= endsAt || commit.at > over) continue;
      committed = commit.cause;
      lines.push(`${commit.at} commit ${n} ${committed}`);
    }

    const ok = attempt.code === 0;
    const listed = plan.kind === 'retry' && plan.retryable.has(attempt.code);
    const wanted = !ok && attempt.reach !== 'dropped' && (listed || attempt.pushback.kind === 'never');
    if (over > endsAt || (attempt.headersAfter !== null && headersAt === endsAt) || (over === endsAt && eager))
      return end(n);
    if (over === endsAt) {
      if (wanted) debit(over);
      return end(null);
    }
    if (ok) {
      bucket.tokens = Math.min(bucket.max, bucket.tokens + bucket.ratio);
      lines.push(`${over} credit`);
      if (committed === null) lines.push(`${over} commit ${n} ok`);
      return stop(over, n, 'ok');
    }

    allUnplaced &&= attempt.reach === 'unplaced';
    if (attempt.reach === 'processed' || attempt.reach === 'refused') spoke = n;
    const from = spoke ?? n;
    if (attempt.reach === 'unsent' && committed !== 'headers' && unsent < maxTransparent) {
      unsent += 1;
      cause = 'transparent';
      at = over;
      continue;
    }
    if (attempt.reach === 'refused' && committed === null && refused === 0) {
      refused += 1;
      cause = 'transparent';
      at = over;
      continue;
    }
    if (wanted) debit(over);
    if (attempt.reach === 'dropped') return stop(over, from, 'overloaded');
    if (committed !== null) {
      if (attempt.by === 'loss') return stop(over, from, 'backend_lost');
      if (!hasPolicy) return stop(over, from, 'no_policy');
      if (!listed) return stop(over, from, 'fatal_status');
      if (attempt.pushback.kind === 'never') return stop(over, from, 'pushback');
      return stop(over, from, committed === 'headers' ? 'committed' : 'buffer_exceeded');
    }
    const named = (reason: StopReason): StopReason => (allUnplaced ? 'no_backend' : reason);
    if (!hasPolicy) return stop(over, from, named('no_policy'));
    if (!listed) return stop(over, from, named('fatal_status'));
    if (attempt.pushback.kind === 'never') return stop(over, from, named('pushback'));
    if (policyAttempts === plan.maxAttempts) return stop(over, from, named('attempts_exhausted'));
    if (bucket.tokens * 2 <= bucket.max) return stop(over, from, named('throttled'));

    if (attempt.pushback.kind === 'after') {
      at = over + attempt.pushback.ms;
      exponent = 0;
    } else {
      let base: number = plan.initialBackoff;
      for (let i = 0; i < exponent; i += 1) base *= plan.multiplier;
      at = over + Math.min(base, plan.maxBackoff) * (0.8 + 0.4 * randomAfter(script, n));
      exponent += 1;
    }
    if (at >= deadline) return stop(over, from, named('backoff_beyond_deadline'));
    if (at >= endsAt) return end(null);
    cause = 'retry';
    previous = policyAttempts;
    policyAttempts += 1;
  }
}

function outsideEnd({ interruption }: CallScript, byDeadline: boolean): readonly [why: string, told: string] {
  if (byDeadline || interruption === null) return ['deadline', 'DEADLINE_EXCEEDED deadline_exceeded'];
  if (interruption.kind === 'rejected') return ['rejected', 'RESOURCE_EXHAUSTED message_too_large'];
  return interruption.by === 'client'
    ? ['client', 'CANCELLED client_cancelled']
    : ['shutdown', 'UNAVAILABLE drain_timeout'];
}
