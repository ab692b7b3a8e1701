import type { BackendId } from '../grpc/backend-id.js';
import {
  type DropOutcome,
  Hold,
  type HoldKeeper,
  type Session,
  type SessionFacts,
  type SessionHold,
  type SessionOutcome,
} from './session-hold.js';
import type {
  Found,
  KeptClaim,
  Presence,
  SessionSettings,
  SessionStats,
  Sessions,
  SessionWatcher,
  SharedSessions,
} from './session-types.js';
import { IdleOrder } from './sessions-idle.js';

export type { SessionFacts, SessionHold, SessionOutcome } from './session-hold.js';
export type * from './session-types.js';

/** A session that was used within so long (ms) is dropped for nobody (D14). */
const evictableAfter = 60_000;
/** Expired sessions dropped in passing by each new one: more than come, so that they never pile up. */
const sweptPerClaim = 2;

const none: Found = { kind: 'none' };
const full: Found = { kind: 'full' };
const nothing: SessionStats['outcomes'] = {
  created: 0,
  used: 0,
  expired: 0,
  lost: 0,
  evicted: 0,
  refused: 0,
  released: 0,
  cleared: 0,
};

/** One that no call holds yet; whoever makes it holds it. */
function sessionOf(key: string, backend: BackendId, claim: number, createdAt: number): Session {
  return {
    key,
    backend,
    claim,
    createdAt,
    usedAt: createdAt,
    touchedAt: createdAt,
    calls: 0,
    fresh: true,
    older: null,
    newer: null,
  };
}

/** @param presence asked once for a call that is of a session already */
export function createSessions(
  settings: SessionSettings,
  presence: (backend: BackendId, now: number) => Presence,
): Sessions {
  return new SessionTable(settings, presence, 'alone', null);
}

/**
 * @param role of an owner, `used` is left to those that have copies. Copies count that and their calls alone; they need no
 * room, as the owner has judged that: where there are `maxEntries` an idle one goes, whenever it was used
 */
export function createSharedSessions(
  settings: SessionSettings,
  presence: (backend: BackendId, now: number) => Presence,
  role: 'owner' | 'copies',
  watcher: SessionWatcher,
): SharedSessions {
  return new SessionTable(settings, presence, role, watcher);
}

class SessionTable implements SharedSessions, HoldKeeper {
  readonly settings: SessionSettings;
  private readonly presence: (backend: BackendId, now: number) => Presence;
  private readonly sessions = new Map<string, Session>();
  /** Those that no call holds, by `touchedAt`. */
  private readonly idle = new IdleOrder<Session>();
  private readonly role: 'alone' | 'owner' | 'copies';
  private readonly watcher: SessionWatcher | null;
  private calls = 0;
  /** The number of the last claim. */
  private claims = 0;
  private readonly outcomes: Record<SessionOutcome, number> = { ...nothing };

  constructor(
    settings: SessionSettings,
    presence: (backend: BackendId, now: number) => Presence,
    role: 'alone' | 'owner' | 'copies',
    watcher: SessionWatcher | null,
  ) {
    this.settings = settings;
    this.presence = presence;
    this.role = role;
    this.watcher = watcher;
  }

  find(key: string, now: number): Found {
    const session = this.living(key, now);
    if (session === null) {
      if (this.hasRoom(now)) return none;
      this.outcomes.refused += 1;
      return full;
    }
    if (this.isLost(session, now)) {
      this.drop(session, 'lost');
      return { kind: 'lost', backend: session.backend };
    }
    return { kind: 'held', hold: this.join(session, now) };
  }

  claim(key: string, backend: BackendId, now: number): SessionHold | null {
    const standing = this.living(key, now);
    if (standing !== null) return this.join(standing, now);
    // Before room is made: what has expired is not evicted.
    this.sweep(now, sweptPerClaim);
    if (!this.makeRoom(now)) {
      this.outcomes.refused += 1;
      return null;
    }
    this.claims += 1;
    const session = sessionOf(key, backend, this.claims, now);
    this.sessions.set(key, session);
    this.outcomes.created += 1;
    return this.hold(session, now);
  }

  adopt(key: string, kept: KeptClaim, now: number): Exclude<Found, { kind: 'none' | 'full' }> {
    let session = this.sessions.get(key);
    if (session !== undefined && session.claim !== kept.claim) {
      this.forget(key);
      session = undefined;
    }
    if (session === undefined) {
      this.makeRoom(now);
      session = sessionOf(key, kept.backend, kept.claim, now - kept.age);
      session.usedAt = now - kept.idle;
      this.sessions.set(key, session);
      this.outcomes.created += 1;
      if (kept.fresh) return { kind: 'held', hold: this.hold(session, now) };
      session.touchedAt = now;
      this.idle.append(session);
    }
    session.usedAt = Math.max(session.usedAt, now - kept.idle);
    if (this.isLost(session, now)) {
      this.drop(session, 'lost');
      return { kind: 'lost', backend: session.backend };
    }
    return { kind: 'held', hold: this.join(session, now) };
  }

