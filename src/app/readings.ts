import { stateOf } from '../admin/backend-state.js';
import type { HealthView } from '../balance/types.js';
import { WireTally } from '../http2/wire-tally.js';
import type { BackendReading, WireReading } from '../proxy/meters.js';
import type { UpstreamBackend } from '../upstream/types.js';

/** What the metrics tell of each backend there is. @param now clock milliseconds */
export function readBackends(
  backends: readonly UpstreamBackend[],
  health: HealthView,
  now: number,
): readonly BackendReading[] {
  return backends.map((backend) => {
    const { id, name, inFlight, queued, connections } = backend;
    const state = stateOf(backend, { standing: health.standing(id, now) });
    return { name, state, inFlight, queued, connections };
  });
}

/** What a side's connections have read and written so far. */
export function readWire({ receivedBytes, receivedFrames, sentBytes, sentFrames }: WireTally): WireReading {
  return {
    received: { bytes: receivedBytes, frames: WireTally.named(receivedFrames) },
    sent: { bytes: sentBytes, frames: WireTally.named(sentFrames) },
  };
}
