import type { StopReason } from '../../src/grpc/stop-reason.js';
import type { HedgePlan } from '../../src/policy/types.js';
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
  reasonAfterCommit,
  sentBy,
  whereTo,
} from './policy-scripts.js';

type Kind = 'overflow' | 'interruption' | 'placed' | 'headers' | 'end';

/** One attempt of the diary: what it was told and where it had to go, until it is over. */
interface Running {
  readonly n: number;
  readonly previous: number;
  readonly to: string;
}

/**
 * The second reckoning of a call that hedges: a diary. Nothing of what is to come is kept but the agenda of what will happen
 * to the attempts that run; when the next hedge is due is found anew each time, from the diary's last page (A6, Hedging).
 *
 * @param t0 when the call begins
 * @param eager what is due at the same instant as an event is done before it
 * @returns all that the machine must decide, with the times
 */
export function* reckonHedges(
  script: CallScript,
  plan: HedgePlan,
  bucket: Bucket,
  t0: number,
  eager: boolean,
): Reckoning {
  const lines: string[] = [];
  const deadline = script.deadline === null ? Number.POSITIVE_INFINITY : t0 + script.deadline;
  const agenda: { readonly at: number; readonly kind: Kind; readonly n: number }[] = [];
  if (script.overflow !== null) agenda.push({ at: t0 + script.overflow.at, kind: 'overflow', n: 0 });
  if (script.interruption !== null) agenda.push({ at: t0 + script.interruption.at, kind: 'interruption', n: 0 });

  let running: Running[] = [];
  let sent = 0;
  let hedges = 0;
  let repeatsOfUnsent = 0;
  let refusedBefore = false;
  let committed: string | null = null;
  /** Why no more are sent: the first reason that there was. */
  let closed: StopReason | null = null;
  let spoke: number | null = null;
  let latest = 0;
  let allUnplaced = true;
  const tried: string[] = [];
  /** Since the last policy attempt: when it started, and the ends of the pushbacks that came after. */
  let page = { startedAt: t0, pushbacks: [] as number[], broughtForwardTo: Number.POSITIVE_INFINITY };

  const dueAt = (): number => {
    if (closed !== null || hedges === plan.maxAttempts) return Number.POSITIVE_INFINITY;
    if (page.pushbacks.length > 0) return Math.max(...page.pushbacks);
    return committed !== null ? Number.POSITIVE_INFINITY : Math.min(page.startedAt + plan.delay, page.broughtForwardTo);
  };
  const send = (at: number, cause: string, previous: number, to: string): void => {
    sent += 1;
    lines.push(`${at} ${cause} ${sent} previous ${previous} avoid ${tried.join()}${to}`);
    running.push({ n: sent, previous, to });
    const { backend, headersAfter, lasts } = attemptScript(script, sent);
    if (backend !== null) agenda.push({ at, kind: 'placed', n: sent });
    if (headersAfter !== null) agenda.push({ at: at + headersAfter, kind: 'headers', n: sent });
    agenda.push({ at: at + lasts, kind: 'end', n: sent });
  };
  const sendPolicyAttempt = (at: number): void => {
    page = { startedAt: at, pushbacks: [], broughtForwardTo: Number.POSITIVE_INFINITY };
    hedges += 1;
    send(at, hedges === 1 ? 'first' : 'hedge', hedges - 1, whereTo(script, hedges === 1));
    if (committed !== null) {
      lines.push(`${at} commit ${sent} ${committed}`);
      closed = 'buffer_exceeded';
    }
  };
  const cancel = (at: number, why: string, but: number | null): void => {
    for (const { n } of running) if (n !== but) lines.push(`${at} cancel ${n} ${why}`);
    running = running.filter(({ n }) => n === but);
  };
  const finish = (at: number, told: string): string[] => {
    lines.push(`${at} finish ${told}`);
    return lines;
  };
  const commit = (at: number, n: number, cause: string): void => {
    committed = cause;
    closed ??= 'committed';
    lines.push(`${at} commit ${n} ${cause}`);
    cancel(at, 'superseded', n);
  };
  const conclude = (at: number, reason: StopReason): string[] => {
    // One that is in flight may have been placed: only what is over counts for row 12 where nothing else is.
    const placeless = allUnplaced && committed === null && running.length === 0;
    cancel(at, 'superseded', null);
    return finish(at, `${spoke ?? latest} ${placeless ? 'no_backend' : reason}`);
  };
  const fromOutside = (at: number, byDeadline: boolean): string[] => {
    const [why, told] = outsideEnd(script, byDeadline);
    cancel(at, why, null);
    return finish(at, told);
  };

  yield t0;
  if (deadline <= t0) return fromOutside(t0, true);
  sendPolicyAttempt(t0);
  for (let at = t0; ; ) {
    // What is due now is sent, as long as the bucket permits; an attempt with no delay brings the next with it.
    while (dueAt() <= at) {
      if (isShut(bucket)) closed = 'throttled';
      else sendPolicyAttempt(at);
    }
    if (running.length === 0 && closed !== null) return conclude(at, closed);

    const next = agenda.reduce((first, event) => (event.at < first.at ? event : first), {
      at: Number.POSITIVE_INFINITY,
      kind: 'end' as Kind,
      n: 0,
    });
    const alarm = Math.min(deadline, dueAt());
    const first = eager ? alarm <= next.at : alarm < next.at;
    at = first ? alarm : next.at;
    yield at;
    if (first) {
      if (at === deadline) return fromOutside(at, true);
      continue;
    }
    agenda.splice(agenda.indexOf(next), 1);
    const attempt = attemptScript(script, next.n);
    const was = running.find(({ n }) => n === next.n);
    const late = at === deadline;
    if (late && next.kind !== 'end') return fromOutside(at, true);
    if (next.kind === 'interruption') return fromOutside(at, false);
    if (next.kind === 'overflow') {
      if (committed !== null) continue;
      const cause = `buffer_${script.overflow?.limit}`;
      const most = Math.max(...running.map(({ n }) => sentBy(script, n)));
      const survivor = running.find(({ n }) => sentBy(script, n) === most);
      if (survivor === undefined) committed = cause;
      else commit(at, survivor.n, cause);
      continue;
    }
    if (was === undefined) {
      if (late) return fromOutside(at, true);
      continue;
    }
    if (next.kind === 'placed') {
      if (attempt.backend !== null && !tried.includes(attempt.backend)) tried.push(attempt.backend);
      continue;
    }
    if (next.kind === 'headers') {
      if (committed === null) commit(at, was.n, 'headers');
      continue;
    }

    // An attempt has ended.
    running = running.filter(({ n }) => n !== was.n);
    const { code, reach, pushback } = attempt;
    const nonFatal = listsCode(plan, code);
    const costs = code !== 0 && reach !== 'dropped' && (nonFatal || pushback.kind === 'never');
    if (late) {
      if (costs) lines.push(`${at} debit`);
      if (costs) debit(bucket);
      return fromOutside(at, true);
    }
    if (code === 0) {
      credit(bucket);
      lines.push(`${at} credit`);
      if (committed === null) commit(at, was.n, 'ok');
      return finish(at, `${was.n} ok`);
    }
    latest = was.n;
    allUnplaced &&= reach === 'unplaced';
    if (reach === 'processed' || reach === 'refused') spoke = was.n;
    const unsentAgain = reach === 'unsent' && committed !== 'headers' && repeatsOfUnsent < script.maxTransparent;
    if (unsentAgain || (reach === 'refused' && committed === null && !refusedBefore)) {
      if (unsentAgain) repeatsOfUnsent += 1;
      else refusedBefore = true;
      send(at, 'transparent', was.previous, was.to);
      continue;
    }
    if (costs) {
      debit(bucket);
      lines.push(`${at} debit`);
    }
    if (reach === 'dropped') closed = committed === null ? (closed ?? 'overloaded') : 'overloaded';
    else if (committed !== null) return conclude(at, reasonAfterCommit(script, attempt, committed));
    else if (!nonFatal) return conclude(at, 'fatal_status');
    else if (pushback.kind === 'never') closed ??= 'pushback';
    else if (hedges === plan.maxAttempts) closed ??= 'attempts_exhausted';
    else if (isShut(bucket)) closed ??= 'throttled';
    else if (pushback.kind === 'after') {
      if (at + pushback.ms >= deadline) closed ??= 'backoff_beyond_deadline';
      else page.pushbacks.push(at + pushback.ms);
    } else page.broughtForwardTo = Math.min(page.broughtForwardTo, at);
  }
}
