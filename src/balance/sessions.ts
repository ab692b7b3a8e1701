import type { BackendId } from '../grpc/backend-id.js';
import { type Idle, IdleOrder } from './sessions-idle.js';

/** How long sessions live. Durations in milliseconds. */
export interface SessionSettings {
  /** After so long without a call that reached the backend a session is over; above 0 (D14). */
  readonly ttl: number;
  /** After so long it is over however much it is used; null: never. */
  readonly maxAge: number | null;
  /** How many are kept, at least 1. */
  readonly maxEntries: number;
  /** A session whose backend cannot be used for longer is lost; 0: at the first call that the backend is refused (D15). */
  readonly lostAfter: number;
}

/**
 * How a backend is with the sessions that have it (D15): `gone` when it was removed or its drain has ended, else the clock
 * milliseconds since which it has been parked or without a connection, without a break; null: it can be used.
 */
export type Presence = 'gone' | number | null;

/** What became of sessions, one closed set for the metric. */
export type SessionOutcome =
  /** A first call had its backend picked. */
  | 'created'
  /** A later call was given the session's backend. */
  | 'used'
  /** Its time was over. */
  | 'expired'
  /** Its backend was gone, and a call was told. */
  | 'lost'
  /** It had been idle, and a new one needed its room. */
  | 'evicted'
  /** A new one that there was no room for. */
  | 'refused'
  /** Its first call never came to its backend, and nobody else had used it. */
  | 'released'
  /** By hand. */
  | 'cleared';

export interface SessionStats {
  /** Sessions kept. */
  readonly size: number;
  /** Calls that have a hold of one. */
  readonly calls: number;
  /** Since the start. */
  readonly outcomes: Readonly<Record<SessionOutcome, number>>;
}

/**
 * One call's hold of a session, until `ended`. While any call holds a session it is not idle: it neither expires by its idle
 * time nor makes room for another. The methods do nothing once the session is no longer kept: lost, cleared, released.
 */
export interface SessionHold {
  readonly backend: BackendId;
  /**
   * This is the session's first call, no other has used it, and the backend has not been reached: nothing can depend on the
   * claim (D29).
   */
  readonly fresh: boolean;
  /**
   * An attempt on the session's backend has been answered, or ended without proof that it was not processed. Slides the idle
   * time.
   */
  reached(now: number): void;
  /** Gives a fresh claim back, so that the call may be placed again. Says whether it was fresh; the hold is then over. */
  release(): boolean;
  /** The backend may not be used by this call now: parked, or without a connection. True: the session is lost by that (D15). */
  refused(): boolean;
  /** The call is over. To be called once for every hold; more do nothing. */
  ended(now: number): void;
}

/** What a call with a session id comes to. */
export type Found =
  | { readonly kind: 'held'; readonly hold: SessionHold }
  /** A new session, or one that expired: pick, then `claim` in the same turn. */
  | { readonly kind: 'none' }
  /** Told once (D15): the session is no longer kept. */
  | { readonly kind: 'lost'; readonly backend: BackendId }
  /** A new session, and no room: nobody else's session in use is dropped for it (D14). */
  | { readonly kind: 'full' };

/** All sessions of the process. Keys are opaque: what the client sent has been hashed (D31), and no text made here has them. */
export interface Sessions {
  /** @param now clock milliseconds, as everywhere here */
  find(key: string, now: number): Found;
  /**
   * Ties the session to a backend, after `find` said `none`. A session that another call claimed meanwhile is that one's: the
   * hold's backend decides, whatever was asked. Null: the last room has been taken meanwhile.
   */
  claim(key: string, backend: BackendId, now: number): SessionHold | null;
  /** Drops all. Calls in flight go on, and are of no session. Returns how many there were. */
  clear(): number;
  /** Drops what has expired unnoticed, and counts. */
  stats(now: number): SessionStats;
}

/** A session that was used within so long (ms) is dropped for nobody (D14). */
const evictableAfter = 60_000;
/** Expired sessions dropped in passing by each new one: more than come, so that they never pile up. */
const sweptPerClaim = 2;

const none: Found = { kind: 'none' };
const full: Found = { kind: 'full' };

