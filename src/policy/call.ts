import { appended } from '../grpc/append.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { type CallState, type LiveAttempt, liveAttempt, noneLive } from './call-state.js';
import { isDebit, judge, type Verdict } from './ladder.js';
import type {
  AttemptCause,
  AttemptId,
  BufferLimit,
  CallEvent,
  CancelCause,
  CommitCause,
  Constraint,
  Decision,
  Env,
} from './types.js';

/*
 * The call machine: one call is one value, and everything that can happen to it goes through one function.
 *
 *     new ──started──▶ running ──────────────────────────────────────────▶ over
 *                      an attempt is live, or one is due    finish, the last decision
 *
 * No timer is set and none is cancelled: what is due is in the state, and `wakeAt` is read from it after each event.
 */

/** What one event led to. */
export interface Step {
  readonly state: CallState;
  /** In the order in which they are to be done. */
  readonly decisions: readonly Decision[];
  /** When to say `woke`, if nothing else happens before; null: no need to. Always after `env.now`. */
  readonly wakeAt: Millis | null;
}

type Ended = Extract<CallEvent, { type: 'attemptEnded' }>;
type Overflowed = Extract<CallEvent, { type: 'bufferOverflowed' }>;

const success: Decision = { type: 'countThrottle', as: 'success' };
const failure: Decision = { type: 'countThrottle', as: 'failure' };

/**
 * Takes one event. The state is changed in place and handed back: the caller owns it alone and keeps no older one. The
 * same events with the same times, random numbers and throttle lead to the same decisions. Never throws.
 */
export function transition(state: CallState, event: CallEvent, env: Env): Step {
  const out: Decision[] = [];
  if (state.phase !== 'over') {
    if (event.type === 'started') begin(state, event, env.now);
    // D12, rows 1 and 2: at the deadline and after it only the client's own cancel is still heard.
    if (isLate(state, env.now) && !(event.type === 'aborted' && event.by === 'client')) expire(state, event, out);
    else {
      const debit = take(state, event, env, out);
      startDue(state, env, debit, out);
    }
  }
  return { state, decisions: out, wakeAt: wakeAt(state) };
}

function begin(state: CallState, event: Extract<CallEvent, { type: 'started' }>, now: Millis): void {
  if (state.phase !== 'new') return;
  state.phase = 'running';
  state.policy = event.policy;
  state.placement = event.placement;
  state.deadlineAt = event.deadlineAt;
  state.dueAt = now;
}

function isLate(state: CallState, now: Millis): boolean {
  return state.deadlineAt !== null && now >= state.deadlineAt;
}

/** The deadline ends the call; an attempt that failed by itself just now debits all the same (D12, Token debit). */
function expire(state: CallState, event: CallEvent, out: Decision[]): void {
  if (event.type === 'attemptEnded' && endLive(state, event.attempt) !== null) {
    if (event.code !== Status.OK && isDebit(state, event)) out.push(failure);
  }
  cancelLive(state, 'deadline', null, out);
  finish(state, { code: Status.DEADLINE_EXCEEDED, detail: 'the deadline passed' }, 'deadline_exceeded', out);
}

/** @returns whether the event took a token */
function take(state: CallState, event: CallEvent, env: Env, out: Decision[]): boolean {
  switch (event.type) {
    case 'started': // begin() made the first attempt due
    case 'woke': // what is due starts after every event
      return false;
    case 'attemptPlaced':
      if (liveAttempt(state, event.attempt) !== null && !state.tried.includes(event.backend))
        state.tried = appended(state.tried, event.backend);
      return false;
    case 'headersReceived':
      if (state.commit === null && liveAttempt(state, event.attempt) !== null)
        commit(state, event.attempt, 'headers', out);
      return false;
    case 'attemptEnded':
      return end(state, event, env, out);
    case 'bufferOverflowed':
      if (state.commit === null) overflow(state, event, out);
      return false;
    case 'rejected':
      cancelLive(state, 'rejected', null, out);
      finish(state, { code: event.code, detail: event.detail }, event.reason, out);
      return false;
    case 'aborted':
      cancelLive(state, event.by, null, out);
      if (event.by === 'client')
        finish(state, { code: Status.CANCELLED, detail: 'the client cancelled' }, 'client_cancelled', out);
      else
        finish(
          state,
          { code: Status.UNAVAILABLE, detail: 'the time to finish before the connection closes is over' },
          'drain_timeout',
          out,
        );
      return false;
    default:
      event satisfies never;
      return false;
  }
}

