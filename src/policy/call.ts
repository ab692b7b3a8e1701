import type { BackendId } from '../grpc/backend-id.js';
import type { Millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { isDebit, judge } from './ladder.js';
import type {
  AttemptCause,
  AttemptId,
  BufferLimit,
  CallEvent,
  CancelCause,
  CommitCause,
  Decision,
  Env,
  Plan,
} from './types.js';

/*
 * The call machine: one call is one value, and everything that can happen to it goes through one function.
 *
 *     new ──started──▶ running ──────────────────────────────────────────▶ over
 *                      an attempt is live, or one is due    finish, the last decision
 *
 * No timer is set and none is cancelled: what is due is in the state, and `wakeAt` is read from it after each event.
 */

/** An attempt that was started and has neither ended nor been cancelled. */
interface LiveAttempt {
  readonly id: AttemptId;
  /** What it was told in grpc-previous-rpc-attempts; a transparent repeat is told the same (MD-03). */
  readonly previous: number;
}

/** One call. To be read, by tests and by the check of invariants; written by `transition` alone. */
export interface CallState {
  readonly plan: Plan;
  readonly maxTransparent: number;
  phase: 'new' | 'running' | 'over';
  policy: 'on' | 'off';
  deadlineAt: Millis | null;
  live: readonly LiveAttempt[];
  /** When the next policy attempt is to start: the first, or a retry whose wait is running. */
  dueAt: Millis | null;
  /** Set with nothing live: the attempt that is due is born committed (DIS-26). */
  commit: CommitCause | null;
  /** Attempts of any kind. */
  started: number;
  /** Policy attempts. */
  counted: number;
  /** Waits since the start or the last pushback. */
  backoffs: number;
  unsentRepeats: number;
  refusedRepeated: boolean;
  /** Backends that attempts were placed on, in order, none twice. Replaced, not written to: decisions hand it out. */
  tried: readonly BackendId[];
  /** Every attempt that ended so far found no backend. */
  onlyUnplaced: boolean;
  /** The last attempt that ended with a backend's word: its status beats a later failure to find one (D12, No backend). */
  told: AttemptId | null;
}

/** What one event led to. */
export interface Step {
  readonly state: CallState;
  /** In the order in which they are to be done. */
  readonly decisions: readonly Decision[];
  /** When to say `woke`, if nothing else happens before; null: no need to. Always after `env.now`. */
  readonly wakeAt: Millis | null;
}

type Ended = Extract<CallEvent, { type: 'attemptEnded' }>;

const untried: readonly BackendId[] = [];
const success: Decision = { type: 'countThrottle', as: 'success' };
const failure: Decision = { type: 'countThrottle', as: 'failure' };

/**
 * A call that has not begun: its first event is `started`.
 *
 * @param plan in force for the call's whole life, whatever is loaded meanwhile (CFG-10)
 * @param options.maxTransparent the most repeats of attempts that were never sent
 */
export function createCall(plan: Plan, options: { readonly maxTransparent: number }): CallState {
  return {
    plan,
    maxTransparent: options.maxTransparent,
    phase: 'new',
    policy: 'on',
    deadlineAt: null,
    live: [],
    dueAt: null,
    commit: null,
    started: 0,
    counted: 0,
    backoffs: 0,
    unsentRepeats: 0,
    refusedRepeated: false,
    tried: untried,
    onlyUnplaced: true,
    told: null,
  };
}

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
      take(state, event, env, out);
      startDue(state, env.now, out);
    }
  }
  return { state, decisions: out, wakeAt: wakeAt(state) };
}

function begin(state: CallState, event: Extract<CallEvent, { type: 'started' }>, now: Millis): void {
  if (state.phase !== 'new') return;
  state.phase = 'running';
  state.policy = event.policy;
  state.deadlineAt = event.deadlineAt;
  state.dueAt = now;
}

function isLate(state: CallState, now: Millis): boolean {
  return state.deadlineAt !== null && now >= state.deadlineAt;
}

/** The deadline ends the call; an attempt that failed by itself just now debits all the same (D12, Token debit). */
function expire(state: CallState, event: CallEvent, out: Decision[]): void {
  if (event.type === 'attemptEnded' && endLive(state, event.attempt) !== null) {
    if (event.code !== Status.OK && isDebit(state.plan, event)) out.push(failure);
  }
  cancelLive(state, 'deadline', null, out);
  finish(state, { code: Status.DEADLINE_EXCEEDED, detail: 'the deadline passed' }, 'deadline_exceeded', out);
}

