import { createBlame } from '../../src/balance/blame.js';
import { createHealth } from '../../src/balance/health.js';
import { defaultHealth } from '../../src/balance/health-types.js';
import { createPicker } from '../../src/balance/picker.js';
import { createSessions } from '../../src/balance/sessions.js';
import { compileMethods, type MethodTable } from '../../src/config/methods.js';
import { parseServiceConfig, type ServiceConfig } from '../../src/config/service-config.js';
import { createThrottle, type Throttle } from '../../src/policy/throttle.js';
import { LossBook } from '../../src/proxy/losses.js';
import { createMachineEnv } from '../../src/proxy/machine-env.js';
import { createNoMeters } from '../../src/proxy/no-meters.js';
import { createNotes } from '../../src/proxy/notes.js';
import type { ProxyParts } from '../../src/proxy/parts.js';
import { RelayPool } from '../../src/proxy/relay-budget.js';
import { createReplayBudget } from '../../src/replay/budget.js';
import type { AlarmHandle, Alarms, Clock } from '../../src/runtime/ports.js';
import { RoomWaiters } from '../../src/upstream/room-waiters.js';
import type { BackendChange, UpstreamBackend, UpstreamPool } from '../../src/upstream/types.js';
import { allWell } from './all-well.js';
import { CallLog } from './call-log.js';
import { backendNames, type Outcome, type RunScript } from './call-script.js';
import { VirtualBackend } from './virtual-backend.js';
import { type Caller, VirtualClient } from './virtual-client.js';
import { createVirtualTime, type VirtualTime } from './virtual-time.js';

/** What is put in the place of a real part: for controls that must be seen to fail. */
export interface Planted {
  readonly throttle?: (real: Throttle) => Throttle;
  readonly parts?: (real: ProxyParts) => ProxyParts;
  /** The proxy does not hear that its clients cancel. */
  readonly deafToCancels?: boolean;
}

/** All that is to be zero when nothing goes on. */
export interface Leaks {
  readonly calls: number;
  readonly alarms: number;
  readonly replayBytes: number;
  readonly relayBytes: number;
  readonly upstreamStreams: number;
  readonly queued: number;
  readonly waitingForConnect: number;
}

/** Alarms that know how many of them are pending, and ring as late as they are told to. */
class CountedAlarms implements Alarms {
  private readonly inner: Alarms;
  private readonly late: number;
  private readonly open = new Map<AlarmHandle, AlarmHandle>();

  /** @param late ms after its time that each rings */
  constructor(inner: Alarms, late: number) {
    this.inner = inner;
    this.late = late;
  }
  get pending(): number {
    return this.open.size;
  }
  set(at: number, ring: () => void): AlarmHandle {
    const handle: AlarmHandle = { at };
    const real = this.inner.set(at + this.late, () => {
      this.open.delete(handle);
      ring();
    });
    this.open.set(handle, real);
    return handle;
  }
  cancel(handle: AlarmHandle): void {
    const real = this.open.get(handle);
    if (real === undefined) return;
    this.open.delete(handle);
    this.inner.cancel(real);
  }
}

/** In this time (ms) a client and the proxy have exchanged SETTINGS. */
const settling = 10;

/** What every call gets that its script says nothing more of. */
const plainAnswer: Outcome = {
  kind: 'answer',
  after: 0,
  reads: true,
  waits: false,
  code: 0,
  pushback: [],
  messages: [3],
  gap: 0,
};

/**
 * The whole proxy but for sockets: its real calls, attempts, buffers, balancer, bucket, connections and HTTP/2 engines, with
 * scripted clients and backends on engines of their own, in memory, on virtual time.
 */
export class VirtualProxy {
  readonly time: VirtualTime = createVirtualTime();
  readonly log: CallLog;
  readonly config: ServiceConfig;
  readonly methods: MethodTable;
  readonly throttle: Throttle;
  readonly backends: readonly VirtualBackend[];
  readonly callers: Caller[] = [];
  readonly changes: BackendChange[] = [];
  readonly defects: unknown[] = [];
  /** The most alarms that there were, at any call's end, beyond one for each call that goes on. */
  strayAlarms = 0;
  /** Calls that were not over at the horizon. */
  readonly endless: number[] = [];
  private readonly script: RunScript;
  private readonly clients: readonly VirtualClient[];
  private readonly parts: ProxyParts;
  private readonly callAlarms: CountedAlarms;
  private readonly connectAlarms: CountedAlarms;
  private readonly roomWaiters: RoomWaiters;
  private readonly attemptsSeen = new Map<number, number>();

