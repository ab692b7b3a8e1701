import { Writable } from 'node:stream';
import { createLoggers, type LoggerOptions } from '../../../src/telemetry/logger.js';

/** A logger whose reader takes all. */
export function lineLogger(options: Omit<LoggerOptions, 'onDropped'>): ReturnType<typeof createLoggers>['logger'] {
  return createLoggers({ ...options, onDropped: () => {} }).logger;
}

/** Takes what is logged. */
export class Lines extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }

  /** The JSON lines, parsed; each must be one object on one line. */
  get objects(): Record<string, unknown>[] {
    const lines = this.text.split('\n');
    if (lines.pop() !== '') throw new Error(`the last line is not ended: ${this.text}`);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

/** Takes nothing until it is told to. */
export class StoppedLines extends Lines {
  private held: (() => void) | null = null;
  private stopped = true;

  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    const take = (): void => super._write(chunk, encoding, done);
    if (this.stopped) this.held = take;
    else take();
  }

  /** Resolves when all that waited is taken. */
  goOn(): Promise<void> {
    this.stopped = false;
    const drained = new Promise<void>((resolve) => this.once('drain', resolve));
    this.held?.();
    return drained;
  }
}
