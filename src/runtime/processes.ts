import cluster, { type Worker } from 'node:cluster';
import type { Readable } from 'node:stream';

/*
 * Processes that share listening ports (node:cluster, round robin: the primary takes each connection and gives it to the next
 * worker; Node 20 cannot bind one port twice). Messages are values that structured clone takes: no functions, no classes.
 */

/** The word by which a process of the program knows that it is a worker, before its number. */
export const workerWord = 'worker';

/** What the primary hears of a worker. None may throw. */
export interface ForkEvents {
  readonly onMessage: (message: unknown) => void;
  /** It is gone, and all that it had to say has been heard. Once. */
  readonly onGone: (code: number | null, signal: string | null) => void;
}

/** A worker, as the primary sees it. */
export interface ForkedProcess {
  /** Undefined once it is gone. */
  readonly pid: number | undefined;
  readonly stdout: Readable | null;
  /** Does nothing once it is gone. */
  send(message: object): void;
  /** SIGKILL. */
  kill(): void;
}

/** Starts one more of this program. @param worker its number */
export function forkWorker(worker: number, { onMessage, onGone }: ForkEvents): ForkedProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    args: [workerWord, String(worker)],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const forked: Worker = cluster.fork();
  forked.on('message', onMessage);
  // A channel that breaks is the end of its process, which is told of by itself.
  forked.on('error', () => {});
  // Not `exit`: what was in its pipes is to be read first.
  forked.process.on('close', onGone);
  return {
    get pid() {
      return forked.process.pid;
    },
    stdout: forked.process.stdout,
    send(message) {
      if (forked.isConnected()) forked.send(message);
    },
    kill: () => void forked.process.kill('SIGKILL'),
  };
}

/** The primary, as a worker sees it. When it goes, the worker's process ends. */
export interface PrimaryLink {
  readonly worker: number;
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** Null: nobody has started this process as a worker. @param args those of the program */
export function linkToPrimary([word, number]: readonly string[]): PrimaryLink | null {
  const { worker } = cluster;
  if (word !== workerWord || worker === undefined) return null;
  return {
    worker: Number(number),
    send: (message) => void worker.send(message),
    onMessage: (listener) => void worker.on('message', listener),
  };
}
