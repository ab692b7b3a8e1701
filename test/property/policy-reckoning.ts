import type { StopReason } from '../../src/grpc/stop-reason.js';
import {
  attemptScript,
  type Bucket,
  type CallScript,
  credit,
  debit,
  isShut,
  listsCode,
  outsideEnd,
  type Reckoning,
  randomAfter,
  reasonAfterCommit,
  whereTo,
} from './policy-scripts.js';

/**
 * A second reckoning of a call, made the other way round: no states and no events, one attempt after the other with all of
 * its future known, as A6 tells it (a6, 10). Good for one attempt at a time; takes its tokens from the bucket.
 *
 * @param t0 when the call begins
 * @param eager what is due at the same instant as an event is done before it
 * @returns all that the machine must decide, with the times
 */
export function* reckon(script: CallScript, bucket: Bucket, t0: number, eager: boolean): Reckoning {
  const { plan, policy, placement, maxTransparent } = script;
  const lines: string[] = [];
  const deadline = script.deadline === null ? Number.POSITIVE_INFINITY : t0 + script.deadline;
  const interruptedAt = script.interruption === null ? Number.POSITIVE_INFINITY : t0 + script.interruption.at;
  const overflowAt = script.overflow === null ? Number.POSITIVE_INFINITY : t0 + script.overflow.at;
  const endsAt = Math.min(deadline, interruptedAt);
  const strict = placement.kind === 'only';
  const again = placement.kind === 'only' && placement.again && plan.kind === 'retry';

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
  const take = (at: number): void => {
    debit(bucket);
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
    const to = whereTo(script, policyAttempts === 1);
    lines.push(`${at} ${cause} ${n} previous ${previous} avoid ${tried.join()}${to}`);
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
    const listed = listsCode(plan, attempt.code);
    const free = attempt.reach === 'dropped' || (strict && attempt.reach === 'unplaced');
    const wanted = !ok && !free && (listed || attempt.pushback.kind === 'never');
    if (over > endsAt || (attempt.headersAfter !== null && headersAt === endsAt) || (over === endsAt && eager))
      return end(n);
    yield over;
    if (over === endsAt) {
      if (wanted) take(over);
      return end(null);
    }
    if (ok) {
      credit(bucket);
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
    if (wanted) take(over);
    if (attempt.reach === 'dropped') return stop(over, from, strict ? 'pinned_backend_busy' : 'overloaded');
    if (strict && attempt.reach === 'unplaced') return stop(over, from, 'pinned_backend_unavailable');
    if (committed !== null) return stop(over, from, reasonAfterCommit(script, attempt, committed));
    if (strict && !again && attempt.by === 'loss') return stop(over, from, 'backend_lost');

    const named = (reason: StopReason): StopReason => (allUnplaced ? 'no_backend' : reason);
    if (plan.kind === 'none' || policy === 'off') return stop(over, from, named('no_policy'));
    if (!listed) return stop(over, from, named('fatal_status'));
    if (attempt.pushback.kind === 'never') return stop(over, from, named('pushback'));
    if (policyAttempts === plan.maxAttempts) return stop(over, from, named('attempts_exhausted'));
    if (isShut(bucket)) return stop(over, from, named('throttled'));

    if (attempt.pushback.kind === 'after') {
      at = over + attempt.pushback.ms;
      exponent = 0;
    } else if (plan.kind === 'hedge') {
      at = over;
    } else {
      let base: number = plan.initialBackoff;
      for (let i = 0; i < exponent; i += 1) base *= plan.multiplier;
      at = over + Math.min(base, plan.maxBackoff) * (0.8 + 0.4 * randomAfter(script, n));
      exponent += 1;
    }
    if (at >= deadline) return stop(over, from, named('backoff_beyond_deadline'));
    if (strict && !again) return stop(over, from, 'pinned');
    if (at >= endsAt) return end(null);
    cause = 'retry';
    previous = policyAttempts;
    policyAttempts += 1;
  }
}
