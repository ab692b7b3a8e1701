import type { Ports } from '../app.js';
import { printable } from '../config/quote.js';
import type { ServiceConfig } from '../config/service-config.js';
import { AskedReads, type ReadResult } from './asked-reads.js';
import {
  type ConfigSource,
  type SourceDecision,
  type SourceEvent,
  type SourceStep,
  sourceProblem,
  sourceWakeAt,
  startConfigSource,
  stepConfigSource,
} from './config-source.js';
import { fileProblem } from './file-problem.js';
import type { LoadedConfig } from './load-service-config.js';

/** The outside, as the following of a file sees it. */
export interface FollowIo {
  /** UTF-8. Rejects as `node:fs/promises` does. */
  readonly readAgain: (path: string) => Promise<string>;
  /** Calls `onChange` when the file may have changed, until what it returns is called. */
  readonly watch: (path: string, onChange: () => void) => () => void;
  readonly ports: Pick<Ports, 'clock' | 'alarms'>;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
  readonly apply: (config: ServiceConfig) => void;
  /** A file was read again, and that came of it: for the metrics. */
  readonly reloaded?: ((what: Reloaded, outcome: 'applied' | 'unchanged' | 'rejected') => void) | undefined;
}

/** What is read again while the proxy runs. */
export type Reloaded = 'service_config' | 'endpoints' | 'client_tls' | 'backend_tls';

/** The service config's file, followed. */
export interface ConfigFollower {
  /** Reads it now, and tells the result. After `stop` it only tells that nothing is read any more, and resolves to null. */
  ask(): Promise<ReadResult | null>;
  /** What is in force and what was refused. */
  readonly source: ConfigSource;
  /** Nothing is applied after it. */
  stop(): void;
}

/** What a read came to; null: bad news count where they are told, as a file that is being written is none yet. */
function outcomeOf({ source, decisions }: SourceStep): ReadResult['outcome'] | null {
  if (decisions.some(({ type }) => type === 'apply')) return 'applied';
  if (decisions.some((decision) => decision.type === 'tell' && decision.level === 'warn')) return 'rejected';
  return source.doubted === null ? 'unchanged' : null;
}

/** Follows the file that a start has read. Never throws. */
export function followServiceConfig(path: string, loaded: LoadedConfig, io: FollowIo): ConfigFollower {
  const { clock, alarms } = io.ports;
  const asked = new AskedReads();
  let source = startConfigSource(path, loaded, clock.now());
  let alarm: ReturnType<typeof alarms.set> | null = null;
  let stopped = false;

  function on(event: SourceEvent): void {
    if (stopped) return;
    const step = stepConfigSource(source, event, clock.now());
    source = step.source;
    const isRead = event.type === 'read' || event.type === 'readFailed';
    const outcome = isRead ? outcomeOf(step) : null;
    if (outcome !== null) io.reloaded?.('service_config', outcome);
    for (const decision of step.decisions) act(decision);
    if (isRead) asked.settle({ outcome: outcome ?? 'unchanged', problem: sourceProblem(source) });
    if (alarm !== null) alarms.cancel(alarm);
    const wakeAt = sourceWakeAt(source);
    alarm = wakeAt === null ? null : alarms.set(wakeAt, () => on({ type: 'woke' }));
  }

  function act(decision: SourceDecision): void {
    switch (decision.type) {
      case 'read':
        void read();
        return;
      case 'apply':
        io.apply(decision.config);
        return;
      case 'tell':
        io.tell(decision.level, decision.fields, decision.message);
        return;
      default:
        decision satisfies never;
    }
  }

  async function read(): Promise<void> {
    let event: SourceEvent;
    try {
      event = { type: 'read', text: await io.readAgain(path) };
    } catch (error) {
      event = { type: 'readFailed', problem: fileProblem(path, error) };
    }
    on(event);
  }

  const stopWatching = io.watch(path, () => on({ type: 'changed' }));
  return {
    ask() {
      if (stopped) {
        io.tell('info', {}, `service config ${printable(path)}: not read again, the proxy is draining`);
        return Promise.resolve(null);
      }
      const result = asked.wait(source.reading);
      on({ type: 'asked' });
      return result;
    },
    get source() {
      return source;
    },
    stop() {
      stopped = true;
      asked.end();
      stopWatching();
      if (alarm !== null) alarms.cancel(alarm);
    },
  };
}
