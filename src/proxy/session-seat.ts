import { placeByRendezvous } from '../balance/rendezvous.js';
import type { SessionHold, Sessions } from '../balance/sessions.js';
import type { Candidate, HealthView, Pick as PickOutcome, PickQuery } from '../balance/types.js';
import type { BackendId } from '../grpc/backend-id.js';
import { Status } from '../grpc/status.js';
import { sessionKeyOf } from '../runtime/session-key.js';
import type { Refusal } from './gate.js';
import type { ProxyParts } from './parts.js';

/** What the client of a session is told that has lost its backend (D15). */
export function sessionLost(backend: string): string {
  return `the session's backend ${backend} is gone, and what it knew of the session with it; the next call begins a new one`;
}

/** What the client of a new session is told that there is no room for (D14). */
export const sessionsFull = 'as many sessions as --session-max-entries permits are in use';

/** The seat of the session that a client names, or why there is none. @param id as the client sent it */
export function findSeat(
  id: string,
  { sessions, health, clock }: Pick<ProxyParts, 'sessions' | 'health' | 'clock'>,
): SessionSeat | Refusal {
  const key = sessionKeyOf(id);
  const found = sessions.find(key, clock.now());
  switch (found.kind) {
    case 'held':
      return new SessionSeat(key, found.hold, sessions, health);
    case 'none':
      return new SessionSeat(key, null, sessions, health);
    case 'lost':
      return { code: Status.UNAVAILABLE, reason: 'session_lost', detail: sessionLost(found.backend) };
    case 'full':
      return { code: Status.RESOURCE_EXHAUSTED, reason: 'overloaded', detail: sessionsFull };
    default:
      return found satisfies never;
  }
}

/** What of an attempt tells whether it may have come to its backend. */
interface SentAttempt {
  readonly backend: { readonly id: BackendId } | null;
  readonly dispatched: number;
  readonly end: unknown;
}

/** The call is over. What it cancelled may have been processed. */
export function leaveSeat(seat: SessionSeat, attempts: readonly SentAttempt[], now: number): void {
  for (const { backend, dispatched, end } of attempts)
    if (backend !== null && dispatched > 0 && end === null) seat.reached(backend.id, now);
  seat.ended(now);
}

const none: PickOutcome = { kind: 'none' };
const overloaded: PickOutcome = { kind: 'overloaded' };

/** Over the priorities of those that are usable: tried or breached. */
const triedLevel = 100;
/** Parked in any way, over all priorities, as in other picks: rate limits first, and of each untried ones first. */
const parkedLevel = 200;

/** What one call needs to know of its session: which backend it has, or how it comes by one. */
export class SessionSeat {
  /** What logs and other processes know it by (D31). */
  readonly key: string;
  /** There was no room for a new session (D14). */
  crowded = false;
  private hold: SessionHold | null;
  /** Where its claims were given back: the repeat goes elsewhere if it can, as from any backend that was tried. */
  private readonly left: BackendId[] = [];
  private readonly sessions: Sessions;
  private readonly health: HealthView;

  /** @param hold null: the session is new, its first pick claims it */
  constructor(key: string, hold: SessionHold | null, sessions: Sessions, health: HealthView) {
    this.key = key;
    this.hold = hold;
    this.sessions = sessions;
    this.health = health;
  }

  /** Null: nobody has claimed it yet, or the claim was given back. */
  get backend(): BackendId | null {
    return this.hold?.backend ?? null;
  }

  /**
   * The pick of a session without a backend: rendezvous hashing over the usable ones, so that replicas which see the same set
   * agree (D31), and the claim in the same turn (D29). Tried ones serve where no others are left, parked ones after those: of
   * them the one whose park ends first (D32).
   */
  choose(candidates: readonly Candidate[], query: PickQuery): PickOutcome {
    let best = Number.POSITIVE_INFINITY;
    let full = false;
    const levels = candidates.map((candidate) => {
      const level = this.levelOf(candidate, query);
      if (level === 'full') full = true;
      if (typeof level !== 'number') return Number.POSITIVE_INFINITY;
      best = Math.min(best, level);
      return level;
    });
    if (best === Number.POSITIVE_INFINITY) return full ? overloaded : none;
    const usable = candidates.filter((_, at) => levels[at] === best);
    const id = placeByRendezvous(this.key, best < parkedLevel ? usable : this.soonest(usable), () => true);
    if (id === null) return none;
    this.hold = this.sessions.claim(this.key, id, query.now);
    if (this.hold !== null) return { kind: 'use', id: this.hold.backend };
    this.crowded = true;
    return overloaded;
  }

  private levelOf(candidate: Candidate, query: PickQuery): number | 'out' | 'full' {
    const { id, name, link, priority } = candidate;
    const { failed, bounds, now } = query;
    const excluded = bounds !== null && (bounds.exclude.includes(id) || bounds.exclude.includes(name));
    if (excluded || failed.includes(id) || link === 'backoff') return 'out';
    if (link === 'full') return 'full';
    const tried = query.tried.includes(id) || this.left.includes(id);
    const standing = this.health.standing(id, now);
    switch (standing) {
      case 'clean':
      case 'recent':
        return (tried ? triedLevel : 0) + priority;
      case 'lapsed':
        // Its share of new sessions is what probes it: where all calls are of sessions nobody else does.
        if (this.health.mayProbe(id, now, query.guarded)) return (tried ? triedLevel : 0) + priority;
        return parkedLevel + (tried ? 3 : 1);
      case 'breached':
        return triedLevel + priority;
      case 'rate_limited':
        return parkedLevel + (tried ? 2 : 0);
      case 'probing':
      case 'parked':
        return parkedLevel + (tried ? 3 : 1);
      default:
        return standing satisfies never;
    }
  }

  /** Those whose park ends first. */
  private soonest(parked: readonly Candidate[]): readonly Candidate[] {
    const first = Math.min(...parked.map(({ id }) => this.health.parkedUntil(id)));
    return parked.filter(({ id }) => this.health.parkedUntil(id) === first);
  }

  /** Gives a claim back that nothing can depend on (D29). */
  release(): boolean {
    if (this.hold === null || !this.hold.release()) return false;
    this.left.push(this.hold.backend);
    this.hold = null;
    return true;
  }

  /** Its backend may not be used now. True: the session is lost by that (D15). */
  refused(): boolean {
    return this.hold?.refused() ?? false;
  }

  /** An attempt there was answered, or may have been processed: slides the idle time (D14). */
  reached(backend: BackendId, now: number): void {
    if (this.hold !== null && backend === this.hold.backend) this.hold.reached(now);
  }

  /** The call is over. */
  ended(now: number): void {
    this.hold?.ended(now);
  }
}
