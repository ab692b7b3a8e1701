import { isDeepStrictEqual } from 'node:util';
import type { AdminState } from '../admin/admin-state.js';
import type { Program } from '../admin/program.js';
import { SharedText } from '../admin/shared-text.js';
import { createBlame } from '../balance/blame.js';
import { createPicker } from '../balance/picker.js';
import { createSessions } from '../balance/sessions.js';
import type { Picker } from '../balance/types.js';
import { compileMethods } from '../config/methods.js';
import type { ServiceConfig } from '../config/service-config.js';
import type { Settings } from '../config/settings.js';
import { defaultBalancing } from '../grpc/balancing-config.js';
import { viaLine } from '../grpc/forwarding.js';
import { defaultHttp2Settings, type Http2Settings } from '../http2/types.js';
import { WireTally } from '../http2/wire-tally.js';
import { createThrottle } from '../policy/throttle.js';
import { ClientMemory } from '../proxy/client-memory.js';
import type { ClientTls } from '../proxy/client-tls.js';
import { createListener, type Listener } from '../proxy/listener.js';
import { LossBook } from '../proxy/losses.js';
import { createMachineEnv } from '../proxy/machine-env.js';
import { createNoMeters } from '../proxy/no-meters.js';
import { createNotes } from '../proxy/notes.js';
import { observeAll } from '../proxy/observers.js';
import type { ProxyParts } from '../proxy/parts.js';
import { RelayPool } from '../proxy/relay-budget.js';
import { createReplayBudget } from '../replay/budget.js';
import { nodePace } from '../runtime/turn.js';
import type { BackendTls } from '../upstream/connect.js';
import { createAdminState, createBackendRecords } from './admin-state.js';
import { type Backends, createBackends } from './backends.js';
import { ChannelzState } from './channelz-state.js';
import type { Finder } from './finder.js';
import type { Ports } from './ports.js';
import { readBackends, readCalls, readThrottle, readWire } from './readings.js';
import type { App, AppEvents, BackendTlsFiles, ClientTlsFiles, FileContents } from './types.js';
import { createRing, watchApp } from './watch.js';

/** The time that upstream connections get to end after the last call (ms). */
const upstreamGrace = 250;

/** What stands around the data path of one process. */
export interface DataPathOptions {
  readonly finder: Finder;
  /** For the admin endpoints; null: there is none. */
  readonly program: Program | null;
  /** The run, in `via` and in the ids of events; and what the ids of calls begin with. */
  readonly instance: string;
  readonly calling: string;
  /** Somebody may ask for the calls that ended last. */
  readonly watched: boolean;
}

/** Everything that carries calls: listeners, connections to backends, and what stands between. */
export interface DataPath
  extends Pick<
    App,
    'listening' | 'pool' | 'throttle' | 'configure' | 'secureClients' | 'secureBackends' | 'ledger' | 'quiesce'
  > {
  readonly backends: Backends;
  readonly channelz: ChannelzState | null;
  readonly draining: boolean;
  /** What the admin endpoints tell of it. */
  readonly state: AdminState;
  /** Binds the listeners. Rejects with one sentence. */
  listen(): Promise<void>;
  /** Takes no more connections; those that there are end. */
  close(): void;
  /** The same, and the backends' connections end. */
  stop(): Promise<void>;
}

export function createDataPath(
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  options: DataPathOptions,
  ports: Ports,
  events: AppEvents,
): DataPath {
  const { finder, instance, calling, watched } = options;
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
  const channelz =
    settings.control === null
      ? null
      : new ChannelzState({
          clock,
          listening: () => listener.bound,
          calls: () => (events.meters === undefined ? null : readCalls(events.meters, listener.openCalls)),
        });
  const backends = createBackends(
    settings,
    finder,
    {
      tls: settings.backendTls ? backendTls(settings, files) : null,
      wire,
      tally: tallies.backends,
      channelz,
    },
    ports,
    {
      ...events,
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
  const ring = watched ? createRing(settings, ports) : null;
  let calls = 0;
  const parts: Omit<ProxyParts, 'relay'> = {
    clock,
    random,
    alarms,
    turn,
    pool,
    // One object for good, whatever copies are made of the parts: a config that changes reaches every connection.
    picker: { pick: (candidates, query) => picker.pick(candidates, query) },
    hasName: (name) => finder.sources.has(name),
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
      return `${calling}-${calls.toString(36)}`;
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

  const state = watchApp(
    createAdminState(backends, records, {
      draining: () => draining,
      now: () => clock.now(),
      tell: events.tell,
      metrics: events.meters === undefined ? undefined : new SharedText(renderMetrics, nodePace, () => clock.now()),
      sessions,
      throttle: () => readThrottle(throttle),
      program: options.program,
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
  );

  let endPreStop: () => void = () => {};
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
    finder.setServing(false);
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
    await backends.stop(upstreamGrace);
  }

  return {
    backends,
    channelz,
    state,
    get draining() {
      return draining;
    },
    listen: () => listener.start(),
    close: () => listener.close(),
    get listening() {
      return listener.bound;
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
    stop,
  };
}

function clientTls({ tlsCert, tlsKey, tlsClientCa }: ClientTlsFiles): ClientTls | null {
  return tlsCert === null || tlsKey === null ? null : { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa };
}

function backendTls(settings: Settings, { backendCa, backendCert, backendKey }: BackendTlsFiles): BackendTls {
  return { ca: backendCa, cert: backendCert, key: backendKey, serverName: settings.backendServerName };
}
