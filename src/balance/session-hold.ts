import type { BackendId } from '../grpc/backend-id.js';
import type { Idle } from './sessions-idle.js';

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

/** Those by which a session is kept no longer, but for `cleared`. */
export type DropOutcome = Extract<SessionOutcome, 'expired' | 'lost' | 'evicted' | 'released'>;

/**
 * One call's hold of a session, until `ended`. While any call holds a session it is not idle: it neither expires by its idle
 * time nor makes room for another. The methods do nothing once the session is no longer kept: lost, cleared, released.
 */
export interface SessionHold {
  readonly backend: BackendId;
  /** Which of the sessions that its id has had: no two have one number (D31). */
  readonly claim: number;
  /** When it was claimed. */
  readonly createdAt: number;
  /** Idle time runs from here. */
  readonly usedAt: number;
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

/** What tells one session from another that has its id later. */
export interface SessionFacts {
  readonly key: string;
  readonly backend: BackendId;
  /** Which of the sessions that its id has had: no two have one number (D31). */
  readonly claim: number;
  readonly createdAt: number;
  /** Idle time runs from here: when the backend was last reached, or a call that had reached it ended; at first the claim. */
  readonly usedAt: number;
  /** Holds that have not ended. */
  readonly calls: number;
}

/** A session as its table keeps it. */
export interface Session extends SessionFacts, Idle<Session> {
  usedAt: number;
  /** When a call last had a hold: one that was refused shows as well that somebody cares. */
  touchedAt: number;
  calls: number;
  /** The first call has not come to the backend, and no other has had a hold. */
  fresh: boolean;
}

/** What a hold needs of the table that its session is in. */
export interface HoldKeeper {
  readonly settings: { readonly lostAfter: number };
  /** Whether it is still the one of its id: a hold may outlive its session, and another may have the id by then. */
  keeps(session: Session): boolean;
  drop(session: Session, outcome: DropOutcome): void;
  /** One of its calls is over. */
  leave(session: Session, now: number): void;
}

/** The hold that is made for a call of a kept session. */
export class Hold implements SessionHold {
  private readonly table: HoldKeeper;
  private readonly session: Session;
  private hasReached = false;
  private over = false;
  /** The claim was made for this hold's call. */
  private readonly first: boolean;

  constructor(table: HoldKeeper, session: Session) {
    this.table = table;
    this.session = session;
    this.first = session.fresh;
  }

  get backend(): BackendId {
    return this.session.backend;
  }

  get claim(): number {
    return this.session.claim;
  }

  get createdAt(): number {
    return this.session.createdAt;
  }

  get usedAt(): number {
    return this.session.usedAt;
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
    // Before it is dropped: whoever is told of that may end all holds that are left.
    this.over = true;
    this.table.drop(this.session, 'released');
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