  constructor(script: RunScript, planted: Planted = {}) {
    this.script = script;
    const { time } = this;
    const clock: Clock = time.clock;
    this.log = new CallLog(() => clock.now());
    this.callAlarms = new CountedAlarms(time.alarms, script.alarmsLate);
    this.connectAlarms = new CountedAlarms(time.alarms, 0);
    const { config, findings } = parseServiceConfig(script.config, { maxAttemptsLimit: 5 });
    if (config === null)
      throw new Error(`the script's config is invalid: ${findings.map((f) => f.message).join('; ')}`);
    this.config = config;
    this.methods = compileMethods(config);
    const throttle = createThrottle(config.throttling);
    this.throttle = planted.throttle?.(throttle) ?? throttle;
    let draws = 0;
    const { randoms, limits } = script;
    const random = {
      next: () => {
        draws += 1;
        return randoms[draws % randoms.length] ?? 0.5;
      },
    };
    const all = (): readonly UpstreamBackend[] => this.backends.map(({ upstream }) => upstream);
    this.roomWaiters = new RoomWaiters(all, time.turn, () => limits.queue * script.backends.length);
    this.backends = script.backends.map(
      (plan, i) =>
        new VirtualBackend(
          backendNames[i] ?? `b${i}`,
          plan,
          { time, log: this.log, outcomeFor: (call) => this.outcomeFor(call), proxyWindow: script.proxyWindow },
          {
            connectTimeout: 2000,
            connectBackoffMax: 5000,
            backendConnections: limits.connections,
            queueLimit: limits.queue,
            clock,
            random,
            alarms: this.connectAlarms,
            turn: time.turn,
            onStateChange: (change) => this.changed(change),
            onRoom: () => this.roomWaiters.tell(),
          },
        ),
    );
    const parts = this.assemble(random);
    this.parts = planted.parts?.(parts) ?? parts;
    const count = Math.max(1, ...script.calls.map(({ connection }) => connection + 1));
    this.clients = Array.from(
      { length: count },
      () =>
        new VirtualClient(time, this.log, this.parts, {
          latency: script.clientLatency,
          window: script.clientWindow,
          proxyWindow: script.proxyWindow,
          hearsCancels: planted.deafToCancels !== true,
        }),
    );
  }

  private assemble(random: ProxyParts['random']): ProxyParts {
    const { script, time, log, throttle, methods } = this;
    let calls = 0;
    const { limits } = script;
    return {
      clock: time.clock,
      random,
      alarms: this.callAlarms,
      turn: time.turn,
      pool: this.pool(),
      hasName: () => false,
      picker: createPicker({ kind: 'round_robin' }, allWell, { hedgeDistinct: false, pinOnParked: 'fail' }, () =>
        random.next(),
      ),
      // Parks are for tests of their own: no script here knows them.
      health: createHealth({ ...defaultHealth, hardFailures: 1_000_000, recentWindow: 0 }),
      blame: createBlame({ minBlame: 1000, ignoreDeadline: [], countInternal: false, rateLimit: false }),
      onHealthChange: () => {},
      sessions: createSessions({ ttl: 1, maxAge: null, maxEntries: 1, lostAfter: 1 }, () => null),
      session: 'strict',
      losses: new LossBook(time, { onOutcome() {}, onLoss() {} }),
      policyFor: (path) => methods.lookup(path),
      machineEnv: createMachineEnv(random, throttle),
      throttle: {
        isShut: (debit) => throttle.isShut(debit),
        count: (as) => {
          log.add({ kind: 'counted', as });
          throttle.count(as);
        },
        configure: (next) => throttle.configure(next),
        suppress: () => throttle.suppress(),
        get suppressed() {
          return throttle.suppressed;
        },
        get state() {
          return throttle.state;
        },
      },
      replay: createReplayBudget(limits.total, 'total', null),
      callLimit: limits.call,
      clientLimit: limits.client,
      relay: new RelayPool(limits.relay).open(),
      prefix: 'hedgerow-',
      directives: true,
      pin: script.pin,
      pinSameBackendRetry: script.pinSameBackendRetry,
      maxMessageSize: null,
      notes: createNotes('hedgerow-', true),
      meters: createNoMeters(),
      tracing: null,
      authority: { kind: 'client' },
      scheme: 'http',
      observer: {
        wants: () => true,
        onCallEnded: (record) => {
          log.add({ kind: 'record', record });
          // The call that ends is still counted, but for one that was refused, and has no alarm any more.
          const goOn = this.openCalls - (record.attempts.length > 0 ? 1 : 0);
          this.strayAlarms = Math.max(this.strayAlarms, this.callAlarms.pending - goOn);
        },
      },
      nextCallId: () => {
        calls += 1;
        return `call-${calls}`;
      },
      onDefect: (error) => this.defects.push(error),
    };
  }

