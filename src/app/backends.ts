import type { HealthChange } from '../balance/health-types.js';
import type { Address } from '../config/address.js';
import type { BackendSetting } from '../config/backend.js';
import { ownAddress } from '../config/own-listener.js';
import { printable } from '../config/quote.js';
import type { Settings } from '../config/settings.js';
import type { Control } from '../control/server.js';
import type { RegisteredBackend } from '../control/types.js';
import { backendId } from '../grpc/backend-id.js';
import type { Http2Settings } from '../http2/types.js';
import type { WireTally } from '../http2/wire-tally.js';
import type { BackendEntry } from '../upstream/backend-set.js';
import type { BackendTls } from '../upstream/connect.js';
import { createLookup } from '../upstream/lookup.js';
import { type ConnectedPool, createUpstreamPool } from '../upstream/pool.js';
import { type BackendSources, createBackendSources } from '../upstream/sources.js';
import type { BackendChange, Endpoint } from '../upstream/types.js';
import type { ChannelzState } from './channelz-state.js';
import { createHealthBook, type HealthBook } from './health-book.js';
import type { HealthWatches } from './health-watches.js';
import type { Ports } from './ports.js';

/** `host:port` of the listeners and of the admin server, as really bound; filled in when they are. */
export interface BoundAddresses {
  listen: readonly string[];
  admin: string | null;
}

/** What the backends are made of at the start. */
export interface BackendsOptions {
  /** Those of the endpoints file; empty where there is none. */
  readonly endpoints: readonly BackendSetting[];
  /** IP literals of this machine's interfaces, for what a name may lead to. */
  readonly localAddresses: readonly string[];
  readonly bound: BoundAddresses;
  readonly adminToken: string | null;
  readonly tls: BackendTls | null;
  readonly wire: Http2Settings;
  /** Counts what backends' connections read and write. */
  readonly tally: WireTally;
  readonly draining: () => boolean;
  /** Null: no control services. */
  readonly channelz: ChannelzState | null;
}