interface Session extends Idle<Session> {
  readonly key: string;
  readonly backend: BackendId;
  readonly createdAt: number;
  /** Idle time runs from here: when the backend was last reached, or a call that had reached it ended; at first the claim. */
  usedAt: number;
  /** When a call last had a hold: one that was refused shows as well that somebody cares. */
  touchedAt: number;
  /** Holds that have not ended. */
  calls: number;
  /** The first call has not come to the backend, and no other has had a hold. */
  fresh: boolean;
}

/** @param presence asked once for a call that is of a session already */
export function createSessions(
  settings: SessionSettings,
  presence: (backend: BackendId, now: number) => Presence,
): Sessions {
  return new SessionTable(settings, presence);
}

class SessionTable implements Sessions {
  readonly settings: SessionSettings;
  private readonly presence: (backend: BackendId, now: number) => Presence;
  private readonly sessions = new Map<string, Session>();
  /** Those that no call holds, by `touchedAt`. */
  private readonly idle = new IdleOrder<Session>();
  private calls = 0;
  private readonly outcomes: Record<SessionOutcome, number> = {
    created: 0,
    used: 0,
    expired: 0,
    lost: 0,
    evicted: 0,
    refused: 0,
    released: 0,
    cleared: 0,
  };

  constructor(settings: SessionSettings, presence: (backend: BackendId, now: number) => Presence) {
    this.settings = settings;
    this.presence = presence;
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
    const session: Session = {
      key,
      backend,
      createdAt: now,
      usedAt: now,
      touchedAt: now,
      calls: 1,
      fresh: true,
      older: null,
      newer: null,
    };
    this.sessions.set(key, session);
    this.calls += 1;
    this.outcomes.created += 1;
    return new Hold(this, session);
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
    return { size: this.sessions.size, calls: this.calls, outcomes: { ...this.outcomes } };
  }

  /** Whether it is still the one of its id: a hold may outlive its session, and another may have the id by then. */
  keeps(session: Session): boolean {
    return this.sessions.get(session.key) === session;
  }

  drop(session: Session, outcome: SessionOutcome): void {
    this.sessions.delete(session.key);
    if (session.calls === 0) this.idle.remove(session);
    this.outcomes[outcome] += 1;
  }

  /** One of its calls is over. */
  leave(session: Session, now: number): void {
    this.calls -= 1;
    session.calls -= 1;
    session.touchedAt = now;
    if (session.calls === 0 && this.keeps(session)) this.idle.append(session);
  }

  private join(session: Session, now: number): SessionHold {
    if (session.calls === 0) this.idle.remove(session);
    session.calls += 1;
    session.touchedAt = now;
    session.fresh = false;
    this.calls += 1;
    this.outcomes.used += 1;
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
    if (this.sessions.size < this.settings.maxEntries) return true;
    const { oldest } = this.idle;
    return oldest !== null && (now >= oldest.touchedAt + evictableAfter || this.isOver(oldest, now));
  }

  private makeRoom(now: number): boolean {
    if (this.sessions.size < this.settings.maxEntries) return true;
    const { oldest } = this.idle;
    if (oldest === null || now < oldest.touchedAt + evictableAfter) return false;
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

class Hold implements SessionHold {
  private readonly table: SessionTable;
  private readonly session: Session;
  private hasReached = false;
  private over = false;
  /** The claim was made for this hold's call. */
  private readonly first: boolean;

  constructor(table: SessionTable, session: Session) {
    this.table = table;
    this.session = session;
    this.first = session.fresh;
  }

  get backend(): BackendId {
    return this.session.backend;
  }

  get fresh(): boolean {
    return this.first && !this.over && this.session.fresh && this.table.keeps(this.session);
  }

  reached(now: number): void {
    if (this.over) return;
    this.hasReached = true;
    this.session.fresh = false;
    this.session.usedAt = now;
  }

  release(): boolean {
    if (!this.fresh) return false;
    this.table.drop(this.session, 'released');
    this.over = true;
    this.table.leave(this.session, this.session.touchedAt);
    return true;
  }

  refused(): boolean {
    if (this.over || this.table.settings.lostAfter > 0 || !this.table.keeps(this.session)) return false;
    this.table.drop(this.session, 'lost');
    return true;
  }

  ended(now: number): void {
    if (this.over) return;
    this.over = true;
    // A stream that was open for an hour was use for an hour.
    if (this.hasReached) this.session.usedAt = now;
    this.table.leave(this.session, now);
  }
}
