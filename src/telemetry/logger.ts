import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  /** Where lines go; stdout in the program. */
  readonly destination: NodeJS.WritableStream;
}

/** The facts of the ready line (contract, Logs). */
export interface ReadyFacts {
  readonly listen: readonly string[];
  readonly admin: string | null;
  readonly control: string | null;
  readonly backends: number;
  readonly config: { readonly path: string | null; readonly version: string; readonly methods: number };
}

/** Lines carry a level, a time and what the event has to say; no host name, no metadata values, no secrets. */
export function createLogger({ level, format, destination }: LoggerOptions): Logger {
  const sink = format === 'pretty' ? PinoPretty({ destination, colorize: isTerminal(destination) }) : destination;
  return pino({ level, base: null }, sink);
}

/** Scripts wait for this line: it is written at every log level, as a line of level info. */
export function logReady(logger: Logger, facts: ReadyFacts): void {
  const child = logger.child({}, { level: 'info' });
  child.info(facts, 'ready');
}

function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}