  claimOf(key: string, now: number): number | null {
    return this.living(key, now)?.claim ?? null;
  }

  slide(key: string, at: number): void {
    const session = this.sessions.get(key);
    if (session === undefined || at <= session.usedAt) return;
    session.usedAt = at;
    session.fresh = false;
  }

  lose(key: string): void {
    const session = this.sessions.get(key);
    if (session !== undefined) this.drop(session, 'lost');
  }

  forget(key: string): void {
    const session = this.sessions.get(key);
    if (session === undefined) return;
    this.sessions.delete(key);
    if (session.calls === 0) this.idle.remove(session);
  }

  peek(key: string): SessionFacts | null {
    return this.sessions.get(key) ?? null;
  }

  clear(): number {
    const { size } = this.sessions;
    this.sessions.clear();
    this.idle.clear();
    this.outcomes.cleared += size;
    return size;
  }

  stats(now: number): SessionStats {
    this.sweep(now, Number.POSITIVE_INFINITY);
    const { role, calls, outcomes } = this;
    if (role === 'copies') return { size: 0, calls, outcomes: { ...nothing, used: outcomes.used } };
    const used = role === 'owner' ? 0 : outcomes.used;
    return { size: this.sessions.size, calls, outcomes: { ...outcomes, used } };
  }

  keeps(session: Session): boolean {
    return this.sessions.get(session.key) === session;
  }

  drop(session: Session, outcome: DropOutcome): void {
    this.sessions.delete(session.key);
    if (session.calls === 0) this.idle.remove(session);
    this.outcomes[outcome] += 1;
    this.watcher?.onDropped(session, outcome);
  }

  leave(session: Session, now: number): void {
    this.calls -= 1;
    session.calls -= 1;
    session.touchedAt = now;
    if (session.calls > 0 || !this.keeps(session)) return;
    this.idle.append(session);
    this.watcher?.onIdle(session);
  }

  private join(session: Session, now: number): SessionHold {
    if (session.calls === 0) this.idle.remove(session);
    session.fresh = false;
    this.outcomes.used += 1;
    return this.hold(session, now);
  }

  /** @param session one that has no place among the idle ones */
  private hold(session: Session, now: number): SessionHold {
    session.calls += 1;
    session.touchedAt = now;
    this.calls += 1;
    if (session.calls === 1) this.watcher?.onBusy(session);
    return new Hold(this, session);
  }

  /** The session of that id; one whose time is over is dropped. */
  private living(key: string, now: number): Session | null {
    const session = this.sessions.get(key);
    if (session === undefined) return null;
    if (!this.isOver(session, now)) return session;
    this.drop(session, 'expired');
    return null;
  }

  private isOver({ calls, usedAt, createdAt }: Session, now: number): boolean {
    const { ttl, maxAge } = this.settings;
    return (calls === 0 && now >= usedAt + ttl) || (maxAge !== null && now >= createdAt + maxAge);
  }

  private isLost({ backend }: Session, now: number): boolean {
    const since = this.presence(backend, now);
    if (since === null) return false;
    if (since === 'gone') return true;
    // With 0 it is the refusal that counts: where all are parked a parked one is tried (D8).
    const { lostAfter } = this.settings;
    return lostAfter > 0 && now - since > lostAfter;
  }

  private hasRoom(now: number): boolean {
    if (this.role === 'copies' || this.sessions.size < this.settings.maxEntries) return true;
    const { oldest } = this.idle;
    return oldest !== null && (now >= oldest.touchedAt + evictableAfter || this.isOver(oldest, now));
  }

  private makeRoom(now: number): boolean {
    if (this.sessions.size < this.settings.maxEntries) return true;
    const { oldest } = this.idle;
    if (oldest === null || (this.role !== 'copies' && now < oldest.touchedAt + evictableAfter)) return false;
    this.drop(oldest, 'evicted');
    return true;
  }

  /** Whoever was left alone for longest has expired first, or soon after: nobody stays longer than the idle time after its last call. */
  private sweep(now: number, most: number): void {
    for (let dropped = 0; dropped < most; dropped += 1) {
      const { oldest } = this.idle;
      if (oldest === null || !this.isOver(oldest, now)) return;
      this.drop(oldest, 'expired');
    }
  }
}
