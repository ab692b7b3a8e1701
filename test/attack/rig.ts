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
  readonly p99: number;
  /** p99 of calls to a backend of the same kind, past the proxy and the attack: what the machine itself takes. */
  readonly yardstick: number;
}

/** For attacks by clients: calls that the good backend fails at first are retried. */
const retryPolicy = {
  maxAttempts: 3,
  initialBackoff: '0.001s',
  maxBackoff: '0.002s',
  backoffMultiplier: 1,
  retryableStatusCodes: ['UNAVAILABLE'],
};
/** For attacks by backends: whatever a hostile one does to an attempt, another is under way within 10 ms. */
const hedgingPolicy = {
  maxAttempts: 5,
  hedgingDelay: '0.01s',
  nonFatalStatusCodes: ['UNAVAILABLE', 'INTERNAL', 'UNKNOWN', 'RESOURCE_EXHAUSTED', 'CANCELLED'],
};
const policies = { retry: { retryPolicy }, hedge: { hedgingPolicy } };

/** The built program, a good backend and an honest client, each a process of its own. */
export class Scene {
  readonly program: Program;
  readonly port: number;
  private readonly others: readonly ChildProcess[];
  private readonly client: ChildProcess;

  private constructor(program: Program, port: number, others: readonly ChildProcess[], client: ChildProcess) {
    this.program = program;
    this.port = port;
    this.others = others;
    this.client = client;
  }

  /** @param flags of `hedgerow serve` */
  static async open(flags: readonly string[], policy: keyof typeof policies): Promise<Scene> {
    const [backend, yardstick] = await Promise.all([startBackend(), startBackend()]);
    const program = await serve(
      ['--log-level', 'warn', '--access-log', 'off', '--backend', `good=127.0.0.1:${backend.port}`, ...flags],
      {
        files: {
          'service-config.json': JSON.stringify({ methodConfig: [{ name: [{}], ...policies[policy] }] }),
        },
      },
    );
    const port = await program.port();
    const client = fork(path.join(here, 'honest.mjs'), [String(port), policy, String(yardstick.port)]);
    return new Scene(program, port, [backend.child, yardstick.child], client);
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
    for (const child of [this.client, ...this.others]) child.kill('SIGKILL');
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

async function startBackend(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(path.join(here, 'backend.mjs'), [path.dirname(await built())]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