// === Attempts ===

/** @returns whether the end took a token */
function end(state: CallState, event: Ended, env: Env, out: Decision[]): boolean {
  const attempt = endLive(state, event.attempt);
  if (attempt === null) return false;
  if (event.code === Status.OK) {
    // A6, Throttling: every call that ends OK credits, whatever its policy (THR-15).
    out.push(success);
    if (state.commit === null) commit(state, attempt.id, 'ok', out);
    finish(state, { from: attempt.id }, 'ok', out);
    return false;
  }
  state.onlyUnplaced &&= event.reach === 'unplaced';
  state.last = attempt.id;
  if (event.reach === 'processed' || event.reach === 'refused') state.told = attempt.id;
  const debit = isDebit(state, event);
  const verdict = judge(state, event, { now: env.now, throttled: env.throttled(debit), random: env.random });
  if (verdict.kind === 'transparent') {
    if (event.reach === 'unsent') state.unsentRepeats += 1;
    else state.refusedRepeated = true;
    start(state, 'transparent', attempt.previous, attempt.onlyOn, out);
    return false;
  }
  if (debit) out.push(failure);
  follow(state, verdict, event, env.now, out);
  return debit;
}

function follow(
  state: CallState,
  verdict: Exclude<Verdict, { kind: 'transparent' }>,
  { pushback }: Ended,
  now: Millis,
  out: Decision[],
): void {
  switch (verdict.kind) {
    case 'stop':
      // What is cancelled in flight was placed, or might have been.
      if (state.live.length > 0) state.onlyUnplaced = false;
      cancelLive(state, 'superseded', null, out);
      conclude(state, verdict.reason, out);
      return;
    case 'hold':
      hold(state, verdict.reason, out);
      return;
    case 'retry':
      // A6, Pushback: after one that was obeyed, backoff starts again from initialBackoff.
      state.backoffs = pushback.kind === 'after' ? 0 : state.backoffs + 1;
      state.dueAt = verdict.at;
      return;
    case 'hedge':
      if (state.held !== null) hold(state, state.held, out);
      else if (verdict.pushed) pushBack(state, verdict.at);
      // A6, Hedging: a non-fatal failure brings the next hedge forward to now, but not past a pushback.
      else if (state.pushedUntil === null) state.dueAt = now;
      return;
    default:
      verdict satisfies never;
  }
}

/** A6, Pushback: the next hedge waits; of two pushbacks the one that is due later stands. */
function pushBack(state: CallState, at: Millis): void {
  if (state.pushedUntil !== null && state.pushedUntil >= at) return;
  state.pushedUntil = at;
  state.dueAt = at;
}

/** No further hedge; those in flight go on, and with none left the call ends. The first reason stands: it made the difference. */
function hold(state: CallState, reason: StopReason, out: Decision[]): void {
  state.held ??= reason;
  state.dueAt = null;
  state.pushedUntil = null;
  if (state.live.length === 0) conclude(state, state.held, out);
}

function startDue(state: CallState, env: Env, debit: boolean, out: Decision[]): void {
  while (state.dueAt !== null && env.now >= state.dueAt) {
    if (state.counted > 0 && state.plan.kind === 'hedge' && env.throttled(debit)) {
      // A6, Throttling: read for a hedge when it is due (THR-20).
      hold(state, 'throttled', out);
      return;
    }
    state.dueAt = null;
    state.pushedUntil = null;
    startCounted(state, env.now, out);
  }
}

/** The next policy attempt: the first, a retry or a hedge. */
function startCounted(state: CallState, now: Millis, out: Decision[]): void {
  const { plan, placement } = state;
  const previous = state.counted;
  state.counted += 1;
  const cause = previous === 0 ? 'first' : plan.kind === 'hedge' ? 'hedge' : 'retry';
  const id = start(state, cause, previous, constraintOf(state), out);
  if (state.commit !== null) out.push({ type: 'commit', attempt: id, cause: state.commit });
  else if (plan.kind === 'hedge' && state.policy === 'on' && placement.kind !== 'only') {
    // A6, Hedging: one more every hedgingDelay, until maxAttempts are out.
    if (state.counted < plan.maxAttempts) state.dueAt = millis(now + plan.delay);
  }
}

