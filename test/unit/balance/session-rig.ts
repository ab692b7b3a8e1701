import {
  createSessions,
  type Found,
  type Presence,
  type SessionHold,
  type SessionSettings,
  type Sessions,
} from '../../../src/balance/sessions.js';
import { backendId } from '../../../src/grpc/backend-id.js';

export const a = backendId('a');
export const b = backendId('b');

/** As a process without settings has them. */
export const usual: SessionSettings = { ttl: 1_800_000, maxAge: null, maxEntries: 100_000, lostAfter: 60_000 };

export interface SessionRig {
  readonly sessions: Sessions;
  /** How backends are; who is not here can be used. */
  readonly presence: Map<string, Presence>;
}

export function sessionRig(settings: Partial<SessionSettings> = {}): SessionRig {
  const presence = new Map<string, Presence>();
  const sessions = createSessions({ ...usual, ...settings }, (backend) => presence.get(backend) ?? null);
  return { sessions, presence };
}

/** The hold of a call that has one. */
export function held(found: Found | SessionHold | null): SessionHold {
  if (found === null) throw new Error('the claim found no room');
  if (!('kind' in found)) return found;
  if (found.kind !== 'held') throw new Error(`the session is not held: ${found.kind}`);
  return found.hold;
}

/** A first call, from its claim to the end of its answer. */
export function served(sessions: Sessions, key: string, backend: typeof a, now: number): void {
  const hold = held(sessions.claim(key, backend, now));
  hold.reached(now);
  hold.ended(now);
}

/** What a call is told, in one word: the backend, or why it has none. The call ends in the same instant, unreached. */
export function asked(sessions: Sessions, key: string, now: number): string {
  const found = sessions.find(key, now);
  if (found.kind !== 'held') return found.kind;
  found.hold.ended(now);
  return found.hold.backend;
}
