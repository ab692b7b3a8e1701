import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { alive } from '../support/alive.js';
import type { Line } from '../support/frames.js';

/** A program, and how it is started. */
export interface Startable {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** What install-peers.sh has built of a channel that runs the cases of test/differences. */
export interface PeerKind extends Startable {
  readonly name: 'grpc-go' | 'grpc-java';
}

/**
 * A program's first answer to a kind of request comes within so long (ms): it loads the code for it. A JVM beside two busy
 * workers takes some four seconds to start, and as long again to its first channel; on a machine with thirty processes that
 * want to run it takes that many times as long.
 */
export const startTime = 60_000;

const home = path.resolve(import.meta.dirname, '../../.ci/cache/interop');

/** @param folder of its classes and jars */
function java(folder: string, main: string): Omit<Startable, 'name'> {
  const classes = path.join(home, folder, 'classes');
  // Without the second compiler it starts in half the time.
  const args = ['-XX:TieredStopAtLevel=1', '-cp', `${classes}:${path.join(home, folder, 'lib', '*')}`, main];
  return { command: 'java', args };
}

function go(name: string): Omit<Startable, 'name'> {
  return { command: path.join(home, name), args: [] };
}

const goPeer: PeerKind = { name: 'grpc-go', ...go('go-channel') };
const javaPeer: PeerKind = { name: 'grpc-java', ...java('java', 'JavaChannel') };

export const peerKinds: readonly PeerKind[] = [goPeer, javaPeer];

/** Programs of the other runs, by what they do. */
export const programs = {
  goChannel: goPeer,
  javaChannel: javaPeer,
  goFlaky: { name: 'the flaky backend on grpc-go', ...go('go-flaky') },
  goInteropClient: { name: 'grpc-go’s interop client', ...go('go-interop-client') },
  goInteropServer: { name: 'grpc-go’s interop server', ...go('go-interop-server') },
  javaFlaky: { name: 'the flaky backend on grpc-java', ...java('java', 'JavaFlaky') },
  javaInterop: { name: 'grpc-java’s interop', ...java('java-interop', 'io.grpc.testing.integration.JavaInterop') },
  python: {
    name: 'grpcio',
    command: path.join(home, 'python', 'bin', 'python'),
    args: ['-B', path.join(import.meta.dirname, 'python-peer', 'peer.py')],
  },
} satisfies Record<string, Startable>;

/** A file that is there when a language is installed, the last that its part of install-peers.sh makes. */
const built = {
  'grpc-go': path.join(home, 'go-interop-server'),
  'grpc-java': path.join(home, 'java-interop', 'classes', 'io', 'grpc', 'testing', 'integration', 'JavaInterop.class'),
  grpcio: path.join(home, 'python', 'lib'),
};

/** What keeps the peers from running, as one line; null: nothing. */
export function missingPeer(): string | null {
  const missing = Object.entries(built).flatMap(([name, file]) => (existsSync(file) ? [] : [name]));
  if (missing.length > 0)
    return `${missing.join(' and ')} not installed: run test/interop/install-peers.sh, which needs Go, a JDK with Maven, and Python`;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  if (!folders.some((folder) => existsSync(path.join(folder, 'java'))))
    return 'no java on the PATH: install a Java of 17 or later';
  return null;
}

/** Paths of PEM files: the CA that is trusted, and what is shown; a server has to have both. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** One line of the protocol that go-channel/main.go tells. */
export type Request =
  | { readonly op: 'version' }
  | { readonly op: 'serve'; readonly tls?: TlsFiles }
  | { readonly op: 'case'; readonly name: string; readonly port: number }
  | {
      readonly op: 'open';
      readonly channel: string;
      readonly target: string;
      readonly serviceConfig?: string;
      readonly noRetries?: boolean;
      /** Not grpc-java. The answer does not wait for a connection then. */
      readonly tls?: TlsFiles;
    }
  | {
      readonly op: 'call';
      readonly channel: string;
      readonly method: string;
      /** serverStream: not grpc-java. */
      readonly kind: 'unary' | 'clientStream' | 'serverStream';
      readonly message: string;
      /** Binary values in base64. */
      readonly metadata: readonly Line[];
      readonly gzip?: boolean;
      /** Absent: none. */
      readonly deadlineMs?: number;
    }
  | { readonly op: 'close'; readonly channel: string };

/** To a call that is going on; not answered. */
export type Note =
  | { readonly op: 'send'; readonly call: number; readonly message: string }
  | { readonly op: 'finish' | 'cancel'; readonly call: number };

export interface Reply {
  readonly seq: number;
  readonly configRejected?: string;
  readonly status?: number;
  readonly message: string;
  readonly messages?: readonly string[];
  readonly headers?: readonly Line[];
  readonly trailers?: readonly Line[];
  readonly tookMs?: number;
  /** Of serve. */
  readonly port?: number;
  readonly flakyPort?: number;
  /** Why a case did not pass. */
  readonly failure?: string;
  readonly fault?: string;
}

/** A program on a stock library of another language. One serves all cases, each with a channel of its own. */
export class Peer {
  readonly name: string;
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  private seq = 0;
  private channels = 0;
  private errors = '';
  private gone: Error | null = null;
  private readonly answered = new Set<Request['op']>();
  private readonly closed: Promise<void>;

  constructor({ name, command, args }: Startable) {
    this.name = name;
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => this.heard(JSON.parse(line) as Reply));
    // What is written after its end is told by `close`.
    this.child.stdin.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.child.on('error', (error) => this.lost(`cannot start: ${error.message}`));
      this.child.on('close', (code) => {
        this.lost(`ended with ${code}: ${this.errors}`);
        resolve();
      });
    });
  }

  /** A name that no other channel of this peer has. */
  newChannel(): string {
    this.channels += 1;
    return String(this.channels);
  }

  /** @returns the answer, and at once the number by which notes name a call */
  ask(request: Request): { readonly seq: number; readonly reply: Promise<Reply> } {
    this.seq += 1;
    const seq = this.seq;
    const answered = new Promise<Reply>((resolve, reject) => {
      if (this.gone === null) this.waiting.set(seq, { resolve, reject });
      else reject(this.gone);
    });
    this.child.stdin.write(`${JSON.stringify({ seq, ...request })}\n`);
    return {
      seq,
      reply: this.within(request.op, answered),
    };
  }

  tell(note: Note): void {
    this.child.stdin.write(`${JSON.stringify(note)}\n`);
  }

  /** Ends when its input does. */
  async close(): Promise<void> {
    this.child.stdin.end();
    await alive(`${this.name} to end`, this.closed);
  }

  private async within(op: Request['op'], answered: Promise<Reply>): Promise<Reply> {
    const reply = await alive(`${this.name} to answer ${op}`, answered, this.answered.has(op) ? undefined : startTime);
    this.answered.add(op);
    return reply;
  }

  private heard(reply: Reply): void {
    const waiting = this.waiting.get(reply.seq);
    this.waiting.delete(reply.seq);
    if (reply.fault !== undefined) waiting?.reject(new Error(`${this.name}: ${reply.fault}`));
    else waiting?.resolve(reply);
  }

  private lost(why: string): void {
    this.gone ??= new Error(`${this.name} ${why}`);
    for (const { reject } of this.waiting.values()) reject(this.gone);
    this.waiting.clear();
  }
}
