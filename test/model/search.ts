import { type Millis, millis } from '../../src/grpc/millis.js';
import { Status } from '../../src/grpc/status.js';
import { type Account, nextHedgeAt, nothingSeen } from '../../src/policy/account.js';
import type { transition } from '../../src/policy/call.js';
import { type CallState, createCall } from '../../src/policy/call-state.js';
import { audit } from '../../src/policy/invariants.js';
import type { AttemptId, CallEvent, Env } from '../../src/policy/types.js';
import { type End, listed, type World } from './worlds.js';

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
const open: Throttle = { without: false, with: false };
const tips: Throttle = { without: false, with: true };
const shut: Throttle = { without: true, with: true };

const unknownAttempt = 99;

/**
 * Searches every order of events breadth first, from a new call on: every kind of event, about attempts that run, that are
 * over and that never were, at once, at the moment when something is due, and at the deadline; the throttle open, tipped by
 * this very failure, and shut; each attempt in turn the one that has sent most. States that differ in nothing that can matter
 * later are one. Each transition is held against the invariants; the first that breaks one ends the search.
 */
export function search(world: World, machine: typeof transition, maxDepth: number): Found {
  const first: Node = {
    state: createCall(world.plan, { maxTransparent: world.maxTransparent }),
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
  const moments = momentsOf(node, world);
  for (const event of eventsFrom(node, world)) {
    for (const now of moments) for (const throttle of throttlesAt(node, event, now)) yield { event, now, throttle };
  }
}

/** The throttle is looked at where an attempt failed, and where something is due. */
function throttlesAt({ state, account }: Node, event: CallEvent, now: Millis): readonly Throttle[] {
  if (event.type === 'attemptEnded' && event.code !== Status.OK && account.live.has(event.attempt))
    return [open, tips, shut];
  return state.dueAt !== null && now >= state.dueAt ? [open, shut] : [open];
}

/**
 * Now, each later moment at which something changes by itself, and one that is late for it. A moment between them is like the
 * one before it.
 */
function momentsOf({ state, now }: Node, { late }: World): readonly Millis[] {
  const moments = [now];
  if (state.dueAt !== null && state.dueAt > now) {
    moments.push(state.dueAt);
    if (late) moments.push(millis(state.dueAt + 7));
  }
  if (state.deadlineAt !== null && state.deadlineAt > now) moments.push(state.deadlineAt);
  return moments;
}

function* eventsFrom(
  { account }: Node,
  { deadline, policy, placement, ends, backends, limits }: World,
): Generator<CallEvent> {
  yield {
    type: 'started',
    deadlineAt: deadline === null ? null : millis(origin + deadline),
    placement,
    policy,
  };
  yield { type: 'woke' };
  for (const limit of limits)
    for (const sent of sentBy([...account.live.keys()])) yield { type: 'bufferOverflowed', limit, sent };
  yield { type: 'rejected', code: Status.RESOURCE_EXHAUSTED, reason: 'headers_too_large', detail: '' };
  yield { type: 'aborted', by: 'client' };
  yield { type: 'aborted', by: 'shutdown' };
  for (const attempt of account.live.keys()) {
    for (const backend of backends) yield { type: 'attemptPlaced', attempt, backend };
    yield { type: 'headersReceived', attempt };
    for (const end of ends) yield { type: 'attemptEnded', attempt, ...end };
  }
  for (const attempt of [unknownAttempt, ...deadOf(account)]) {
    for (const backend of backends) yield { type: 'attemptPlaced', attempt, backend };
    yield { type: 'headersReceived', attempt };
    for (const end of staleEnds) yield { type: 'attemptEnded', attempt, ...end };
  }
}

/** Nobody has a place, each in turn has one alone, and each in turn has sent most. */
function sentBy(live: readonly AttemptId[]): readonly ReadonlyMap<AttemptId, number>[] {
  if (live.length < 2) return [new Map()];
  return [
    new Map(),
    ...live.map((placed) => new Map([[placed, 0]])),
    ...live.map((leader) => new Map(live.map((id) => [id, id === leader ? 7 : 3]))),
  ];
}

/** The latest attempt that is over, if there is one. */
function deadOf({ started, live }: Account): readonly AttemptId[] {
  for (let id = started; id > 0; id -= 1) if (!live.has(id)) return [id];
  return [];
}

/** What is stale is stale whatever it says: a few are enough. */
const staleEnds: readonly End[] = [Status.OK, listed, Status.INTERNAL].flatMap((code) =>
  (['unsent', 'refused', 'processed'] as const).map((reach) => ({
    code,
    reach,
    pushback: { kind: 'none' as const },
    by: 'backend' as const,
  })),
);

/**
 * What a state's future depends on. Moments count from now. Attempts are told apart by their order, since ids are only
 * handed on; how many were started follows from the counts. Which attempt's word would be told, and why nothing further is
 * sent, matter only as whether there is one, and as whether machine and account agree. All finished calls are one.
 */
function keyOf({ state, account, now }: Node): string {
  if (account.finished) return 'over';
  const until = (at: number | null): number | string => (at === null ? '' : at - now);
  let attempts = '';
  for (const { id, previous, onlyOn } of state.live)
    attempts += `${previous}${id === account.committed ? '!' : ''}${onlyOn === null ? '' : onlyOn.strict} `;
  const hedgeAt = nextHedgeAt(account, state.plan);
  return [
    state.phase,
    state.policy,
    until(state.deadlineAt),
    until(state.dueAt),
    until(state.pushedUntil),
    until(hedgeAt),
    until(hedgeAt === null && state.plan.kind === 'hedge' ? null : account.notBefore),
    attempts,
    state.held !== null,
    account.barredBy !== null,
    state.commit,
    account.commitCause,
    state.started - account.started,
    state.counted,
    account.counted,
    state.backoffs,
    state.unsentRepeats,
    account.unsentRepeats,
    state.refusedRepeated,
    account.refusedRepeats,
    state.tried,
    state.onlyUnplaced,
    state.told !== null,
    (state.told ?? state.last) === (account.told ?? account.last),
    account.last !== null,
    account.overflowed,
  ].join(';');
}

function pathTo(node: Node): string[] {
  const path: string[] = [];
  for (let at: Node | null = node; at?.move; at = at.parent) {
    const { event, now, throttle } = at.move;
    const said = JSON.stringify(event, (_key, value) => (value instanceof Map ? [...value] : value));
    path.unshift(`at ${now - origin} ms: ${said}, throttle ${throttle.without}, with a debit ${throttle.with}`);
  }
  return path;
}
