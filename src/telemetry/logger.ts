import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import type { PinoPretty } from 'pino-pretty';
import { createLogRoom, type DroppedLines, type LineKind } from './log-room.js';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** `pretty` by this; else JSON. Loaded where it is asked for: a start without it is ready sooner. */
  readonly pretty: typeof PinoPretty | null;
  /** Where lines go; stdout in the program. */
  readonly destination: Writable;
  /** Of pretty lines [whether `destination` is a terminal]. */
  readonly color?: boolean;
  /** Fields that every line begins with. */
  readonly base?: Readonly<Record<string, unknown>>;
  /** A line was dropped: the reader of `destination` is too slow, or has stopped. */
  readonly onDropped: (kind: LineKind) => void;
}

/** Where lines go: those of calls are the first to be dropped where nobody reads them. */
export interface Loggers {
  readonly calls: Logger;
  readonly logger: Logger;
}

/** Bytes of lines that may wait for their reader. */
const bounds = { call: 4 * 1024 * 1024, other: 16 * 1024 * 1024 };

/** The facts of the ready line (contract, Logs). */
export interface ReadyFacts {
  readonly listen: readonly string[];
  readonly admin: string | null;
  readonly control: string | null;
  readonly backends: number;
  readonly config: { readonly path: string | null; readonly version: string; readonly methods: number };
}

/** Lines carry a level, a time and what the event has to say; no host name, no metadata values, no secrets. */
export function createLoggers(options: LoggerOptions): Loggers {
  const { level, destination, color = isTerminal(destination), base, onDropped } = options;
  const pretty = options.pretty?.({ destination, colorize: color }) ?? null;
  const sink = pretty ?? destination;
  const room = createLogRoom(bounds);
  const unsent = (): number => destination.writableLength + (pretty?.writableLength ?? 0);
  const tell = (): void => {
    const dropped = room.toTell(unsent());
    if (dropped !== null) logger.warn({ event: 'log_lines_dropped', dropped }, wordsFor(dropped));
  };
  const through = (kind: LineKind): Logger =>
    pino(
      { level, base: base ?? null },
      {
        write(line: string): void {
          tell();
          if (room.admit(kind, unsent())) sink.write(line);
          else onDropped(kind);
        },
      },
    );
  const logger = through('other');
  // Emitted when all that waited is written, so also where no further line comes.
  sink.on('drain', tell);
  return { calls: through('call'), logger };
}

function wordsFor({ call, other }: DroppedLines): string {
  const lines = [call > 0 ? `${call} lines of calls` : '', other > 0 ? `${other} other lines` : ''];
  return `${lines.filter((part) => part !== '').join(' and ')} were not written: the log's reader was too slow`;
}

/** Scripts wait for this line: it is written at every log level, as a line of level info. */
export function logReady(logger: Logger, facts: ReadyFacts): void {
  const child = logger.child({}, { level: 'info' });
  child.info(facts, 'ready');
}

function isTerminal(stream: Writable): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}
