import { createHealth } from '../balance/health.js';
import { defaultHealth, type Health, type HealthChange } from '../balance/health-types.js';
import type { Presence } from '../balance/sessions.js';
import type { Settings } from '../config/settings.js';
import type { UpstreamBackend } from '../upstream/types.js';

/** The tracker of all backends' health, and what sessions and the log ask of it. */
export interface HealthBook {
  readonly health: Health;
  /** Every change comes by here on its way out. */
  onChange(change: HealthChange): void;
  /** A backend was connected to anew, or no connection to it is up. */
  noteLink(backend: Pick<UpstreamBackend, 'id' | 'downSince'>): void;
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
  return {
    health,
    onChange: tell,
    noteLink({ id, downSince }) {
      if (downSince !== null) {
        health.of(id).disconnected(downSince, now());
        return;
      }
      // D8: failures of the transport are void once there is a new connection.
      const released = health.of(id).connected(now());
      if (released !== null) tell(released);
    },
    presenceOf(backend, at) {
      if (backend === undefined || backend.phase === 'left') return 'gone';
      const { id, downSince } = backend;
      const absentSince = health.absentSince(id, at);
      return downSince === null || absentSince === null ? (downSince ?? absentSince) : Math.min(downSince, absentSince);
    },
  };
}
