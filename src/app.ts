import { isDeepStrictEqual } from 'node:util';
import type { Program } from './admin/program.js';
import { type Admin, createAdmin } from './admin/server.js';
import { SharedText } from './admin/shared-text.js';
import { createAdminState, createBackendRecords } from './app/admin-state.js';
import { type BoundAddresses, createBackends } from './app/backends.js';
import { ChannelzState } from './app/channelz-state.js';
import type { Ports } from './app/ports.js';
import { readBackends, readCalls, readThrottle, readWire } from './app/readings.js';
import type { App, AppEvents, BackendTlsFiles, ClientTlsFiles, FileContents } from './app/types.js';
import { createRing, watchApp } from './app/watch.js';
import { createBlame } from './balance/blame.js';
import { createPicker } from './balance/picker.js';
import { createSessions } from './balance/sessions.js';
import type { Picker } from './balance/types.js';
import { compileMethods } from './config/methods.js';
import type { ServiceConfig } from './config/service-config.js';
import type { Settings } from './config/settings.js';
import { defaultBalancing } from './grpc/balancing-config.js';
import { viaLine } from './grpc/forwarding.js';
import { defaultHttp2Settings, type Http2Settings } from './http2/types.js';
import { WireTally } from './http2/wire-tally.js';
import { createThrottle } from './policy/throttle.js';
import { ClientMemory } from './proxy/client-memory.js';
import type { ClientTls } from './proxy/client-tls.js';
import { createListener, type Listener } from './proxy/listener.js';
import { LossBook } from './proxy/losses.js';
import { createMachineEnv } from './proxy/machine-env.js';
import { createNoMeters } from './proxy/no-meters.js';
import { createNotes } from './proxy/notes.js';
import { observeAll } from './proxy/observers.js';
import type { ProxyParts } from './proxy/parts.js';
import { RelayPool } from './proxy/relay-budget.js';
import { createReplayBudget } from './replay/budget.js';
import { bindServer } from './runtime/bind-server.js';
import { nodePace } from './runtime/turn.js';
import type { BackendTls } from './upstream/connect.js';

export type { Ports } from './app/ports.js';
export type * from './app/types.js';

/** The time that upstream connections get to end after the last call (ms). */
const upstreamGrace = 250;

export function createApp(
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  ports: Ports,
  events: AppEvents,
  /** For the admin endpoints; null: there is none. */
  program: Program | null = null,
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
  const channelz =
    settings.control === null
      ? null
      : new ChannelzState({
          clock,
          listening: () => bound.listen,
          calls: () => (events.meters === undefined ? null : readCalls(events.meters, listener.openCalls)),
        });
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
      channelz,
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
  const ring = createRing(settings, ports);
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
    machineEnv: createMachineEnv(random, throttle),
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
    observer: ring === null ? events.observer : observeAll([events.observer, ring]),
    meters,
    tracing: events.tracing ?? null,
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
    onClient: channelz === null ? undefined : (client) => channelz.clientServed(client),
    onRefused: events.onClientRefused,
    onCrowded: (peer, detail) => events.tell('warn', { peer }, `a client ${detail}`),
  });
  function renderMetrics(): Iterable<string> {
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
          state: watchApp(
            createAdminState(backends, records, {
              draining: () => draining,
              now: () => clock.now(),
              tell: events.tell,
              metrics:
                events.meters === undefined ? undefined : new SharedText(renderMetrics, nodePace, () => clock.now()),
              sessions,
              throttle: () => readThrottle(throttle),
              program,
              readAsset: ports.readAsset ?? null,
            }),
            ring,
            instance,
            () => ({
              numbers: meters.live(),
              inFlight: listener.openCalls,
              clients: listener.connections,
              replayHeld: replay.held,
              replayLimit: settings.bufferLimit,
            }),
            ports,
            (error) => events.onDefect(error, 'the streams of /events'),
          ),
          onDefect: (error) => events.onDefect(error, 'an admin request'),
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

  async function quiesceOnce(): Promise<void> {
    draining = true;
    backends.control?.setServing(false);
    if (settings.preStopDelay > 0) await preStop();
    await listener.drain(settings.drainTimeout);
  }

  let quiet: Promise<void> | null = null;
  function quiesce(): Promise<void> {
    quiet ??= quiesceOnce();
    return quiet;
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
    quiesce,
    async drain() {
      await quiesce();
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
