import { isDeepStrictEqual } from 'node:util';
import { type Admin, createAdmin } from './admin/server.js';
import { createAdminState, createBackendRecords } from './app/admin-state.js';
import { type BoundAddresses, createBackends } from './app/backends.js';
import type { Ports } from './app/ports.js';
import { readBackends, readWire } from './app/readings.js';
import { createBlame } from './balance/blame.js';
import type { HealthChange } from './balance/health-types.js';
import { createPicker } from './balance/picker.js';
import { createSessions } from './balance/sessions.js';
import type { Picker } from './balance/types.js';
import type { BackendSetting } from './config/backend.js';
import { compileMethods } from './config/methods.js';
import type { ServiceConfig } from './config/service-config.js';
import type { Settings } from './config/settings.js';
import { defaultBalancing } from './grpc/balancing-config.js';
import { viaLine } from './grpc/forwarding.js';
import { defaultHttp2Settings, type Http2Settings } from './http2/types.js';
import { WireTally } from './http2/wire-tally.js';
import { createThrottle, type Throttle } from './policy/throttle.js';
import { ClientMemory } from './proxy/client-memory.js';
import type { ClientTls } from './proxy/client-tls.js';
import { createListener, type Listener } from './proxy/listener.js';
import { LossBook, type LossRecord } from './proxy/losses.js';
import type { Meters } from './proxy/meters.js';
import { createNoMeters } from './proxy/no-meters.js';
import { createNotes } from './proxy/notes.js';
import type { CallObserver } from './proxy/observer.js';
import type { ProxyParts } from './proxy/parts.js';
import { RelayPool } from './proxy/relay-budget.js';
import { createReplayBudget } from './replay/budget.js';
import { bindServer } from './runtime/bind-server.js';
import type { BackendTls } from './upstream/connect.js';
import type { BackendChange, UpstreamPool } from './upstream/types.js';

export type { Ports } from './app/ports.js';

/** For TLS with clients, PEM. */
export interface ClientTlsFiles {
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly tlsClientCa: string | null;
}

/** For TLS with backends, PEM. */
export interface BackendTlsFiles {
  readonly backendCa: string | null;
  readonly backendCert: string | null;
  readonly backendKey: string | null;
}

/** What the files that the settings name hold, read by the process boundary; null where a setting names none. */
export interface FileContents extends ClientTlsFiles, BackendTlsFiles {
  readonly adminToken: string | null;
  /** Of `--endpoints`; empty where there is none. */
  readonly endpoints: readonly BackendSetting[];
}

