import type { BackendId } from '../grpc/backend-id.js';
import type { Millis } from '../grpc/millis.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { AttemptId, CommitCause, Constraint, Placement, Plan } from './types.js';

/** An attempt that was started and has neither ended nor been cancelled. */
export interface LiveAttempt {
  readonly id: AttemptId;
  /** What it was told in grpc-previous-rpc-attempts; a transparent repeat is told the same (MD-03). */
  readonly previous: number;
  /** Where it had to go; a transparent repeat has to go there too (D2). */
  readonly onlyOn: Constraint | null;
}

/** One call. To be read, by tests and by the check of invariants; written by `transition` alone. */
export interface CallState {
  readonly plan: Plan;
  readonly maxTransparent: number;
  phase: 'new' | 'running' | 'over';
  policy: 'on' | 'off';
  placement: Placement;
  deadlineAt: Millis | null;
  live: readonly LiveAttempt[];
  /** When the next policy attempt is to start: the first, a retry whose wait is running, the next hedge. */
  dueAt: Millis | null;
  /** A hedge's pushback that has not been served: until then no failure brings the next hedge forward. */
  pushedUntil: Millis | null;
  /** Why no further hedge is sent, while some are in flight: the call's reason if it ends with none left (D12, "wait for siblings"). */
  held: StopReason | null;
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
  /** The last attempt that ended. */
  last: AttemptId | null;
}

const untried: readonly BackendId[] = [];
/** Of a call of which nothing is live. One array: most calls have one attempt. */
export const noneLive: readonly LiveAttempt[] = [];
const anywhere: Placement = { kind: 'any' };

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
    placement: anywhere,
    deadlineAt: null,
    live: noneLive,
    dueAt: null,
    pushedUntil: null,
    held: null,
    commit: null,
    started: 0,
    counted: 0,
    backoffs: 0,
    unsentRepeats: 0,
    refusedRepeated: false,
    tried: untried,
    onlyUnplaced: true,
    told: null,
    last: null,
  };
}

/** The attempt with this id, where it is live. */
export function liveAttempt(state: CallState, id: AttemptId): LiveAttempt | null {
  return state.live.find((attempt) => attempt.id === id) ?? null;
}
