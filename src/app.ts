import { type Admin, createAdmin } from './admin/server.js';
import { createBlame } from './balance/blame.js';
import { createHealth } from './balance/health.js';
import { defaultHealth, type HealthChange } from './balance/health-types.js';
import { createPicker } from './balance/picker.js';
import { createSessions, type Presence } from './balance/sessions.js';
import { compileMethods } from './config/methods.js';
import type { ServiceConfig } from './config/service-config.js';
import type { Settings } from './config/settings.js';
import { type BackendId, backendId } from './grpc/backend-id.js';
import { defaultBalancing } from './grpc/balancing-config.js';
import { viaLine } from './grpc/forwarding.js';
import { defaultHttp2Settings, type Http2Settings } from './http2/types.js';
import { createThrottle, type Throttle } from './policy/throttle.js';
import { ClientMemory } from './proxy/client-memory.js';
import type { ClientTls } from './proxy/client-tls.js';
import { createListener, type Listener } from './proxy/listener.js';
import { LossBook, type LossRecord } from './proxy/losses.js';
import { createNotes } from './proxy/notes.js';
import type { CallObserver } from './proxy/observer.js';
import type { ProxyParts } from './proxy/parts.js';
import { createRelayBudget } from './proxy/relay-budget.js';
import { createReplayBudget } from './replay/budget.js';
import { bindServer } from './runtime/bind-server.js';
import type { Alarms, Clock, Random, Turn } from './runtime/ports.js';
import type { BackendTls } from './upstream/connect.js';
import { createUpstreamPool } from './upstream/pool.js';
import type { BackendChange, UpstreamPool } from './upstream/types.js';

/** The outside, as the app sees it. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
}

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
}

/** Where the app tells of what happens. None may throw. */
export interface AppEvents {
  readonly observer: CallObserver;
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  /** What became of the attempts of a backend that was lost (D34). */
  readonly onLoss: (loss: LossRecord) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  readonly onDefect: (error: unknown, call: string) => void;
}

/** The whole proxy in one process. */
export interface App {
  /** Binds everything and connects to the backends. Rejects with one sentence. */
  start(): Promise<void>;
  /** `host:port` as really bound. */
  readonly listening: readonly string[];
  readonly adminAddress: string | null;
  readonly pool: UpstreamPool;
  /** The token bucket that all calls share. */
  readonly throttle: Pick<Throttle, 'state'>;
  /** Puts another service config in force, whole, between two calls: those in flight keep the one that they began under (CFG-10). */
  configure(config: ServiceConfig): void;
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
  const pool = createUpstreamPool({
    // Names to resolve and lists are for the sources of backends.
    backends: settings.backend.flatMap(({ name, target, where, weight, priority, maxCalls }) =>
      where.kind === 'one'
        ? [{ id: backendId(name), name, target, endpoint: where.endpoint, weight, priority, maxCalls }]
        : [],
    ),
    connectTimeout: settings.connectTimeout,
    headerTimeout: settings.headerTimeout,
    connectBackoffMax: settings.connectBackoffMax,
    backendConnections: settings.backendConnections,
    queueLimit: settings.queueLimit,
    drainTimeout: settings.drainTimeout,
    keepalive:
      settings.keepaliveTime === null
        ? null
        : {
            time: settings.keepaliveTime,
            timeout: settings.keepaliveTimeout,
            maxPings: settings.keepaliveMaxPings,
          },
    settings: wire,
    tls: settings.backendTls ? backendTls(settings, files) : null,
    clock,
    random,
    alarms,
    turn,
    onStateChange(change) {
      const released = change.event === 'connected' ? health.of(change.id).connected(clock.now()) : null;
      events.onBackendChange(change);
      if (released !== null) onHealthChange(released);
    },
  });
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
  const sessions = createSessions(
    {
      ttl: settings.sessionTtl,
      maxAge: settings.sessionMaxAge,
      maxEntries: settings.sessionMaxEntries,
      lostAfter: settings.sessionLostAfter,
    },
    presence,
  );