  private pool(): UpstreamPool {
    const backends = this.backends.map(({ upstream }) => upstream);
    return {
      backends,
      get: (id) => backends.find((backend) => backend.id === id),
      inFlightOf: (id) => backends.find((backend) => backend.id === id)?.inFlight ?? 0,
      onceRoom: (listener) => this.roomWaiters.add(listener),
      forget: (listener) => this.roomWaiters.forget(listener),
      start: () => {
        for (const backend of backends) backend.start();
      },
      apply: () => {},
      drain: () => false,
      resume: () => false,
      lose: () => false,
      stop: () => Promise.resolve(),
    };
  }

  private changed(change: BackendChange): void {
    this.changes.push(change);
    if (change.event === 'connected') this.roomWaiters.tell();
  }

  private outcomeFor(call: number): Outcome {
    const seen = this.attemptsSeen.get(call) ?? 0;
    this.attemptsSeen.set(call, seen + 1);
    return this.script.calls[call]?.outcomes[seen] ?? plainAnswer;
  }

  /** Plays the script for `horizon` ms; then the clients give up what is left, and all comes to rest. */
  run(horizon = 20_000): void {
    const { script, time, callers } = this;
    // The clients' own connections are no part of the run: they are up when it begins.
    time.advance(settling);
    const start = time.clock.now() + script.warmup;
    for (const backend of this.backends) backend.begin();
    script.calls.forEach((plan, number) => {
      time.alarms.set(start + plan.at, () => {
        const caller = this.clients[plan.connection]?.call(number, plan) ?? null;
        if (caller !== null) callers[number] = caller;
      });
    });
    const { clientLost } = script;
    if (clientLost !== null)
      time.alarms.set(start + clientLost.at, () =>
        this.clients[clientLost.connection]?.wire.cut('the client was lost'),
      );
    if (script.abandonAt !== null)
      time.alarms.set(start + script.abandonAt, () => {
        for (const { atProxy } of this.clients) atProxy.abandonCalls();
      });
    time.advance(horizon);
    for (const caller of callers) {
      if (caller === undefined || caller.over) continue;
      this.endless.push(caller.call);
      caller.cancel();
    }
    time.advance(1000);
  }

  private get openCalls(): number {
    return this.clients.reduce((sum, { atProxy }) => sum + atProxy.openCalls, 0);
  }

  get leaks(): Leaks {
    const { parts } = this;
    const sum = (list: readonly number[]): number => list.reduce((total, one) => total + one, 0);
    return {
      calls: this.openCalls,
      alarms: this.callAlarms.pending,
      replayBytes: parts.replay.held,
      relayBytes: parts.relay.waiting,
      upstreamStreams: sum(this.backends.map(({ upstream }) => upstream.inFlight)),
      queued: sum(this.backends.map(({ upstream }) => upstream.queued)),
      waitingForConnect: this.roomWaiters.size,
    };
  }

  /** Takes the connections down; afterwards no alarm of theirs may be left. */
  stop(): number {
    for (const { upstream } of this.backends) upstream.stop();
    this.time.advance(3000);
    return this.connectAlarms.pending;
  }
}
