import type { EndedBy, Pushback, Reach } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { backoffDelay } from './backoff.js';
import type { AttemptCause, AttemptId, CallEvent, CancelCause, CommitCause, Decision, Env, Plan } from './types.js';

interface Live {
  readonly id: AttemptId;
  readonly cause: AttemptCause;
  readonly previous: number;
}
interface Due {
  readonly at: Millis;
  readonly cause: AttemptCause;
  readonly previous: number;
}
export interface CallState {
  readonly plan: Plan;
  readonly maxTransparent: number;
  done: boolean;
  policyOn: boolean;
  deadlineAt: Millis | null;
  live: Live[];
  nextId: AttemptId;
  counted: number;
  tried: BackendId[];
  due: Due | null;
  commit: CommitCause | null;
  refusedUsed: boolean;
  transparent: number;
  step: number;
  lastReal: AttemptId | null;
}
export function createCall(plan: Plan, options: { readonly maxTransparent: number }): CallState {
  return {
    plan,
    maxTransparent: options.maxTransparent,
    done: false,
    policyOn: true,
    deadlineAt: null,
    live: [],
    nextId: 1,
    counted: 0,
    tried: [],
    due: null,
    commit: null,
    refusedUsed: false,
    transparent: 0,
    step: 0,
    lastReal: null,
  };
}
export interface Step {
  readonly state: CallState;
  readonly decisions: readonly Decision[];
  readonly wakeAt: Millis | null;
}
type Ended = Extract<CallEvent, { type: 'attemptEnded' }>;