/** Where the backends tell of what happens. None may throw. */
export interface BackendsEvents {
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  /** A look-up of a backend's name is over. */
  readonly onResolved: (outcome: 'changed' | 'unchanged' | 'failed') => void;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** All backends: found, connected, and how they are. */
export interface Backends {
  readonly pool: ConnectedPool;
  readonly sources: BackendSources;
  readonly book: HealthBook;
  /** Null: off, or not started. */
  readonly control: Control | null;
  /** Which source has this name; null: none. */
  sourceOf(name: string): 'flags' | 'file' | 'registry' | null;
  /** Resolves when the names of backends have been asked for once, or at the connect timeout. Rejects with one sentence. */
  start(): Promise<void>;
  /** The endpoints file says so now. */
  putEndpoints(backends: readonly BackendSetting[]): void;
  /** Other certificates for connections from now on. Throws one sentence where they are not usable. */
  secure(tls: BackendTls): void;
  /** @param graceMs what connections get to end */
  stop(graceMs: number): Promise<void>;
}

const flags = '--backend';
const registry = 'the registry';

export function createBackends(
  settings: Settings,
  options: BackendsOptions,
  ports: Ports,
  events: BackendsEvents,
): Backends {
  const { clock, alarms, random, turn } = ports;
  const { channelz } = options;
  const file = `the endpoints file ${printable(settings.endpoints ?? '')}`;
  /** By name; a loss or a leave of an older generation than this is no news. */
  const registered = new Map<string, { readonly entry: BackendEntry; readonly generation: number }>();
  let { tls } = options;
  let control: Control | null = null;
  let watches: HealthWatches | null = null;

  const book = createHealthBook(settings, () => clock.now(), events.onHealthChange);
  const sources = createBackendSources(
    {
      sources: [
        { name: flags, entries: settings.backend },
        { name: file, entries: options.endpoints },
        { name: registry, entries: [] },
      ],
      dnsRefresh: settings.dnsRefresh,
    },
    { clock, alarms, random, lookup: createLookup, own },
    { tell: events.tell, onResolved: events.onResolved },
  );

  /** Port 0 is another one when it is bound. */
  function own(endpoint: Endpoint): string | null {
    const { listen, admin } = options.bound;
    const bound = {
      listen: settings.listen.map((address, at) => boundAt(address, listen[at] ?? null)),
      admin: settings.admin === null ? null : boundAt(settings.admin, admin),
      control: settings.control === null ? null : boundAt(settings.control, control?.address ?? null),
    };
    return ownAddress([endpoint], bound, options.localAddresses);
  }

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
  async function loadServices(): Promise<void> {
    if (settings.healthCheck !== null) {
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
    if (settings.control === null || channelz === null) return;
    const { createControl } = await import('../control/server.js');
    control = createControl({
      listen: settings.control,
      token: options.adminToken,
      registry: {
        onPut,
        onLose,
        onDrain,
        onRefused: (peer, detail) => events.onClientRefused(peer, detail),
        reservedBy: (name) => (isElsewhere(name) ? sources.ownerOf(name) : null),
        ownListener: own,
        draining: options.draining,
      },
      channelz,
      ports: { clock, alarms, turn },
    });
    await control.start();
  }

  function onPut(backend: RegisteredBackend, replaces: number | null): void {
    const { name, target, endpoint, weight, priority, maxCalls, generation } = backend;
    const word = replaces === null ? 'registered' : replaces === generation ? 'changed' : 'registered again';
    events.tell('info', { backend: name, event: 'registered', target }, `backend ${name} has ${word}`);
    const entry: BackendEntry = { name, target, where: { kind: 'one', endpoint }, weight, priority, maxCalls };
    registered.set(name, { entry, generation });
    putRegistered();
  }

  /** D19: its attempts end in this turn. */
  function onLose({ name, generation }: RegisteredBackend, why: string): void {
    if ((registered.get(name)?.generation ?? generation) !== generation || isElsewhere(name)) return;
    const detail = `its registration was lost: ${why}`;
    events.tell('warn', { backend: name, event: 'registration_lost' }, `backend ${name}: ${detail}`);
    pool.lose(backendId(name), detail, 'newest');
    registered.delete(name);
    putRegistered();
  }

  /** D35: its calls finish. */
  function onDrain({ name, generation }: RegisteredBackend, why: string): void {
    if ((registered.get(name)?.generation ?? generation) !== generation) return;
    events.tell('info', { backend: name, event: 'left' }, `backend ${name} leaves: ${why}`);
    registered.delete(name);
    putRegistered();
  }

  /** Another source has the name: what becomes of a registration that there was is not about its backend. */
  function isElsewhere(name: string): boolean {
    const owner = sources.ownerOf(name);
    return owner !== null && owner !== registry;
  }

  function putRegistered(): void {
    sources.put(
      registry,
      [...registered.values()].map(({ entry }) => entry),
    );
  }

  /** A name that nobody answers for holds the start up for no longer than a connect does. */
  function resolveNames(): Promise<void> {
    return new Promise((resolve) => {
      const late = alarms.set(clock.now() + settings.connectTimeout, resolve);
      void sources.start().then(() => {
        alarms.cancel(late);
        resolve();
      });
    });
  }

  return {
    pool,
    sources,
    book,
    get control() {
      return control;
    },
    sourceOf(name) {
      const owner = sources.ownerOf(name);
      if (owner === null) return null;
      return owner === flags ? 'flags' : owner === registry ? 'registry' : 'file';
    },
    async start() {
      await loadServices();
      pool.start();
      watches?.follow(pool.backends);
      await resolveNames();
    },
    putEndpoints(backends) {
      sources.put(file, backends);
      // The file's name goes before a registration of the same one.
      for (const name of registered.keys()) {
        if (!isElsewhere(name)) continue;
        control?.expel(name, `${name} is named by ${sources.ownerOf(name)} now`);
        // The stream is over: the name must not come back from it when the file has let go of it.
        registered.delete(name);
      }
      putRegistered();
    },
    secure(next) {
      pool.secure(next);
      tls = next;
    },
    async stop(graceMs) {
      watches?.stop();
      sources.stop();
      await Promise.all([pool.stop(graceMs), control?.stop()]);
    },
  };
}

/** @param bound `host:port` as really bound; null: it is not yet */
function boundAt(address: Address, bound: string | null): Address {
  if (address.kind === 'unix' || bound === null) return address;
  return { ...address, port: Number(bound.slice(bound.lastIndexOf(':') + 1)) };
}
