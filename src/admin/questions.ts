import type { SessionStats } from '../balance/sessions.js';
import { type Acted, actOn } from './action-endpoint.js';
import type { AdminState } from './admin-state.js';
import type { BackendAction } from './backend-actions.js';
import { isUp } from './backend-state.js';
import type { LiveSnapshot, RecentCall } from './live.js';

/*
 * What a primary asks its workers for the admin listener, and what they answer, in values that structured clone takes.
 */

export type WorkerQuestion =
  | { readonly kind: 'act'; readonly action: BackendAction; readonly segment: string; readonly query: string }
  | { readonly kind: 'live' }
  /** By worker the number of the newest call that is known of it; absent: none is. */
  | { readonly kind: 'calls'; readonly since: ReadonlyMap<number, number> }
  | { readonly kind: 'ready' }
  | { readonly kind: 'sessions' }
  /** Its text comes before the answer, in pieces. */
  | { readonly kind: 'metrics' };

export type WorkerAnswer =
  | { readonly kind: 'act'; readonly acted: Acted }
  | { readonly kind: 'live'; readonly snapshot: LiveSnapshot }
  /** Newest first. */
  | { readonly kind: 'calls'; readonly calls: readonly RecentCall[] }
  /** Backends with a live connection, whatever else they are. */
  | { readonly kind: 'ready'; readonly connected: readonly string[] }
  | { readonly kind: 'sessions'; readonly stats: SessionStats }
  /** The text is whole. */
  | { readonly kind: 'metrics' };

/**
 * What a worker answers; all but a long text in the turn of the question. Rejects for a fault of ours.
 *
 * @param worker its number
 * @param onPiece takes a long text piece by piece
 * @returns null: it has no such text, or makes as many as may be
 */
export async function answerQuestion(
  state: AdminState,
  worker: number,
  question: WorkerQuestion,
  onPiece: (text: string) => void,
): Promise<WorkerAnswer | null> {
  const { kind } = question;
  switch (kind) {
    case 'act':
      return { kind, acted: actOn(question.action, question, state) };
    case 'live':
      return { kind, snapshot: state.watch.snapshot() };
    case 'calls':
      return { kind, calls: [...state.watch.ring.since(question.since.get(worker) ?? 0)] };
    case 'ready':
      return { kind, connected: state.pool.backends.filter(isUp).map(({ id }) => id) };
    case 'sessions':
      return { kind, stats: state.sessions.stats(state.now()) };
    case 'metrics': {
      const { metrics } = state;
      if (metrics === undefined || metrics.full) return null;
      for await (const piece of metrics.read()) onPiece(piece.toString());
      return { kind };
    }
    default:
      return question satisfies never;
  }
}
