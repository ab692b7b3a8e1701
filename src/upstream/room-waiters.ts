import type { Turn } from '../runtime/ports.js';
import type { UpstreamBackend } from './types.js';

/** Calls that wait until any backend has room for them (waitForReady). First come, first served. */
export class RoomWaiters {
  private readonly waiting = new Set<() => void>();
  private readonly backends: () => readonly Pick<UpstreamBackend, 'link'>[];
  private readonly turn: Turn;
  private readonly limit: () => number;

  /** @param limit waiters, at most */
  constructor(backends: () => readonly Pick<UpstreamBackend, 'link'>[], turn: Turn, limit: () => number) {
    this.backends = backends;
    this.turn = turn;
    this.limit = limit;
  }

  /** Calls that wait. */
  get size(): number {
    return this.waiting.size;
  }

  /** False: as many wait as may. */
  add(listener: () => void): boolean {
    if (this.waiting.size >= this.limit()) return false;
    this.waiting.add(listener);
    return true;
  }

  forget(listener: () => void): void {
    this.waiting.delete(listener);
  }

  /** A connection came up, or a full queue has a place: at the end of the turn they are called, while there is room. */
  tell(): void {
    if (this.waiting.size > 0) this.turn.atEnd(() => this.tellNow());
  }

  private tellNow(): void {
    for (const listener of [...this.waiting]) {
      if (!this.backends().some(({ link }) => link !== 'backoff' && link !== 'full')) return;
      // Whoever finds no place all the same comes back, and is told the next time.
      if (this.waiting.delete(listener)) listener();
    }
  }
}
