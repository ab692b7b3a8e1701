import type { Reach } from '../../src/grpc/attempt-facts.js';
import { backendId } from '../../src/grpc/backend-id.js';
import { type Millis, millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import type { transition } from '../../src/policy/call.js';
import { type CallState, createCall } from '../../src/policy/call-state.js';
import { type Account, audit, nothingSeen } from '../../src/policy/invariants.js';
import type { CallEvent, Env, Plan } from '../../src/policy/types.js';

/** One call's world: its plan and what its client asked for. Everything else is tried in every order. */
export interface World {
  readonly name: string;
  readonly plan: Plan;
  readonly policy: 'on' | 'off';
  /** Milliseconds from the start. */
  readonly deadline: number | null;
}

/** What was found. `broken` names the first invariant that did not hold, with the events that lead there. */
export interface Found {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  /** No state was left unexplored. */
  readonly complete: boolean;
  readonly broken: { readonly invariants: readonly string[]; readonly path: readonly string[] } | null;
}

/** A throttle: as it stands without this event's debit, and with it. */
interface Throttle {
  readonly without: boolean;
  readonly with: boolean;
}

interface Move {
  readonly event: CallEvent;
  readonly now: Millis;
  readonly throttle: Throttle;
}

interface Node {
  readonly state: CallState;
  readonly account: Account;
  readonly now: Millis;
  readonly parent: Node | null;
  readonly move: Move | null;
}

const origin = millis(1_000_000);
const maxTransparent = 2;
const open: Throttle = { without: false, with: false };
const tips: Throttle = { without: false, with: true };
const shut: Throttle = { without: true, with: true };

const unknownAttempt = 99;
const backends = ['a', 'b'].map(backendId);

/**
 * Searches every order of events breadth first, from a new call on: every kind of event, about attempts that run, that are
 * over and that never were, at once, at the moment when something is due, and at the deadline; ends with every mix of code,
 * reach, pushback and author; the throttle open, tipped by this very failure, and shut. States that differ in nothing that
 * can matter later are one. Each transition is held against the invariants; the first that breaks one ends the search.
 */
export function search(world: World, machine: typeof transition, maxDepth: number): Found {
  const first: Node = {
    state: createCall(world.plan, { maxTransparent }),
    account: nothingSeen,
    now: origin,
    parent: null,
    move: null,
  };
  const known = new Set([keyOf(first)]);
  let frontier = [first];
  let transitions = 0;
  let depth = 0;
  for (; frontier.length > 0 && depth < maxDepth; depth += 1) {
    const next: Node[] = [];
    for (const node of frontier) {
      for (const move of movesFrom(node, world)) {
        transitions += 1;
        const { reached, broken } = make(node, move, machine);
        if (broken.length > 0) {
          return {
            states: known.size,
            transitions,
            depth,
            complete: false,
            broken: { invariants: broken, path: pathTo(reached) },
          };
        }
        const key = keyOf(reached);
        if (known.has(key)) continue;
        known.add(key);
        next.push(reached);
      }
    }
    frontier = next;
  }
  return { states: known.size, transitions, depth, complete: frontier.length === 0, broken: null };
}

function make(node: Node, move: Move, machine: typeof transition): { reached: Node; broken: readonly string[] } {
  const env: Env = {
    now: move.now,
    random: () => 0.5,
    throttled: (debit) => (debit ? move.throttle.with : move.throttle.without),
  };
  // The machine replaces the lists in its state and never writes to them: a shallow copy keeps the old state whole.
  const step = machine({ ...node.state }, move.event, env);
  const { account, broken } = audit(node.account, move.event, env, step);
  const reached: Node = { state: step.state, account, now: move.now, parent: node, move };
  if (broken.length > 0 || !isStale(node, move)) return { reached, broken };
  const silent = step.decisions.length === 0 && keyOf(reached) === keyOf(node);
  return { reached, broken: silent ? [] : ['an event about an attempt that is not in flight changes nothing'] };
}

/** The move is about an attempt that is not in flight, and no time has passed that could have done anything. */
function isStale({ account, now }: Node, { event, now: at }: Move): boolean {
  return 'attempt' in event && !account.live.has(event.attempt) && at === now;
}

function* movesFrom(node: Node, world: World): Generator<Move> {
  const moments = momentsOf(node);
  for (const event of eventsFrom(node, world)) {
    const throttles = event.type === 'attemptEnded' && event.code !== Status.OK ? [open, tips, shut] : [open];
    for (const now of moments) for (const throttle of throttles) yield { event, now, throttle };
  }
}

/** Now, and each later moment at which something changes by itself. Between them nothing depends on time. */
function momentsOf({ state, now }: Node): readonly Millis[] {
  const moments = [now];
  if (state.dueAt !== null && state.dueAt > now) moments.push(state.dueAt);
  if (state.deadlineAt !== null && state.deadlineAt > now) moments.push(state.deadlineAt);
  return moments;
}

function* eventsFrom({ account }: Node, world: World): Generator<CallEvent> {
  const { deadline, policy } = world;
  yield {
    type: 'started',
    deadlineAt: deadline === null ? null : millis(origin + deadline),
    placement: { kind: 'any' },
    policy,
  };
  yield { type: 'woke' };
  for (const limit of ['call', 'total'] as const) yield { type: 'bufferOverflowed', limit, sent: new Map() };
  yield { type: 'rejected', code: Status.RESOURCE_EXHAUSTED, reason: 'headers_too_large', detail: '' };
  yield { type: 'aborted', by: 'client' };
  yield { type: 'aborted', by: 'shutdown' };
  const [dead] = account.ended;
  for (const attempt of [...account.live.keys(), unknownAttempt, ...(dead === undefined ? [] : [dead])]) {
    for (const backend of backends) yield { type: 'attemptPlaced', attempt, backend };
    yield { type: 'headersReceived', attempt };
    for (const end of account.live.has(attempt) ? ends : staleEnds) yield { type: 'attemptEnded', attempt, ...end };
  }
}

type End = Omit<Extract<CallEvent, { type: 'attemptEnded' }>, 'type' | 'attempt'>;

export const listed = Status.UNAVAILABLE;
const reaches: readonly Reach[] = ['unsent', 'refused', 'unplaced', 'dropped', 'processed'];
const pushbacks = [{ kind: 'none' }, { kind: 'never' }, ...[0, 30].map(afterMs)] as const;

function afterMs(ms: number): End['pushback'] {
  return { kind: 'after', ms: millis(ms) };
}

const ends: readonly End[] = [Status.OK, listed, Status.INTERNAL].flatMap((code) =>
  reaches.flatMap((reach) =>
    pushbacks.flatMap((pushback) =>
      (['backend', 'loss', 'proxy'] as const).map((by): End => ({ code, reach, pushback, by })),
    ),
  ),
);

/** What is stale is stale whatever it says: a few are enough. */
const staleEnds = ends.filter(({ pushback, by }) => pushback.kind === 'none' && by === 'backend');

/**
 * What a state's future depends on. Moments count from now; attempts are told apart by their place, since their ids follow
 * from the counts; which backend's word would be told matters only as whether there is one. All finished calls are one.
 */
function keyOf({ state, account, now }: Node): string {
  if (account.finished) return 'over';
  const until = (at: number | null): number | null => (at === null ? null : at - now);
  return JSON.stringify([
    state.phase,
    state.policy,
    until(state.deadlineAt),
    until(state.dueAt),
    state.live.map(({ id, previous }) => [state.started - id, previous]),
    state.commit,
    state.started,
    state.counted,
    state.backoffs,
    state.unsentRepeats,
    state.refusedRepeated,
    state.tried,
    state.onlyUnplaced,
    state.told !== null,
    account.overflowed,
    account.committed === null ? null : state.started - account.committed,
    account.refusedRepeats,
    account.ended.size > 0,
  ]);
}

function pathTo(node: Node): string[] {
  const path: string[] = [];
  for (let at: Node | null = node; at?.move; at = at.parent)
    path.unshift(`at ${at.move.now - origin} ms: ${JSON.stringify(at.move.event)}, throttle ${at.move.throttle.with}`);
  return path;
}
