import { allows, knows } from '../balance/bounds.js';
import type { Directives } from '../grpc/directives.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { Placement } from '../policy/types.js';
import type { ProxyParts } from './parts.js';

/** Why a call ends before its first attempt. */
export interface Refusal {
  readonly code: StatusCode;
  readonly reason: StopReason;
  readonly detail: string;
}

/**
 * The gates that a call passes before its first attempt; null: it may go on. What they refuse takes no token and waits for
 * nothing (D12, Token debit).
 */
export function gateOf(
  placement: Placement,
  { exclude }: Directives,
  { pool, hasName }: Pick<ProxyParts, 'pool' | 'hasName'>,
): Refusal | null {
  const { backends } = pool;
  if (placement.kind !== 'any' && placement.by === 'pin') {
    const { target } = placement;
    // D6: a mistake in any mode. A name that is yet to be resolved names somebody too (D7).
    if (!knows(backends, target) && !hasName(target)) {
      const detail = `no backend is named ${JSON.stringify(target)}`;
      return { code: Status.UNAVAILABLE, reason: 'pin_unknown', detail };
    }
  }
  // Where there is no backend at all it is not for the exclude that none is left.
  const excluded = exclude.length > 0 && backends.length > 0;
  if (excluded && !backends.some((backend) => allows({ only: null, strict: false, exclude }, backend)))
    return { code: Status.UNAVAILABLE, reason: 'no_backend', detail: 'the call excludes every backend' };
  return null;
}
