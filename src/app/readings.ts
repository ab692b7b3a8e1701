import { stateOf } from '../admin/backend-state.js';
import type { LiveThrottle } from '../admin/live.js';
import type { HealthView } from '../balance/types.js';
import type { CallCounts } from '../control/channelz-types.js';
import { WireTally } from '../http2/wire-tally.js';
import type { Throttle } from '../policy/throttle.js';
import type { BackendReading, Meters, WireReading } from '../proxy/meters.js';
import type { UpstreamPool } from '../upstream/types.js';

/** What the metrics tell of each backend there is. @param now clock milliseconds */
export function readBackends(
  pool: Pick<UpstreamPool, 'backends' | 'inFlightOf'>,
  health: HealthView,
  now: number,
): readonly BackendReading[] {
  return pool.backends.map((backend) => {
    const { id, name, queued, connections } = backend;
    const state = stateOf(backend, { standing: health.standing(id, now) });
    return { name, state, inFlight: pool.inFlightOf(id), queued, connections };
  });
}

/** What a side's connections have read and written so far. */
export function readWire({ receivedBytes, receivedFrames, sentBytes, sentFrames }: WireTally): WireReading {
  return {
    received: { bytes: receivedBytes, frames: WireTally.named(receivedFrames) },
    sent: { bytes: sentBytes, frames: WireTally.named(sentFrames) },
  };
}

/** The token bucket in tokens, to a thousandth; null where nothing throttles. */
export function readThrottle(throttle: Pick<Throttle, 'state' | 'suppressed' | 'isShut'>): LiveThrottle | null {
  const { state, suppressed } = throttle;
  if (state === null) return null;
  const { maxMilliTokens, milliTokensPerSuccess } = state.limits;
  return {
    tokens: state.milliTokens / 1000,
    max_tokens: maxMilliTokens / 1000,
    threshold: maxMilliTokens / 2000,
    token_ratio: milliTokensPerSuccess / 1000,
    shut: throttle.isShut(false),
    suppressed,
  };
}

/** Clients' calls for channelz. When the last began is not noted. @param open calls in flight */
export function readCalls(meters: Pick<Meters, 'live'>, open: number): CallCounts {
  const { ended, ok } = meters.live().calls;
  return { started: ended + open, succeeded: ok, failed: ended - ok, lastStarted: null };
}
