import type { BackendHealth, HealthChange } from '../balance/health-types.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { BackendTls } from '../upstream/connect.js';
import { watchOf } from '../upstream/health-stream.js';
import { createHealthWatch, type HealthWatch, type HealthWord } from '../upstream/health-watch.js';
import type { UpstreamBackend } from '../upstream/types.js';
import type { Ports } from './ports.js';

/** What the watches of backends work by. */
export interface WatchesOptions {
  /** What is asked for; empty: the whole server. */
  readonly service: string;
  readonly tls: () => BackendTls | null;
  readonly health: (id: BackendId) => BackendHealth;
  readonly onHealthChange: (change: HealthChange) => void;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** Milliseconds; see HealthWatchOptions. */
  readonly answerTimeout: number;
  readonly backoffMax: number;
}

/** Active health checks: one Watch for each backend (`--health-check`), which feeds the same tracker as calls do. */
export interface HealthWatches {
  /** The set of backends is this. */
  follow(backends: readonly UpstreamBackend[]): void;
  /** It has been connected to anew. */
  renew(id: BackendId): void;
  stop(): void;
}

export function createHealthWatches(options: WatchesOptions, { clock, alarms, random }: Ports): HealthWatches {
  const watches = new Map<BackendId, HealthWatch>();

  function start(id: BackendId, backend: UpstreamBackend): void {
    const watch = createHealthWatch({
      open: watchOf(backend.endpoint, backend.host, options.service, options.tls),
      clock,
      alarms,
      random,
      answerTimeout: options.answerTimeout,
      backoffMax: options.backoffMax,
      onWord: (word) => hear(id, word),
    });
    watches.set(id, watch);
    watch.start();
  }

  function hear(id: BackendId, word: HealthWord): void {
    const fields = { backend: id, event: 'health_check', status: word.kind };
    if (word.kind === 'serving') options.tell('info', fields, `backend ${id} says that it serves`);
    else options.tell('warn', fields, `backend ${id}: ${word.detail}`);
    // A Watch that could not be made says nothing of the backend: what was said before stands.
    if (word.kind === 'unknown') return;
    const change = options.health(id).checked(word.kind !== 'not_serving', clock.now());
    if (change !== null) options.onHealthChange(change);
  }

  return {
    follow(backends) {
      const wanted = new Map(backends.filter(({ phase }) => phase === 'serving').map((one) => [one.id, one]));
      for (const [id, watch] of watches) {
        if (wanted.has(id)) continue;
        watch.stop();
        watches.delete(id);
      }
      for (const [id, backend] of wanted) if (!watches.has(id)) start(id, backend);
    },
    renew: (id) => watches.get(id)?.renew(),
    stop() {
      for (const watch of watches.values()) watch.stop();
      watches.clear();
    },
  };
}
