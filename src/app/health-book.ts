import { createHealth } from '../balance/health.js';
import { defaultHealth, type Health, type HealthChange } from '../balance/health-types.js';
import type { Presence } from '../balance/sessions.js';
import type { Settings } from '../config/settings.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { UpstreamBackend } from '../upstream/types.js';

/** The tracker of all backends' health, and since when each has been parked. */
export interface HealthBook {
  readonly health: Health;
  /** Every change comes by here on its way out. */
  onChange(change: HealthChange): void;
  /** How a session's backend is, for its sessions (D15). @param backend undefined: there is none of that name */
  presenceOf(backend: UpstreamBackend | undefined, now: number): Presence;
}

/** @param tell hears of each change */
export function createHealthBook(
  settings: Settings,
  now: () => number,
  tell: (change: HealthChange) => void,
): HealthBook {
  const health = createHealth({
    ...defaultHealth,
    hardFailures: settings.healthHardFailures,
    aliveWindow: settings.healthAliveWindow,
    rateFloor: settings.healthFailureRate,
    parkFirst: settings.healthPark,
    parkMax: settings.healthParkMax,
    recentWindow: settings.healthRecentWindow,
    probeGrace: settings.healthProbeGrace,
  });
  /** What had lapsed and was parked again without a success between has been parked all the time. */
  const parks = new Map<BackendId, number>();
  return {
    health,
    onChange(change) {
      if (change.kind === 'released') parks.delete(change.id);
      else if (change.reason === 'operator' || (change.reason !== 'rate_limited' && !parks.has(change.id)))
        parks.set(change.id, now());
      tell(change);
    },
    presenceOf(backend, at) {
      if (backend === undefined || backend.phase === 'left') return 'gone';
      const { id, downSince } = backend;
      const parkedSince = health.standing(id, at) === 'parked' ? (parks.get(id) ?? null) : null;
      return downSince === null || parkedSince === null ? (downSince ?? parkedSince) : Math.min(downSince, parkedSince);
    },
  };
}
