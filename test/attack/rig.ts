import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { alive } from '../support/alive.js';
import { built } from '../support/build.js';
import { type Program, serve } from '../support/program.js';
import { identityFiles } from '../support/tls.js';

const here = fileURLToPath(new URL('.', import.meta.url));

const authority = identityFiles('ca').cert;

/** What the honest client saw in some stretch of time; latencies in milliseconds. */
export interface Honest {
  readonly calls: number;
  readonly failed: number;
  /** The first few failures. */
  readonly words: readonly string[];
  readonly p99: number;
  /** p99 of calls to a backend of the same kind, past the proxy and the attack: what the machine itself takes. */
  readonly yardstick: number;
  /** Answers of 1 MiB, and their p99. */
  readonly large: number;
  readonly largeP99: number;
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

/** What all scenes share: a good backend, and another one, which no attack reaches. Each a process of its own. */
export interface Stage {
  readonly good: number;
  readonly yardstick: number;
  readonly clear: () => void;
}

export async function setStage(): Promise<Stage> {
  const [good, yardstick] = await Promise.all([startBackend(), startBackend()]);
  return {
    good: good.port,
    yardstick: yardstick.port,
    clear() {
      for (const { child } of [good, yardstick]) child.kill('SIGKILL');
    },
  };
}

export interface SceneOptions {
  /** Of `hedgerow serve`. */
  readonly flags: readonly string[];
  readonly policy: keyof typeof policies;
  /** Clients speak TLS. */
  readonly secure?: boolean;
  /** The honest client has answers of 1 MiB too. */
  readonly large?: boolean;
}

/** The built program and an honest client, each a process of its own, before a good backend. */
export class Scene {
  readonly program: Program;
  readonly port: number;
  private readonly client: ChildProcess;

  private constructor(program: Program, port: number, client: ChildProcess) {
    this.program = program;
    this.port = port;
    this.client = client;
  }

  static async open(stage: Stage, { flags, policy, secure = false, large = false }: SceneOptions): Promise<Scene> {
    const args = [policy, String(stage.yardstick), large ? 'large' : 'small', ...(secure ? [authority] : [])];
    const client = fork(path.join(here, 'honest.mjs'), args);
    const { cert, key } = identityFiles('server');
    const program = await serve(
      [
        '--access-log',
        'off',
        '--backend',
        `good=127.0.0.1:${stage.good}`,
        ...(secure ? ['--tls-cert', cert, '--tls-key', key] : []),
        ...flags,
      ],
      {
        files: {
          'service-config.json': JSON.stringify({ methodConfig: [{ name: [{}], ...policies[policy] }] }),
        },
      },
    );
    const port = await program.port();
    client.send(port);
    return new Scene(program, port, client);
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
  }

  /** Memory of the proxy that is in RAM now (bytes). */
  async rss(): Promise<number> {
    const status = await readFile(`/proc/${this.program.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** The first line of the log that says so; where none does, what the log says instead. */
  logged(what: RegExp): string {
    const lines = this.program.lines.map(({ msg }) => String(msg));
    return lines.find((line) => what.test(line)) ?? `only: ${[...new Set(lines)].join('; ')}`;
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
