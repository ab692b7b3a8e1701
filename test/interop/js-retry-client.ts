import { createRequire } from 'node:module';
import * as grpc from '@grpc/grpc-js';
import { alive } from '../support/alive.js';
import type { Ask, Asked, Pair, RetryClient, Told } from './retry-clients.js';

/** The channel option's number for gzip. */
const gzip = 2;

function same(bytes: Buffer): Buffer {
  return bytes;
}

function pairs(metadata: grpc.Metadata | null): Pair[] {
  if (metadata === null) return [];
  const keys = new Set(Object.keys(metadata.getMap()));
  return [...keys].flatMap((key) =>
    metadata.get(key).map((value): Pair => [key, typeof value === 'string' ? value : value.toString('base64')]),
  );
}

function metadataOf(ask: Ask): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [key, value] of ask.metadata)
    metadata.add(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  return metadata;
}

export class JsRetryClient implements RetryClient {
  /** Compression is a channel's, not a call's: one of each. */
  private readonly plain: grpc.Client;
  private readonly compressing: grpc.Client;

  constructor(port: number) {
    const own = { 'grpc.enable_retries': 0, 'grpc.use_local_subchannel_pool': 1 };
    const target = `127.0.0.1:${port}`;
    const insecure = grpc.credentials.createInsecure();
    this.plain = new grpc.Client(target, insecure, own);
    this.compressing = new grpc.Client(target, insecure, { ...own, 'grpc.default_compression_algorithm': gzip });
  }

  static version(): string {
    const { version } = createRequire(import.meta.url)('@grpc/grpc-js/package.json') as { readonly version: string };
    return version;
  }

  call(ask: Ask): Asked {
    const client = ask.gzip === true ? this.compressing : this.plain;
    const method = `/hedgerow.interop.Flaky/${ask.method}`;
    const options = ask.deadlineMs === undefined ? {} : { deadline: Date.now() + ask.deadlineMs };
    let answer: string | null = null;
    const take: grpc.requestCallback<Buffer> = (_, message) => {
      answer = message === undefined ? null : message.toString();
    };
    const [first = ''] = ask.messages;
    if (ask.method === 'Unary') {
      const call = client.makeUnaryRequest(method, same, same, Buffer.from(first), metadataOf(ask), options, take);
      return { told: whenOver(call, () => answer), cancel: () => call.cancel() };
    }
    const call = client.makeClientStreamRequest(method, same, same, metadataOf(ask), options, take);
    for (const message of ask.messages) call.write(Buffer.from(message));
    call.end();
    return { told: whenOver(call, () => answer), cancel: () => call.cancel() };
  }

  close(): Promise<void> {
    this.plain.close();
    this.compressing.close();
    return Promise.resolve();
  }
}

function whenOver(call: grpc.ClientUnaryCall, answer: () => string | null): Promise<Told> {
  let headers: grpc.Metadata | null = null;
  call.on('metadata', (metadata: grpc.Metadata) => {
    headers = metadata;
  });
  const over = new Promise<Told>((resolve) => {
    call.on('status', ({ code, details, metadata }: grpc.StatusObject) => {
      // The callback with the answer comes in the same turn.
      setImmediate(() =>
        resolve({
          status: code,
          message: details,
          answer: answer(),
          headers: pairs(headers),
          trailers: pairs(metadata),
        }),
      );
    });
  });
  return alive('a call to end', over);
}
