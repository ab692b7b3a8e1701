import type { BackendId } from '../grpc/backend-id.js';
import type { DropOutcome, SessionFacts, SessionHold, SessionOutcome } from './session-hold.js';

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

export interface SessionStats {
  /** Sessions kept. */
  readonly size: number;
  /** Calls that have a hold of one. */
  readonly calls: number;
  /** Since the start. */
  readonly outcomes: Readonly<Record<SessionOutcome, number>>;
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

/** A claim as the process that owns it tells it to one that asks (D31). */
export interface KeptClaim {
  readonly backend: BackendId;
  /** As the owner numbers them. */
  readonly claim: number;
  /** Milliseconds since it was made, and since its idle time runs: processes have clocks of their own. */
  readonly age: number;
  readonly idle: number;
  /** It was made for the call that asks. */
  readonly fresh: boolean;
}

/**
 * The sessions of one of several processes (D31): the owner has them all, the others have copies of those that their calls
 * have come to. What each counts is its part of what one process would count, so that the sum over all is that.
 */
export interface SharedSessions extends Sessions {
  /**
   * Keeps the claim, in the place of any other that the id has here, and holds it for one call. Lost where the backend is gone
   * or away too long, unless the claim is fresh: its pick has judged the backend.
   */
  adopt(key: string, kept: KeptClaim, now: number): Exclude<Found, { kind: 'none' | 'full' }>;
  /** Its number; null: none is kept. */
  claimOf(key: string, now: number): number | null;
  /** Its backend was reached elsewhere, at clock milliseconds `at`. */
  slide(key: string, at: number): void;
  /** It was lost elsewhere. */
  lose(key: string): void;
  /** Drops it as `clear` drops all, and counts nothing: it is no longer the owner's. */
  forget(key: string): void;
  /** As it stands, also where its time is over; null: none is kept. */
  peek(key: string): SessionFacts | null;
}

/**
 * Hears of what becomes of sessions, in the midst of it: it may end holds, and is to do nothing else to the table. Of those
 * that are cleared or forgotten it hears nothing more.
 */
export interface SessionWatcher {
  /** A call holds it, and none did. */
  onBusy(session: SessionFacts): void;
  /** The last call that held it is over. */
  onIdle(session: SessionFacts): void;
  onDropped(session: SessionFacts, outcome: DropOutcome): void;
}

/** Asks whoever owns the sessions, where another process does (D31). */
export interface SessionOwner {
  /**
   * One call's question, before a pick: who has the session, and if nobody has, that the candidate shall.
   *
   * @param candidate null: nobody can be picked
   * @param done not called in the same turn; `none` only where there was no candidate. A hold is the caller's to end
   * @returns gives the question up: `done` is not called any more, and nothing is held
   */
  ask(key: string, candidate: BackendId | null, done: (found: Found) => void): () => void;
}
