import type { KeptClaim } from '../balance/sessions.js';
import type { BackendId } from '../grpc/backend-id.js';

/*
 * What workers and their primary tell each other of sessions (D31), in values that structured clone takes. Each channel must
 * keep the order: a worker has what it was told last.
 */

/** What the owner says to one question. */
export type OwnerAnswer =
  | ({ readonly kind: 'kept' } & KeptClaim)
  /** Nobody has it, and there was no candidate. */
  | { readonly kind: 'none' }
  /** A new session, and no room (D14). */
  | { readonly kind: 'full' };

/** What became of one session in a worker since it last told. */
export interface SessionNewsEntry {
  readonly key: string;
  /** Which claim of the id the worker has. */
  readonly claim: number;
  /** A call there holds it. */
  readonly busy: boolean;
  /** Milliseconds since its backend was last reached, as far as the worker knows. */
  readonly usedAgo: number;
}

export type SessionToPrimary =
  | { readonly type: 'session_ask'; readonly ask: number; readonly key: string; readonly candidate: BackendId | null }
  | { readonly type: 'session_news'; readonly entries: readonly SessionNewsEntry[] }
  /** A call was told that its session is lost (D15). */
  | { readonly type: 'session_lost'; readonly key: string; readonly claim: number }
  /** The first call never came to its backend (D29). */
  | { readonly type: 'session_released'; readonly key: string; readonly claim: number };

export type SessionToWorker =
  | { readonly type: 'session_answer'; readonly ask: number; readonly answer: OwnerAnswer }
  /**
   * Sessions that are kept no longer.
   *
   * @param idle they were dropped as nobody seemed to use them: a worker whose calls do keeps its copy and says so
   */
  | { readonly type: 'session_gone'; readonly keys: readonly string[] | 'all'; readonly idle: boolean };
