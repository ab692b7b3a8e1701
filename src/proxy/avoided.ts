import type { BackendId } from '../grpc/backend-id.js';
import type { Attempt } from './attempt.js';

/** D5, D16: hedges in flight, and those that wait for a place, leave their backends to none of the others. */
export function avoidedAmong(
  attempt: Pick<Attempt, 'avoid'>,
  all: readonly Pick<Attempt, 'avoid' | 'at' | 'end' | 'cancelled'>[],
): readonly BackendId[] {
  const avoided = [...attempt.avoid];
  for (const other of all) {
    const at = other === attempt || other.end !== null || other.cancelled ? null : other.at;
    if (at !== null && !avoided.includes(at)) avoided.push(at);
  }
  return avoided;
}