  /** Since when backends have been parked; what had lapsed and was parked again has been so all the time. */
  const parks = new Map<BackendId, number>();
  function onHealthChange(change: HealthChange): void {
    if (change.kind === 'released') parks.delete(change.id);
    else if (change.reason === 'operator' || (change.reason !== 'rate_limited' && !parks.has(change.id)))
      parks.set(change.id, clock.now());
    events.onHealthChange(change);
  }

  /** D15: gone, or since when it has been of no use. */
  function presence(id: BackendId): Presence {
    const backend = pool.get(id);
    if (backend === undefined || backend.phase === 'left') return 'gone';
    const { downSince } = backend;
    const parkedSince = health.standing(id, clock.now()) === 'parked' ? (parks.get(id) ?? null) : null;
    return downSince === null || parkedSince === null ? (downSince ?? parkedSince) : Math.min(downSince, parkedSince);
  }

  let methods = compileMethods(config);
  const throttle = createThrottle(config.throttling);
  const replay = createReplayBudget(settings.bufferLimit, 'total', null);
  const relay = createRelayBudget(settings.relayBufferLimit);
  const instance = Math.floor(random.next() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
  let calls = 0;
  const parts: ProxyParts = {
    clock,
    random,
    alarms,
    turn,
    pool,
    picker: createPicker(
      defaultBalancing(settings.loadBalancing),
      health,
      { hedgeDistinct: settings.hedgeDistinct, pinOnParked: settings.pinOnParked },
      () => random.next(),
    ),
    health,
    blame: createBlame({
      minBlame: settings.minBlame,
      ignoreDeadline: settings.healthIgnoreDeadline,
      countInternal: settings.healthCountInternal,
      rateLimit: settings.healthRateLimit,
    }),
    onHealthChange,
    sessions,
    losses: new LossBook(turn, events.onLoss),
    policyFor: (path) => methods.lookup(path),
    throttle,
    replay,
    callLimit: settings.perCallBufferLimit,
    clientLimit: settings.clientBufferLimit,
    relay,
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
    memory: new ClientMemory(settings.clientMemoryLimit, turn),
    prefaceTimeout: settings.prefaceTimeout,
    headerTimeout: settings.headerTimeout,
    lifetime: {
      idle: settings.idleTimeout,
      age: settings.maxConnectionAge,
      ageGrace: settings.maxConnectionAgeGrace,
    },
    tls: clientTls(files),
    forwarding: {
      forwarded: settings.forwarded,
      trusted: settings.trustForwarded,
      via: settings.via ? viaLine(instance) : null,
    },
    turn,
    onRefused: events.onClientRefused,
  });
  let draining = false;
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
          state: { draining: () => draining, backends: () => pool.backends, now: () => clock.now() },
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
    await Promise.all([pool.stop(upstreamGrace), admin?.stop()]);
  }

  return {
    async start() {
      await listener.start();
      try {
        await admin?.start();
      } catch (error) {
        listener.close();
        throw error;
      }
      pool.start();
    },
    get listening() {
      return listener.bound;
    },
    get adminAddress() {
      return admin?.address ?? null;
    },
    pool,
    throttle,
    configure(next) {
      methods = compileMethods(next);
      throttle.configure(next.throttling);
    },
    secureClients(next) {
      const secure = clientTls(next);
      if (secure !== null) listener.secure(secure);
    },
    secureBackends: (next) => pool.secure(backendTls(settings, next)),
    ledger() {
      let upstreamStreams = 0;
      for (const backend of pool.backends) upstreamStreams += backend.inFlight;
      return {
        calls: listener.openCalls,
        clients: listener.connections,
        replayBytes: replay.held,
        relayBytes: relay.waiting,
        upstreamStreams,
      };
    },
    async drain() {
      draining = true;
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