function take(state: CallState, event: CallEvent, env: Env, out: Decision[]): void {
  switch (event.type) {
    case 'started': // begin() made the first attempt due
    case 'woke': // what is due starts after every event
      return;
    case 'attemptPlaced':
      if (isLive(state, event.attempt) && !state.tried.includes(event.backend))
        state.tried = [...state.tried, event.backend];
      return;
    case 'headersReceived':
      if (state.commit === null && isLive(state, event.attempt)) commit(state, event.attempt, 'headers', out);
      return;
    case 'attemptEnded':
      end(state, event, env, out);
      return;
    case 'bufferOverflowed':
      if (state.commit === null) overflow(state, event.limit, out);
      return;
    case 'rejected':
      cancelLive(state, 'rejected', null, out);
      finish(state, { code: event.code, detail: event.detail }, event.reason, out);
      return;
    case 'aborted':
      cancelLive(state, event.by, null, out);
      if (event.by === 'client')
        finish(state, { code: Status.CANCELLED, detail: 'the client cancelled' }, 'client_cancelled', out);
      else finish(state, { code: Status.UNAVAILABLE, detail: 'the proxy is shutting down' }, 'drain_timeout', out);
      return;
    default:
      event satisfies never;
  }
}

// === Attempts ===

function end(state: CallState, event: Ended, env: Env, out: Decision[]): void {
  const attempt = endLive(state, event.attempt);
  if (attempt === null) return;
  if (event.code === Status.OK) {
    // A6, Throttling: every call that ends OK credits, whatever its policy (THR-15).
    out.push(success);
    if (state.commit === null) commit(state, attempt.id, 'ok', out);
    finish(state, { from: attempt.id }, 'ok', out);
    return;
  }
  state.onlyUnplaced &&= event.reach === 'unplaced';
  if (event.reach === 'processed' || event.reach === 'refused') state.told = attempt.id;
  const debit = isDebit(state.plan, event);
  const verdict = judge({
    end: event,
    now: env.now,
    deadlineAt: state.deadlineAt,
    plan: state.plan,
    policy: state.policy,
    commit: state.commit,
    unsentLeft: state.unsentRepeats < state.maxTransparent,
    refusalLeft: !state.refusedRepeated,
    counted: state.counted,
    onlyUnplaced: state.onlyUnplaced,
    backoffs: state.backoffs,
    throttled: env.throttled(debit),
    random: env.random,
  });
  if (verdict.kind === 'transparent') {
    if (event.reach === 'unsent') state.unsentRepeats += 1;
    else state.refusedRepeated = true;
    start(state, 'transparent', attempt.previous, out);
    return;
  }
  if (debit) out.push(failure);
  if (verdict.kind === 'stop') {
    finish(state, { from: state.told ?? attempt.id }, verdict.reason, out);
    return;
  }
  // A6, Pushback: after one that was obeyed, backoff starts again from initialBackoff.
  state.backoffs = event.pushback.kind === 'after' ? 0 : state.backoffs + 1;
  state.dueAt = verdict.at;
}

function startDue(state: CallState, now: Millis, out: Decision[]): void {
  if (state.dueAt === null || now < state.dueAt) return;
  state.dueAt = null;
  const previous = state.counted;
  state.counted += 1;
  const id = start(state, previous === 0 ? 'first' : 'retry', previous, out);
  if (state.commit !== null) out.push({ type: 'commit', attempt: id, cause: state.commit });
}

function start(state: CallState, cause: AttemptCause, previous: number, out: Decision[]): AttemptId {
  state.started += 1;
  const id = state.started;
  state.live = [...state.live, { id, previous }];
  out.push({ type: 'startAttempt', attempt: id, cause, previous, avoid: state.tried });
  return id;
}

function isLive(state: CallState, id: AttemptId): boolean {
  return state.live.some((attempt) => attempt.id === id);
}

/** Takes an attempt that ended by itself off the list; null where it was over before. */
function endLive(state: CallState, id: AttemptId): LiveAttempt | null {
  const ended = state.live.find((attempt) => attempt.id === id);
  if (ended === undefined) return null;
  state.live = state.live.filter((attempt) => attempt !== ended);
  return ended;
}

/** Cancels all that is live but `keep`. */
function cancelLive(state: CallState, why: CancelCause, keep: AttemptId | null, out: Decision[]): void {
  for (const { id } of state.live) if (id !== keep) out.push({ type: 'cancelAttempt', attempt: id, why });
  state.live = state.live.filter(({ id }) => id === keep);
}

// === Commit and end ===

function overflow(state: CallState, limit: BufferLimit, out: Decision[]): void {
  const cause = bufferCauses[limit];
  const [attempt] = state.live;
  if (attempt === undefined) state.commit = cause;
  else commit(state, attempt.id, cause, out);
}

const bufferCauses: Readonly<Record<BufferLimit, CommitCause>> = {
  call: 'buffer_call',
  client: 'buffer_client',
  total: 'buffer_total',
};

function commit(state: CallState, attempt: AttemptId, cause: CommitCause, out: Decision[]): void {
  state.commit = cause;
  out.push({ type: 'commit', attempt, cause });
  cancelLive(state, 'superseded', attempt, out);
}

function finish(
  state: CallState,
  told: Extract<Decision, { type: 'finish' }>['with'],
  reason: StopReason,
  out: Decision[],
): void {
  state.phase = 'over';
  state.dueAt = null;
  out.push({ type: 'finish', with: told, reason });
}

function wakeAt({ phase, dueAt, deadlineAt }: CallState): Millis | null {
  if (phase === 'over') return null;
  // What is due is due before the deadline: no wait that would reach it is begun (D12, row 11).
  return dueAt ?? deadlineAt;
}
