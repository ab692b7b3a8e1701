import { EventEmitter, once } from 'node:events';
import { type App, createApp, type FileContents } from '../../src/app.js';
import type { HealthChange } from '../../src/balance/health-types.js';
import { readSettings } from '../../src/config/read-settings.js';
import { parseServiceConfig } from '../../src/config/service-config.js';
import type { LossRecord } from '../../src/proxy/losses.js';
import type { Meters } from '../../src/proxy/meters.js';
import type { CallRecord } from '../../src/proxy/observer.js';
import { createNodeAlarms } from '../../src/runtime/alarms.js';
import { nodeClock } from '../../src/runtime/clock.js';
import type { Alarms, Clock } from '../../src/runtime/ports.js';
import { nodeTurn } from '../../src/runtime/turn.js';
import type { BackendChange } from '../../src/upstream/types.js';

/** A proxy in this process, over real sockets, whose every call and backend event can be awaited. */
export interface TestProxy {
  readonly port: number;
  /** `127.0.0.1:PORT`; null where off. */
  readonly admin: string | null;
  readonly app: App;
  /** Calls that have ended, in order. */
  readonly calls: readonly CallRecord[];
  /** The next call to end, or the one that ended with this index (from 0). */
  call(index: number): Promise<CallRecord>;
  readonly changes: readonly BackendChange[];
  /** The change with this index, when it has come. */
  change(index: number): Promise<BackendChange>;
  /** What the listener turned away, in words. */
  readonly refused: readonly string[];
  /** What was turned away with this index, when it has been. */
  refusal(index: number): Promise<string>;
  /** Parks and releases. */
  readonly healthChanges: readonly HealthChange[];
  health(index: number): Promise<HealthChange>;
  /** What became of the attempts of backends that were lost. */
  readonly losses: readonly LossRecord[];
  loss(index: number): Promise<LossRecord>;
  /** What the sources of backends have to say. */
  readonly lines: readonly TestLine[];
  line(index: number): Promise<TestLine>;
  readonly defects: readonly unknown[];
  stop(): Promise<void>;
}

export interface TestLine {
  readonly level: 'info' | 'warn';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface ProxyOptions {
  /** Name → port on loopback, or a whole target. */
  readonly backends: Readonly<Record<string, number | string>>;
  /** A value or its text; default: no policy. */
  readonly serviceConfig?: unknown;
  readonly flags?: readonly string[];
  readonly files?: Partial<FileContents>;
  /** In [0, 1); default 0.5, which makes every jitter 1. */
  readonly random?: () => number;
  /** Instead of the real clock and alarms; sockets stay real. */
  readonly time?: { readonly clock: Clock; readonly alarms: Alarms };
  /** Counts what happens; with --admin it is told at /metrics. */
  readonly meters?: Meters;
  /** Wait until every backend is connected; default true. */
  readonly connected?: boolean;
}

const keepalive = '--client-keepalive-time';

const noFiles: FileContents = {
  ...{ tlsCert: null, tlsKey: null, tlsClientCa: null },
  ...{ backendCa: null, backendCert: null, backendKey: null },
  adminToken: null,
  endpoints: [],
};

export async function startProxy(options: ProxyOptions): Promise<TestProxy> {
  const targets = Object.entries(options.backends).map(([name, at]) => [
    name,
    typeof at === 'number' ? `127.0.0.1:${at}` : at,
  ]);
  const read = readSettings({
    flags: [
      ...['--listen', '127.0.0.1:0', '--admin', 'off'],
      // Virtual time may run to its end, with sockets that know nothing of it.
      ...(options.time === undefined || options.flags?.includes(keepalive) ? [] : [keepalive, 'off']),
      ...targets.flatMap(([name, target]) => ['--backend', `${name}=${target}`]),
      ...(options.flags ?? []),
    ],
    env: {},
    file: null,
  });
  if (!read.ok) throw new Error(read.problem);
  const { serviceConfig = {} } = options;
  const text = typeof serviceConfig === 'string' ? serviceConfig : JSON.stringify(serviceConfig);
  const { config, findings } = parseServiceConfig(text, { maxAttemptsLimit: read.settings.maxAttemptsLimit });
  if (config === null) throw new Error(JSON.stringify(findings));

  const news = new EventEmitter();
  news.setMaxListeners(0);
  const calls: CallRecord[] = [];
  const changes: BackendChange[] = [];
  const refused: string[] = [];
  const healthChanges: HealthChange[] = [];
  const losses: LossRecord[] = [];
  const lines: TestLine[] = [];
  const defects: unknown[] = [];
  const ports = {
    clock: options.time?.clock ?? nodeClock,
    random: { next: options.random ?? (() => 0.5) },
    alarms: options.time?.alarms ?? createNodeAlarms(),
    turn: nodeTurn,
  };
  const app = createApp(read.settings, config, { ...noFiles, ...options.files }, ports, {
    ...(options.meters === undefined ? {} : { meters: options.meters }),
    observer: {
      wants: () => true,
      onCallEnded(record) {
        calls.push(record);
        news.emit('call');
      },
    },
    onBackendChange(change) {
      changes.push(change);
      news.emit('change');
    },
    onHealthChange(change) {
      healthChanges.push(change);
      news.emit('health');
    },
    onLoss(loss) {
      losses.push(loss);
      news.emit('loss');
    },
    onClientRefused(peer, detail) {
      refused.push(`${peer}: ${detail}`);
      news.emit('refused');
    },
    tell(level, fields, message) {
      lines.push({ level, fields, message });
      news.emit('line');
    },
    onDefect(error) {
      defects.push(error);
    },
  });
  await app.start();
  const port = Number(app.listening[0]?.split(':').at(-1));
  if (options.connected ?? true) {
    while (app.pool.backends.some(({ link }) => link !== 'ready')) await once(news, 'change');
  }

  async function nth<T>(list: readonly T[], index: number, event: string): Promise<T> {
    for (;;) {
      const item = list[index];
      if (item !== undefined) return item;
      await once(news, event);
    }
  }

  return {
    port,
    get admin() {
      return app.adminAddress;
    },
    app,
    calls,
    call: (index) => nth(calls, index, 'call'),
    changes,
    change: (index) => nth(changes, index, 'change'),
    refused,
    refusal: (index) => nth(refused, index, 'refused'),
    healthChanges,
    health: (index) => nth(healthChanges, index, 'health'),
    losses,
    loss: (index) => nth(losses, index, 'loss'),
    lines,
    line: (index) => nth(lines, index, 'line'),
    defects,
    stop: () => app.stop(),
  };
}