export function transition(state: CallState, event: CallEvent, env: Env): Step {
  const out: Decision[] = [];
  if (!state.done) {
    if (event.type === 'started') {
      state.deadlineAt = event.deadlineAt;
      state.policyOn = event.policy === 'on';
    }
    if (event.type !== 'aborted' && state.deadlineAt !== null && env.now >= state.deadlineAt) {
      cancelAll(state, 'deadline', out);
      finish(state, { code: Status.DEADLINE_EXCEEDED, detail: 'the deadline passed' }, 'deadline_exceeded', out);
    } else step(state, event, env, out);
  }
  return { state, decisions: out, wakeAt: wakeAt(state) };
}
function step(state: CallState, event: CallEvent, env: Env, out: Decision[]): void {
  switch (event.type) {
    case 'started':
      start(state, 'first', 0, out);
      return;
    case 'attemptPlaced':
      if (state.live.some(({ id }) => id === event.attempt) && !state.tried.includes(event.backend))
        state.tried.push(event.backend);
      return;
    case 'headersReceived':
      if (state.commit === null && state.live.some(({ id }) => id === event.attempt))
        commit(state, event.attempt, 'headers', out);
      return;
    case 'bufferOverflowed': {
      if (state.commit !== null) return;
      const cause: CommitCause =
        event.limit === 'call' ? 'buffer_call' : event.limit === 'client' ? 'buffer_client' : 'buffer_total';
      const first = state.live[0];
      if (first === undefined) state.commit = cause;
      else commit(state, first.id, cause, out);
      return;
    }
    case 'rejected':
      cancelAll(state, 'rejected', out);
      finish(state, { code: event.code, detail: event.detail }, event.reason, out);
      return;
    case 'aborted':
      cancelAll(state, event.by, out);
      if (event.by === 'client')
        finish(state, { code: Status.CANCELLED, detail: 'the client cancelled' }, 'client_cancelled', out);
      else finish(state, { code: Status.UNAVAILABLE, detail: 'the proxy is shutting down' }, 'drain_timeout', out);
      return;
    case 'woke':
      if (state.due !== null && env.now >= state.due.at) {
        const { cause, previous } = state.due;
        state.due = null;
        start(state, cause, previous, out);
      }
      return;
    case 'attemptEnded':
      ended(state, event, env, out);
      return;
    default:
      event satisfies never;
  }
}
function ended(state: CallState, event: Ended, env: Env, out: Decision[]): void {
  const index = state.live.findIndex(({ id }) => id === event.attempt);
  const attempt = state.live[index];
  if (attempt === undefined) return;
  state.live.splice(index, 1);
  const { code, reach, pushback } = event;
  if (code === Status.OK) {
    out.push({ type: 'countThrottle', as: 'success' });
    if (state.commit === null) commit(state, attempt.id, 'ok', out);
    finish(state, { from: attempt.id }, 'ok', out);
    return;
  }
  if (event.by !== 'proxy' || reach === 'processed') state.lastReal = attempt.id;
  if (reach === 'dropped') {
    finishWith(state, attempt.id, 'overloaded', out);
    return;
  }
  const byBuffer = state.commit !== null && state.commit.startsWith('buffer');
  if (reach === 'unsent' && state.transparent < state.maxTransparent && state.commit !== 'headers') {
    state.transparent += 1;
    start(state, 'transparent', attempt.previous, out);
    return;
  }
  if (reach === 'refused' && !state.refusedUsed && state.commit === null) {
    state.refusedUsed = true;
    start(state, 'transparent', attempt.previous, out);
    return;
  }
  const plan = state.plan;
  const listed = plan.kind === 'retry' && plan.retryable.has(code);
  if (listed || pushback.kind === 'never') out.push({ type: 'countThrottle', as: 'failure' });
  const reason = ladder(state, event, env, listed, byBuffer);
  if (reason !== null) {
    const allUnplaced = reach === 'unplaced' && state.lastReal === null;
    finishWith(state, attempt.id, allUnplaced && state.commit === null ? 'no_backend' : reason, out);
    return;
  }
  if (plan.kind !== 'retry') return;
  state.step = pushback.kind === 'after' ? 0 : state.step + 1;
  const delay = pushback.kind === 'after' ? pushback.ms : backoffDelay(plan, state.step, env.random());
  const at = millis(env.now + delay);
  if (state.deadlineAt !== null && at >= state.deadlineAt) {
    const allUnplaced = reach === 'unplaced' && state.lastReal === null;
    finishWith(state, attempt.id, allUnplaced ? 'no_backend' : 'backoff_beyond_deadline', out);
    return;
  }
  state.due = { at, cause: 'retry', previous: state.counted };
}
function ladder(state: CallState, event: Ended, env: Env, listed: boolean, byBuffer: boolean): StopReason | null {
  const { plan } = state;
  if (state.commit !== null && event.by === 'loss') return 'backend_lost';
  if (plan.kind === 'none' || !state.policyOn) return 'no_policy';
  if (!listed) return 'fatal_status';
  if (event.pushback.kind === 'never') return 'pushback';
  if (state.commit !== null) return byBuffer ? 'buffer_exceeded' : 'committed';
  if (state.counted >= plan.maxAttempts) return 'attempts_exhausted';
  if (env.throttled) return 'throttled';
  return null;
}
function start(state: CallState, cause: AttemptCause, previous: number, out: Decision[]): void {
  const id = state.nextId;
  state.nextId += 1;
  if (cause !== 'transparent') state.counted += 1;
  state.live.push({ id, cause, previous });
  out.push({ type: 'startAttempt', attempt: id, cause, previous, avoid: [...state.tried] });
}
function commit(state: CallState, attempt: AttemptId, cause: CommitCause, out: Decision[]): void {
  state.commit = cause;
  state.due = null;
  out.push({ type: 'commit', attempt, cause });
}
function cancelAll(state: CallState, why: CancelCause, out: Decision[]): void {
  for (const { id } of state.live) out.push({ type: 'cancelAttempt', attempt: id, why });
  state.live = [];
}
function finishWith(state: CallState, attempt: AttemptId, reason: StopReason, out: Decision[]): void {
  finish(state, { from: state.lastReal ?? attempt }, reason, out);
}
function finish(
  state: CallState,
  told: { readonly from: AttemptId } | { readonly code: StatusCode; readonly detail: string },
  reason: StopReason,
  out: Decision[],
): void {
  state.done = true;
  state.due = null;
  out.push({ type: 'finish', with: told, reason });
}
function wakeAt(state: CallState): Millis | null {
  if (state.done) return null;
  const due = state.due?.at ?? null;
  if (due === null) return state.deadlineAt;
  return state.deadlineAt === null || due < state.deadlineAt ? due : state.deadlineAt;
}

export type { EndedBy, Pushback, Reach };
