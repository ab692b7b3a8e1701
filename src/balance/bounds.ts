import type { TargetName } from '../grpc/backend-id.js';
import type { Bounds, Candidate } from './types.js';

/** Whether a pick within the bounds may come to the candidate. */
export function allows({ only, exclude }: Bounds, candidate: Candidate): boolean {
  if (only !== null && !isMeant(candidate, only)) return false;
  return !(exclude.includes(candidate.name) || exclude.includes(candidate.id));
}

/** Whether a target names any candidate: a pin that names none is a mistake in any mode (D6). */
export function knows(candidates: readonly Candidate[], target: TargetName): boolean {
  return candidates.some((candidate) => isMeant(candidate, target));
}

/** A group's name means any member, `NAME/ADDR` that one (contract, --backend). */
function isMeant({ id, name }: Candidate, target: TargetName): boolean {
  return id === target || name === target;
}
