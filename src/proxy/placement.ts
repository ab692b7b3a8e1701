import type { Directives } from '../grpc/directives.js';
import type { Placement } from '../policy/types.js';
import type { ProxyParts } from './parts.js';

const anywhere: Placement = { kind: 'any' };

/**
 * Where a call's attempts may go: by what its client asks, and how the operator has pins and sessions bind (D1, D2). A pin
 * goes before a session (D3). A session's target is looked up, or claimed, by its seat.
 */
export function placementOf(
  { pin, session, allowRetry }: Directives,
  parts: Pick<ProxyParts, 'pin' | 'session' | 'pinSameBackendRetry'>,
): Placement {
  if (pin === null && session === null) return anywhere;
  const [target, by, strictness] =
    pin === null ? (['', 'session', parts.session] as const) : ([pin, 'pin', parts.pin] as const);
  return allowRetry || strictness === 'first-attempt'
    ? { kind: 'firstOnly', target, by }
    : { kind: 'only', target, by, again: parts.pinSameBackendRetry };
}
