import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';
import { alive, Happenings } from './alive.js';
import { built } from './build.js';

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Files to write into its working directory before it starts. */
  readonly files?: Readonly<Record<string, string>>;
}

/** One log line. */
export type LogLine = Readonly<Record<string, unknown>>;

/** How a process ended: an exit code, or the signal that killed it. */
export type Exit = number | NodeJS.Signals;

/** The built program as a process, in a working directory of its own that holds nothing else. */
export class Program {
  readonly directory: string;
  out = '';
  err = '';
  private readonly child: ChildProcess;
  private readonly happenings = new Happenings();
  private exit: Exit | null = null;

  constructor(child: ChildProcess, directory: string) {
    this.child = child;
    this.directory = directory;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      this.happenings.changed();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
      this.happenings.changed();
    });
    // `close` comes after the last output.
    child.on('close', (code, signal) => {
      this.exit = code ?? signal ?? 'SIGKILL';
      this.happenings.changed();
    });
  }

  /** Whole lines of stdout that are JSON. */
  get lines(): LogLine[] {
    const whole = this.out.slice(0, this.out.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** 0 where it could not be started. */
  get pid(): number {
    return this.child.pid ?? 0;
  }

  get ended(): boolean {
    return this.exit !== null;
  }

  /** The first line with this message, or that `wanted` wants. */
  line(wanted: string | ((line: LogLine) => boolean)): Promise<LogLine> {
    const match = typeof wanted === 'string' ? (line: LogLine) => line['msg'] === wanted : wanted;
    return this.until(`a line ${typeof wanted === 'string' ? `"${wanted}"` : 'of that kind'}`, () =>
      this.lines.find(match),
    );
  }

  /** Resolves when its stdout holds `text`. */
  async said(text: string): Promise<void> {
    await this.until(`it to say ${text}`, () => this.out.includes(text) || undefined);
  }

  /** Resolves when its stderr holds `text`. */
  async complained(text: string): Promise<void> {
    await this.until(`it to complain of ${text}`, () => this.err.includes(text) || undefined);
  }

  /** The port of the nth listener. */
  async port(index = 0): Promise<number> {
    const { listen } = await this.line('ready');
    const address = Array.isArray(listen) ? String(listen[index]) : '';
    return Number(address.slice(address.lastIndexOf(':') + 1));
  }

  /** `HOST:PORT` of the admin listener. */
  async admin(): Promise<string> {
    return String((await this.line('ready'))['admin']);
  }

  exited(): Promise<Exit> {
    return this.happenings.until(`the program to end; it said: ${this.out}${this.err}`, () => this.exit ?? undefined);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Closes our end of its stdout. */
  closeStdout(): void {
    this.child.stdout?.destroy();
  }

  /** Takes nothing more of its stdout; what waits in the pipe stays there. */
  holdStdout(): void {
    this.child.stdout?.pause();
  }

  readOn(): void {
    this.child.stdout?.resume();
  }

  private until<T>(what: string, read: () => T | undefined): Promise<T> {
    return this.happenings.until(what, () => {
      const value = read();
      if (value === undefined && this.exit !== null)
        throw new Error(`${what} cannot come: ended with ${this.exit}; it said: ${this.out}${this.err}`);
      return value;
    });
  }
}

const running: Program[] = [];

/** Runs the built program with these arguments. It is killed and its directory removed after the test. */
export async function hedgerow(args: readonly string[], options: ProgramOptions = {}): Promise<Program> {
  const main = await built();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'hedgerow-run-'));
  for (const [name, text] of Object.entries(options.files ?? {})) await writeFile(path.join(directory, name), text);
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [main, ...args], { cwd: directory, env: { PATH, ...options.env } });
  const program = new Program(child, directory);
  running.push(program);
  return program;
}

/** `hedgerow serve` on a free port without admin listener, with these flags after. */
export function serve(flags: readonly string[], options: ProgramOptions = {}): Promise<Program> {
  return hedgerow(['serve', '--listen', '127.0.0.1:0', '--admin', 'off', ...flags], options);
}

/** Runs to the end. */
export async function ran(
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<{ code: Exit; out: string; err: string }> {
  const program = await hedgerow(args, options);
  const code = await program.exited();
  return { code, out: program.out, err: program.err };
}

afterEach(async () => {
  for (const program of running.splice(0)) {
    if (!program.ended) program.signal('SIGKILL');
    await alive('the program to be gone', program.exited());
    await rm(program.directory, { recursive: true, force: true });
  }
});
