import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { alive } from '../support/alive.js';
import { built } from '../support/build.js';
import { type Program, serve } from '../support/program.js';

const here = fileURLToPath(new URL('.', import.meta.url));

/** What the honest client saw in some stretch of time; latencies in milliseconds. */
export interface Honest {
  readonly calls: number;
  readonly failed: number;
  /** The first few failures. */
  readonly words: readonly string[];
  readonly p50: number;
  readonly p99: number;
}

/** Retries on what a hostile backend does to an attempt. */
const policy = {
  maxAttempts: 5,
  initialBackoff: '0.001s',
  maxBackoff: '0.002s',
  backoffMultiplier: 1,
  retryableStatusCodes: ['UNAVAILABLE', 'INTERNAL', 'UNKNOWN', 'RESOURCE_EXHAUSTED', 'CANCELLED'],
};
const serviceConfig = JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: policy }] });

/** The built program, a good backend and an honest client, each a process of its own. */
export class Scene {
  readonly program: Program;
  readonly port: number;
  private readonly backend: ChildProcess;
  private readonly client: ChildProcess;

  private constructor(program: Program, port: number, backend: ChildProcess, client: ChildProcess) {
    this.program = program;
    this.port = port;
    this.backend = backend;
    this.client = client;
  }

  /** @param flags of `hedgerow serve` */
  static async open(flags: readonly string[]): Promise<Scene> {
    const backend = fork(path.join(here, 'backend.mjs'), [path.dirname(await built())]);
    const [{ port: backendPort }] = (await once(backend, 'message')) as [{ port: number }];
    const program = await serve(
      ['--log-level', 'warn', '--access-log', 'off', '--backend', `good=127.0.0.1:${backendPort}`, ...flags],
      { files: { 'service-config.json': serviceConfig } },
    );
    const port = await program.port();
    const client = fork(path.join(here, 'honest.mjs'), [String(port)]);
    return new Scene(program, port, backend, client);
  }

  /** What the honest client saw since the last report. */
  report(): Promise<Honest> {
    return this.ask('report');
  }

  /** The same; the client makes no more calls, and all that it made are over. */
  finish(): Promise<Honest> {
    return this.ask('finish');
  }

  close(): void {
    this.client.kill('SIGKILL');
    this.backend.kill('SIGKILL');
  }

  /** Memory of the proxy that is in RAM now (bytes). */
  async rss(): Promise<number> {
    const status = await readFile(`/proc/${this.program.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** Watches the memory until the returned function is called, which gives the most there was. */
  watchRss(): () => Promise<number> {
    let most = 0;
    const look = async (): Promise<void> => {
      most = Math.max(most, await this.rss());
    };
    const timer = setInterval(() => void look(), 50);
    return async () => {
      clearInterval(timer);
      await look();
      return most;
    };
  }

  private async ask(what: string): Promise<Honest> {
    const answer = once(this.client, 'message');
    this.client.send(what);
    const [report] = (await alive(`the honest client's ${what}`, answer)) as [Honest];
    return report;
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
