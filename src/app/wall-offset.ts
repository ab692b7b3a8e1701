import type { Clock } from '../runtime/ports.js';

/**
 * What makes milliseconds since 1970 of the clock's, as the two stand now. A clock that stands still within a turn is asked
 * afresh: the wall clock goes on in the turn, and the difference would grow with it.
 */
export function wallOffset(clock: Clock, wallNow: () => number): number {
  return wallNow() - (clock.fresh === undefined ? clock.now() : clock.fresh());
}
