import type { BackendHealth, HealthChange } from '../balance/health-types.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { BackendTls } from '../upstream/connect.js';
import { formatEndpoint } from '../upstream/endpoint.js';
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
  /** Of the set, this one was drained, or its drain was taken back. */
  look(backend: UpstreamBackend): void;
  /** It has been connected to anew. */
  renew(id: BackendId): void;
  stop(): void;
}

export function createHealthWatches(options: WatchesOptions, { clock, alarms, random }: Ports): HealthWatches {
  const watches = new Map<BackendId, { readonly backend: UpstreamBackend; watch: HealthWatch | null }>();
  let stopped = false;

  function start(backend: UpstreamBackend): HealthWatch {
    const { id } = backend;
    const watch = createHealthWatch({
      open: watchOf(backend.endpoint, backend.host, options.service, options.tls),
      clock,
      alarms,
      random,
      answerTimeout: options.answerTimeout,
      backoffMax: options.backoffMax,
      onWord: (word) => hear(id, word),
    });
    watch.start();
    return watch;
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

  function end(id: BackendId): void {
    watches.get(id)?.watch?.stop();
    watches.delete(id);
  }

  /** What was said at another address was about another process. */
  function move(before: UpstreamBackend, { id, endpoint }: UpstreamBackend): void {
    if (formatEndpoint(before.endpoint) === formatEndpoint(endpoint)) return;
    const change = options.health(id).unchecked();
    if (change !== null) options.onHealthChange(change);
  }

  /** One that drains is not asked: its server could not end while a Watch is open. What it said stands. */
  function look(backend: UpstreamBackend): void {
    if (stopped) return;
    const { id } = backend;
    let known = watches.get(id);
    if (known === undefined || known.backend !== backend) {
      end(id);
      if (known !== undefined) move(known.backend, backend);
      known = { backend, watch: null };
      watches.set(id, known);
    }
    if (backend.phase === 'serving') known.watch ??= start(backend);
    else {
      known.watch?.stop();
      known.watch = null;
    }
  }

  return {
    follow(backends) {
      const wanted = new Set(backends.map(({ id }) => id));
      for (const id of watches.keys()) if (!wanted.has(id)) end(id);
      for (const backend of backends) look(backend);
    },
    look,
    renew: (id) => watches.get(id)?.watch?.renew(),
    stop() {
      stopped = true;
      for (const id of watches.keys()) end(id);
    },
  };
}