/** Where the next policy attempt has to go; `counted` includes it. */
function constraintOf({ placement, counted }: CallState): Constraint | null {
  switch (placement.kind) {
    case 'any':
      return null;
    case 'only':
      return { target: placement.target, strict: true };
    case 'firstOnly':
      return counted === 1 ? { target: placement.target, strict: false } : null;
    default:
      return placement satisfies never;
  }
}

function start(
  state: CallState,
  cause: AttemptCause,
  previous: number,
  onlyOn: Constraint | null,
  out: Decision[],
): AttemptId {
  state.started += 1;
  const id = state.started;
  state.live = appended(state.live, { id, previous, onlyOn });
  out.push({ type: 'startAttempt', attempt: id, cause, previous, avoid: state.tried, onlyOn });
  return id;
}

/** Takes an attempt that ended by itself off the list; null where it was over before. */
function endLive(state: CallState, id: AttemptId): LiveAttempt | null {
  const ended = liveAttempt(state, id);
  if (ended !== null)
    state.live = state.live.length === 1 ? noneLive : state.live.filter((attempt) => attempt !== ended);
  return ended;
}

/** Cancels all that is live but `keep`. */
function cancelLive(state: CallState, why: CancelCause, keep: AttemptId | null, out: Decision[]): void {
  const [first] = state.live;
  // Most calls have one attempt, and nothing to be looked through.
  if (first === undefined || (state.live.length === 1 && first.id === keep)) return;
  for (const { id } of state.live) if (id !== keep) out.push({ type: 'cancelAttempt', attempt: id, why });
  state.live = keep === null ? noneLive : state.live.filter(({ id }) => id === keep);
}

// === Commit and end ===

function overflow(state: CallState, { limit, sent }: Overflowed, out: Decision[]): void {
  const cause = bufferCauses[limit];
  const survivor = mostSent(state.live, sent);
  if (survivor === null) state.commit = cause;
  else commit(state, survivor.id, cause, out);
}

/** A6, Retry buffer: the attempt that has sent most is kept; of equals the earliest (D25), but one that has a place first. */
function mostSent(live: readonly LiveAttempt[], sent: ReadonlyMap<AttemptId, number>): LiveAttempt | null {
  let best: LiveAttempt | null = null;
  let most = Number.NEGATIVE_INFINITY;
  for (const attempt of live) {
    const bytes = sent.get(attempt.id) ?? -1;
    if (bytes <= most) continue;
    best = attempt;
    most = bytes;
  }
  return best;
}

const bufferCauses: Readonly<Record<BufferLimit, CommitCause>> = {
  call: 'buffer_call',
  client: 'buffer_client',
  total: 'buffer_total',
};

function commit(state: CallState, attempt: AttemptId, cause: CommitCause, out: Decision[]): void {
  state.commit = cause;
  // What held further attempts back is no longer what ends the call.
  state.held = null;
  state.dueAt = null;
  state.pushedUntil = null;
  out.push({ type: 'commit', attempt, cause });
  cancelLive(state, 'superseded', attempt, out);
}

/** Ends the call with the status of an attempt that failed: the last that a backend spoke for, else the last of all. */
function conclude(state: CallState, reason: StopReason, out: Decision[]): void {
  // D12, row 12, which holds before commit; a pin that cannot be had has a reason of its own.
  const unplaced = state.onlyUnplaced && state.commit === null && reason !== 'pinned_backend_unavailable';
  const told = unplaced ? 'no_backend' : reason;
  finish(state, { from: state.told ?? state.last ?? 0 }, told, out);
}

function finish(
  state: CallState,
  told: Extract<Decision, { type: 'finish' }>['with'],
  reason: StopReason,
  out: Decision[],
): void {
  state.phase = 'over';
  state.dueAt = null;
  state.pushedUntil = null;
  out.push({ type: 'finish', with: told, reason });
}

function wakeAt({ phase, dueAt, deadlineAt }: CallState): Millis | null {
  if (phase === 'over') return null;
  if (dueAt === null || deadlineAt === null) return dueAt ?? deadlineAt;
  return dueAt < deadlineAt ? dueAt : deadlineAt;
}
