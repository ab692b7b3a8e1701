import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { alive } from '../support/alive.js';
import type { Line } from '../support/frames.js';

/** What install-peers.sh has built, and how it is started. */
export interface PeerKind {
  readonly name: 'grpc-go' | 'grpc-java';
  /** The file that is there when it is installed. */
  readonly built: string;
  readonly command: string;
  readonly args: readonly string[];
}

const home = path.resolve(import.meta.dirname, '../../.ci/cache/interop');
const java = path.join(home, 'java');

export const peerKinds: readonly PeerKind[] = [
  { name: 'grpc-go', built: path.join(home, 'go-channel'), command: path.join(home, 'go-channel'), args: [] },
  {
    name: 'grpc-java',
    built: path.join(java, 'classes', 'JavaChannel.class'),
    command: 'java',
    // Without the second compiler it starts in half the time.
    args: [
      '-XX:TieredStopAtLevel=1',
      '-cp',
      `${path.join(java, 'classes')}:${path.join(java, 'lib', '*')}`,
      'JavaChannel',
    ],
  },
];

/** What keeps the peers from running, as one line; null: nothing. */
export function missingPeer(): string | null {
  const missing = peerKinds.filter(({ built }) => !existsSync(built)).map(({ name }) => name);
  if (missing.length > 0)
    return `${missing.join(' and ')} not installed: run test/interop/install-peers.sh, which needs Go and a JDK with Maven`;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  if (!folders.some((folder) => existsSync(path.join(folder, 'java'))))
    return 'no java on the PATH: install a Java of 17 or later';
  return null;
}

/** One line of the protocol that go-channel/main.go tells. */
export type Request =
  | { readonly op: 'version' }
  | { readonly op: 'open'; readonly channel: string; readonly target: string; readonly serviceConfig: string }
  | {
      readonly op: 'call';
      readonly channel: string;
      readonly method: string;
      readonly kind: 'unary' | 'clientStream';
      readonly message: string;
      readonly metadata: readonly Line[];
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
  readonly fault?: string;
}

/** A program on a stock channel of another language. One serves all cases, each with a channel of its own. */
export class Peer {
  readonly name: PeerKind['name'];
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  private seq = 0;
  private channels = 0;
  private errors = '';
  private gone: Error | null = null;
  private readonly closed: Promise<void>;

  constructor({ name, command, args }: PeerKind) {
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
    return { seq, reply: alive(`${this.name} to answer ${request.op}`, answered) };
  }

  tell(note: Note): void {
    this.child.stdin.write(`${JSON.stringify(note)}\n`);
  }

  /** Ends when its input does. */
  async close(): Promise<void> {
    this.child.stdin.end();
    await alive(`${this.name} to end`, this.closed);
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
