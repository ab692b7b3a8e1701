import type { Directives } from '../grpc/directives.js';
import type { Placement } from '../policy/types.js';
import type { ProxyParts } from './parts.js';

const anywhere: Placement = { kind: 'any' };

/** Where a call's attempts may go: by what its client asks, and how the operator has pins bind (D1, D2). */
export function placementOf(
  { pin, allowRetry }: Directives,
  parts: Pick<ProxyParts, 'pin' | 'pinSameBackendRetry'>,
): Placement {
  if (pin === null) return anywhere;
  return allowRetry || parts.pin === 'first-attempt'
    ? { kind: 'firstOnly', target: pin, by: 'pin' }
    : { kind: 'only', target: pin, by: 'pin', again: parts.pinSameBackendRetry };
}