/** Where the app tells of what happens. None may throw. */
export interface AppEvents {
  readonly observer: CallObserver;
  /** Counts what happens, and prints it at `/metrics`; default: nothing is counted. */
  readonly meters?: Meters;
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  /** What became of the attempts of a backend that was lost (D34). */
  readonly onLoss: (loss: LossRecord) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  readonly onDefect: (error: unknown, call: string) => void;
  /** A line of the log with fields of its own. */
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** The whole proxy in one process. */
export interface App {
  /** Binds everything and connects to the backends. Rejects with one sentence. */
  start(): Promise<void>;
  /** `host:port` as really bound. */
  readonly listening: readonly string[];
  readonly adminAddress: string | null;
  /** Of the control services. */
  readonly controlAddress: string | null;
  readonly pool: UpstreamPool;
  /** The token bucket that all calls share. */
  readonly throttle: Pick<Throttle, 'state'>;
  /** Puts another service config in force, whole, between two calls: those in flight keep the one that they began under (CFG-10). */
  configure(config: ServiceConfig): void;
  /** Other contents of `--endpoints`. */
  putEndpoints(backends: readonly BackendSetting[]): void;
  /** Asks for all names of backends again, now. */
  resolveAgain(): void;
  /** Other certificates for clients, for handshakes from now on. Throws one sentence where they are not usable. */
  secureClients(files: ClientTlsFiles): void;
  /** Other certificates for backends, for connections from now on. Throws one sentence where they are not usable. */
  secureBackends(files: BackendTlsFiles): void;
  /** Calls in flight, replay and relay bytes, alarms, connections: the leak ledger. */
  ledger(): Ledger;
  /** Finishes what is in flight (contract, SIGTERM), then stops. */
  drain(): Promise<void>;
  /** Stops now. */
  stop(): Promise<void>;
}

/** All zero when nothing is going on, but for connections that are kept. */
export interface Ledger {
  readonly calls: number;
  readonly clients: number;
  readonly replayBytes: number;
  readonly relayBytes: number;
  readonly upstreamStreams: number;
  /** Calls that have a hold of a session. */
  readonly sessionCalls: number;
}

/** The time that upstream connections get to end after the last call (ms). */
const upstreamGrace = 250;

export function createApp(
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  ports: Ports,
  events: AppEvents,
): App {
  const { clock, random, alarms, turn } = ports;
  const wire: Http2Settings = {
    ...defaultHttp2Settings,
    maxConcurrentStreams: settings.maxConcurrentStreams,
    maxHeaderListSize: settings.maxHeaderListSize,
    floodBudget: settings.floodBudget,
  };
  let draining = false;
  const { meters = createNoMeters() } = events;
  const tallies = { clients: new WireTally(), backends: new WireTally() };
  const records = createBackendRecords(
    () => backends,
    () => clock.now(),
  );
  const bound: BoundAddresses = { listen: [], admin: null };
  const backends = createBackends(
    settings,
    {
      endpoints: files.endpoints,
      localAddresses: ports.localAddresses ?? [],
      bound,
      adminToken: files.adminToken,
      tls: settings.backendTls ? backendTls(settings, files) : null,
      wire,
      tally: tallies.backends,
      draining: () => draining,
    },
    ports,
    {
      ...events,
      onResolved: (outcome) => meters.resolved(outcome),
      onBackendChange(change) {
        meters.backendChanged(change);
        records.onBackendChange(change);
        events.onBackendChange(change);
      },
      onHealthChange(change) {
        meters.healthChanged(change, clock.now());
        records.onHealthChange(change);
        events.onHealthChange(change);
      },
    },
  );
  const { pool, book } = backends;
  const sessions = createSessions(
    {
      ttl: settings.sessionTtl,
      maxAge: settings.sessionMaxAge,
      maxEntries: settings.sessionMaxEntries,
      lostAfter: settings.sessionLostAfter,
    },
    (id, now) => book.presenceOf(pool.get(id), now),
  );
  const pickerOf = ({ balancing }: ServiceConfig): Picker =>
    createPicker(
      balancing ?? defaultBalancing(settings.loadBalancing),
      book.health,
      { hedgeDistinct: settings.hedgeDistinct, pinOnParked: settings.pinOnParked },
      () => random.next(),
    );
  let picker = pickerOf(config);
  let { balancing } = config;
  let methods = compileMethods(config);
  const throttle = createThrottle(config.throttling);
  const replay = createReplayBudget(settings.bufferLimit, 'total', null);
  const relay = new RelayPool(settings.relayBufferLimit);
  const instance = Math.floor(random.next() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
  let calls = 0;
  const parts: Omit<ProxyParts, 'relay'> = {
    clock,
    random,
    alarms,
    turn,
    pool,
    // One object for good, whatever copies are made of the parts: a config that changes reaches every connection.
    picker: { pick: (candidates, query) => picker.pick(candidates, query) },
    hasName: (name) => backends.sources.has(name),
    health: book.health,
    blame: createBlame({
      minBlame: settings.minBlame,
      ignoreDeadline: settings.healthIgnoreDeadline,
      countInternal: settings.healthCountInternal,
      rateLimit: settings.healthRateLimit,
    }),
    onHealthChange: book.onChange,
    sessions,
    losses: new LossBook(
      { turn, clock, alarms },
      {
        onOutcome(one) {
          meters.lost(one);
          records.onLoss(one);
        },
        onLoss: (loss) => events.onLoss(loss),
      },
    ),
    policyFor: (path) => methods.lookup(path),
    throttle,
    replay,
    callLimit: settings.perCallBufferLimit,
    clientLimit: settings.clientBufferLimit,
    prefix: `${settings.metadataPrefix}-`,
    directives: settings.directives,
    pin: settings.pin,
    session: settings.session,
    pinSameBackendRetry: settings.pinSameBackendRetry,
    maxMessageSize: settings.maxMessageSize,
    notes: createNotes(`${settings.metadataPrefix}-`, settings.responseMetadata),
    authority: settings.backendAuthority,
    scheme: settings.backendTls ? 'https' : 'http',
    observer: events.observer,
    meters,
    nextCallId: () => {
      calls += 1;
      return `${instance}-${calls.toString(36)}`;
    },
    onDefect: events.onDefect,
  };
  const listener: Listener = createListener(parts, {
    addresses: settings.listen,
    settings: wire,
    maxConnections: settings.maxConnections,
    maxTotalStreams: settings.maxTotalStreams,
    memory: new ClientMemory(settings.clientMemoryLimit, relay, turn),
    prefaceTimeout: settings.prefaceTimeout,
    headerTimeout: settings.headerTimeout,
    lifetime: {
      idle: settings.idleTimeout,
      age: settings.maxConnectionAge,
      ageGrace: settings.maxConnectionAgeGrace,
      keepalive:
        settings.clientKeepaliveTime === null
          ? null
          : { time: settings.clientKeepaliveTime, timeout: settings.clientKeepaliveTimeout },
    },
    tls: clientTls(files),
    forwarding: {
      forwarded: settings.forwarded,
      trusted: settings.trustForwarded,
      via: settings.via ? viaLine(instance) : null,
    },
    turn,
    tally: tallies.clients,
    onRefused: events.onClientRefused,
    onCrowded: (peer, detail) => events.tell('warn', { peer }, `a client ${detail}`),
  });
  function metrics(): string {
    const now = clock.now();
    return meters.render({
      now,
      callsInFlight: listener.openCalls,
      clientConnections: listener.connections,
      replayHeld: replay.held,
      replayPeak: replay.peak,
      relayWaiting: relay.waiting,
      relayExceeded: relay.exceeded,
      throttle: throttle.state,
      sessions: sessions.stats(now),
      draining,
      backends: readBackends(pool, book.health, now),
      wire: { client: readWire(tallies.clients), backend: readWire(tallies.backends) },
    });
  }

  let endPreStop: () => void = () => {};
  const { admin: adminListen } = settings;
  const admin: Admin | null =
    adminListen === null
      ? null
      : createAdmin({
          bind: (server) => bindServer(server, '--admin', adminListen),
          listen: adminListen,
          hosts: settings.adminHost,
          token: files.adminToken,
          state: createAdminState(backends, records, {
            draining: () => draining,
            now: () => clock.now(),
            tell: events.tell,
            metrics: events.meters === undefined ? undefined : metrics,
            sessions,
          }),
        });

  /** Whoever looks at /readyz sends us no more by the time that the listener closes. */
  function preStop(): Promise<void> {
    return new Promise((resolve) => {
      const alarm = alarms.set(clock.now() + settings.preStopDelay, resolve);
      endPreStop = () => {
        alarms.cancel(alarm);
        resolve();
      };
    });
  }

  async function stop(): Promise<void> {
    endPreStop();
    listener.close();
    await Promise.all([backends.stop(upstreamGrace), admin?.stop()]);
  }

  return {
    async start() {
      await listener.start();
      try {
        await admin?.start();
        bound.listen = listener.bound;
        bound.admin = admin?.address ?? null;
        await backends.start();
      } catch (error) {
        listener.close();
        await admin?.stop();
        throw error;
      }
    },
    get listening() {
      return listener.bound;
    },
    get controlAddress() {
      return backends.control?.address ?? null;
    },
    get adminAddress() {
      return admin?.address ?? null;
    },
    pool,
    throttle,
    configure(next) {
      methods = compileMethods(next);
      throttle.configure(next.throttling);
      if (!isDeepStrictEqual(next.balancing, balancing)) {
        balancing = next.balancing;
        picker = pickerOf(next);
      }
    },
    putEndpoints: (next) => backends.putEndpoints(next),
    resolveAgain: () => backends.sources.refreshAll(),
    secureClients(next) {
      const secure = clientTls(next);
      if (secure !== null) listener.secure(secure);
    },
    secureBackends: (next) => backends.secure(backendTls(settings, next)),
    ledger() {
      let upstreamStreams = 0;
      for (const backend of pool.backends) upstreamStreams += pool.inFlightOf(backend.id);
      return {
        calls: listener.openCalls,
        clients: listener.connections,
        replayBytes: replay.held,
        relayBytes: relay.waiting,
        upstreamStreams,
        sessionCalls: sessions.stats(clock.now()).calls,
      };
    },
    async drain() {
      draining = true;
      backends.control?.setServing(false);
      if (settings.preStopDelay > 0) await preStop();
      await listener.drain(settings.drainTimeout);
      await stop();
    },
    stop,
  };
}

function clientTls({ tlsCert, tlsKey, tlsClientCa }: ClientTlsFiles): ClientTls | null {
  return tlsCert === null || tlsKey === null ? null : { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa };
}

function backendTls(settings: Settings, { backendCa, backendCert, backendKey }: BackendTlsFiles): BackendTls {
  return { ca: backendCa, cert: backendCert, key: backendKey, serverName: settings.backendServerName };
}
