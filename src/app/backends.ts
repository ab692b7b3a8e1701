import type { HealthChange } from '../balance/health-types.js';
import type { Settings } from '../config/settings.js';
import type { Http2Settings } from '../http2/types.js';
import type { WireTally } from '../http2/wire-tally.js';
import type { BackendTls } from '../upstream/connect.js';
import { type ConnectedPool, createUpstreamPool } from '../upstream/pool.js';
import type { BackendChange } from '../upstream/types.js';
import type { ChannelzState } from './channelz-state.js';
import type { Finder } from './finder.js';
import { createHealthBook, type HealthBook } from './health-book.js';
import type { HealthWatches } from './health-watches.js';
import type { Ports } from './ports.js';

/** What the connections to backends are made of. */
export interface BackendsOptions {
  readonly tls: BackendTls | null;
  readonly wire: Http2Settings;
  /** Counts what backends' connections read and write. */
  readonly tally: WireTally;
  /** Null: no control services. */
  readonly channelz: ChannelzState | null;
}

/** Where the backends tell of what happens. None may throw. */
export interface BackendsEvents {
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** All backends: found, connected, and how they are. */
export interface Backends {
  readonly finder: Finder;
  readonly pool: ConnectedPool;
  readonly book: HealthBook;
  /** Resolves when the names of backends have been asked for once, or at the connect timeout. Rejects with one sentence. */
  start(): Promise<void>;
  /** Other certificates for connections from now on. Throws one sentence where they are not usable. */
  secure(tls: BackendTls): void;
  /** @param graceMs what connections get to end */
  stop(graceMs: number): Promise<void>;
}

export function createBackends(
  settings: Settings,
  finder: Finder,
  options: BackendsOptions,
  ports: Ports,
  events: BackendsEvents,
): Backends {
  const { clock, alarms, random, turn } = ports;
  const { channelz } = options;
  const { sources } = finder;
  let { tls } = options;
  let watches: HealthWatches | null = null;

  const book = createHealthBook(settings, () => clock.now(), events.onHealthChange);
  const pool = createUpstreamPool({
    backends: sources.specs(),
    connectTimeout: settings.connectTimeout,
    headerTimeout: settings.headerTimeout,
    connectBackoffMax: settings.connectBackoffMax,
    backendConnections: settings.backendConnections,
    queueLimit: settings.queueLimit,
    drainTimeout: settings.drainTimeout,
    keepalive:
      settings.keepaliveTime === null
        ? null
        : { time: settings.keepaliveTime, timeout: settings.keepaliveTimeout, maxPings: settings.keepaliveMaxPings },
    settings: options.wire,
    tally: options.tally,
    tls,
    clock,
    random,
    alarms,
    turn,
    onStateChange: onBackendChange,
    onMade: (backend) => channelz?.backendMade(backend),
    onEnded: (backend) => channelz?.backendEnded(backend),
    onGone(id) {
      const change = book.health.forget(id, clock.now());
      if (change !== null) book.onChange(change);
    },
    onPhase(id) {
      const backend = pool.get(id);
      if (backend !== undefined) watches?.look(backend);
    },
  });
  sources.onChange((specs) => {
    pool.apply(specs);
    // Of those at another address nothing is up yet.
    for (const backend of pool.backends) if (backend.downSince !== null) book.noteLink(backend);
    watches?.follow(pool.backends);
  });

  function onBackendChange(change: BackendChange): void {
    events.onBackendChange(change);
    const { id, name, event } = change;
    // One that a backend at another address has replaced may tell of its connections still: what counts is how the newest is.
    const backend = pool.get(id);
    if (backend !== undefined && (event === 'connected' || backend.downSince !== null)) book.noteLink(backend);
    if (event === 'connected') watches?.renew(id);
    else if (event === 'lost' || event === 'connect_failed') sources.refresh(name);
  }

  /** What stands on @grpc/grpc-js is loaded where it is asked for: a start without it is ready sooner. */
  async function loadWatches(): Promise<void> {
    if (settings.healthCheck === null) return;
    const { createHealthWatches } = await import('./health-watches.js');
    watches = createHealthWatches(
      {
        service: settings.healthCheck,
        tls: () => tls,
        health: (id) => book.health.of(id),
        onHealthChange: book.onChange,
        tell: events.tell,
        answerTimeout: settings.connectTimeout + settings.keepaliveTimeout,
        backoffMax: settings.connectBackoffMax,
      },
      ports,
    );
  }

  return {
    finder,
    pool,
    book,
    async start() {
      await loadWatches();
      await finder.start();
      pool.start();
      watches?.follow(pool.backends);
      await finder.resolve();
    },
    secure(next) {
      pool.secure(next);
      tls = next;
    },
    async stop(graceMs) {
      watches?.stop();
      await Promise.all([finder.stop(), pool.stop(graceMs)]);
    },
  };
}
