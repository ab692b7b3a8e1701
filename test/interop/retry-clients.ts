import { type Implementation, implementations } from './implementations.js';
import { JsRetryClient } from './js-retry-client.js';
import { Peer, programs } from './peer.js';

/** `[key, value]`, a binary value in base64. */
export type Pair = readonly [key: string, value: string];

export interface Ask {
  readonly method: 'Unary' | 'Collect';
  /** Unary: exactly one. */
  readonly messages: readonly string[];
  readonly metadata: readonly Pair[];
  readonly deadlineMs?: number;
  readonly gzip?: boolean;
}

/** What the client's library told. */
export interface Told {
  readonly status: number;
  readonly message: string;
  readonly answer: string | null;
  readonly headers: readonly Pair[];
  readonly trailers: readonly Pair[];
}

export interface Asked {
  readonly told: Promise<Told>;
  cancel(): void;
}

/** A stock client with its own retries off. */
export interface RetryClient {
  /** Through the port that it was made for. */
  call(ask: Ask): Asked;
  close(): Promise<void>;
}

/** One program serves all channels. */
export class RetryClients {
  private readonly peers: Readonly<Record<Exclude<Implementation, 'grpc-js'>, Peer>> = {
    'grpc-go': new Peer(programs.goChannel),
    'grpc-java': new Peer(programs.javaChannel),
    grpcio: new Peer(programs.python),
  };

  async connect(of: Implementation, port: number): Promise<RetryClient> {
    if (of === 'grpc-js') return new JsRetryClient(port);
    const peer = this.peers[of];
    const channel = peer.newChannel();
    await peer.ask({ op: 'open', channel, target: `127.0.0.1:${port}`, noRetries: true }).reply;
    return {
      call: (ask) => callOn(peer, channel, ask),
      async close() {
        await peer.ask({ op: 'close', channel }).reply;
      },
    };
  }

  /** By implementation, what each says its version is. */
  async versions(): Promise<ReadonlyMap<Implementation, string>> {
    const found = new Map<Implementation, string>();
    for (const of of implementations)
      found.set(
        of,
        of === 'grpc-js' ? JsRetryClient.version() : (await this.peers[of].ask({ op: 'version' }).reply).message,
      );
    return found;
  }

  async close(): Promise<void> {
    for (const peer of Object.values(this.peers)) await peer.close();
  }
}

function callOn(peer: Peer, channel: string, { method, messages, metadata, deadlineMs, gzip }: Ask): Asked {
  const unary = method === 'Unary';
  const { seq, reply } = peer.ask({
    op: 'call',
    channel,
    method: `/hedgerow.interop.Flaky/${method}`,
    kind: unary ? 'unary' : 'clientStream',
    message: unary ? (messages[0] ?? '') : '',
    metadata,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(gzip === true ? { gzip } : {}),
  });
  if (!unary) {
    for (const message of messages) peer.tell({ op: 'send', call: seq, message });
    peer.tell({ op: 'finish', call: seq });
  }
  return {
    told: reply.then((told) => ({
      status: told.status ?? -1,
      message: told.message,
      answer: told.messages?.[0] ?? null,
      headers: told.headers ?? [],
      trailers: told.trailers ?? [],
    })),
    cancel: () => peer.tell({ op: 'cancel', call: seq }),
  };
}
