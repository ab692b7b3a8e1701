import { setTimeout as pause } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import { parseServiceConfig } from '../../src/config/service-config.js';
import { decodeMessage } from '../../src/grpc/percent.js';
import { alive } from '../support/alive.js';
import type { Line } from '../support/frames.js';
import { startProxy } from '../support/proxy.js';
import { connectRawClient, type RawClient } from '../support/raw-peer.js';
import { type CaseBackend, startCaseBackend } from './case-backend.js';
import { type BackendView, type Case, type CaseCall, type ClientView, callKey, defaultMethod } from './case-format.js';

/** Which implementation of A6 stands between the client and the backend. */
export type Via = 'hedgerow' | 'grpc-js';

/** What came of a case: its config was refused, or what each call was. */
export type CaseResult = 'configRejected' | readonly { readonly client: ClientView; readonly backend: BackendView }[];

/** Makes the calls of a case, and is closed after the last. */
interface Caller {
  call(call: CaseCall, index: number): Promise<ClientView>;
  close(): Promise<void>;
}

/** Runs a case on a backend, and through a proxy or a channel, of its own. */
export async function runCase(script: Case, via: Via): Promise<CaseResult> {
  if (isRejected(script, via)) return 'configRejected';
  if (script.calls === undefined) return [];
  const backend = await freshBackend(script);
  const caller = via === 'hedgerow' ? await throughHedgerow(script, backend) : throughGrpcJs(script, backend);
  try {
    const results: { client: ClientView; backend: BackendView }[] = [];
    for (const [index, call] of script.calls.entries()) {
      const client = await alive(`the end of call ${index} of ${script.id}`, caller.call(call, index));
      results.push({ client, backend: await backend.view(index) });
    }
    return results;
  } finally {
    await caller.close();
    await backend.close();
  }
}

const portsUsed = new Set<number>();

/**
 * A backend on a port that no case had before: grpc-js keeps one bucket of tokens for each target, for as long as the process
 * lives, and a channel to the same port would begin with what another case has left.
 */
async function freshBackend(script: Case): Promise<CaseBackend> {
  const backend = await startCaseBackend(script);
  if (!portsUsed.has(backend.port)) {
    portsUsed.add(backend.port);
    return backend;
  }
  // While this one holds the port, the next gets another.
  const next = await freshBackend(script);
  await backend.close();
  return next;
}

/** The service config as a channel is given it. */
export function configText(script: Case): string {
  return typeof script.serviceConfig === 'string' ? script.serviceConfig : JSON.stringify(script.serviceConfig);
}

function isRejected(script: Case, via: Via): boolean {
  if (via === 'hedgerow') return parseServiceConfig(configText(script), { maxAttemptsLimit: 5 }).config === null;
  try {
    channel(script, 1).close();
    return false;
  } catch {
    // grpc-js throws from its channel's constructor.
    return true;
  }
}

// === Through hedgerow: a raw client, which has neither retries nor a deadline of its own ===

async function throughHedgerow(script: Case, backend: CaseBackend): Promise<Caller> {
  const proxy = await startProxy({
    backends: { b: backend.port },
    serviceConfig: configText(script),
    random: Math.random,
  });
  const client = await connectRawClient(proxy.port);
  return {
    call: (call, index) => rawCall(client, script, backend, call, index),
    async close() {
      client.kill();
      await proxy.stop();
    },
  };
}

async function rawCall(
  client: RawClient,
  script: Case,
  backend: CaseBackend,
  call: CaseCall,
  index: number,
): Promise<ClientView> {
  const startedAt = performance.now();
  const timeout: Line[] = call.deadlineMs === undefined ? [] : [['grpc-timeout', `${call.deadlineMs}m`]];
  const made = client.call(call.method ?? script.method ?? defaultMethod, {
    headers: [...timeout, [callKey, String(index)], ...(call.metadata ?? [])],
    end: false,
  });
  let cancelled = false;
  const cancel = (): void => {
    if (made.end !== null) return;
    cancelled = true;
    made.reset();
  };
  const sent = send(call, index, backend, {
    message: (bytes) => made.sendMessage(bytes),
    finish: () => made.finish(),
  });
  await Promise.race([made.done(), cancellation(call, index, backend, cancel)]);
  // What waits for window after the end is of no interest.
  void sent.catch(() => {});
  const tookMs = performance.now() - startedAt;
  if (cancelled) return { status: 1, message: '', messages: [], headers: [], trailers: [], tookMs };
  return {
    status: made.status ?? -1,
    message: decodeMessage(made.message ?? (made.end?.kind === 'reset' ? `reset with ${made.end.code}` : '')),
    messages: made.messages.map(String),
    headers: plain(made.headers ?? []),
    trailers: plain(made.trailers ?? []),
    tookMs,
  };
}

function plain(lines: readonly Line[]): Line[] {
  return lines.filter(([name]) => !name.startsWith(':'));
}

/** Cancels as the call says. Never resolves where the client does not cancel. */
export function cancellation(call: CaseCall, index: number, backend: CaseBackend, cancel: () => void): Promise<void> {
  if (call.cancelAfterEndOf !== undefined) {
    const { attempt, ms } = call.cancelAfterEndOf;
    return backend
      .whenEnded(index, attempt)
      .then(() => pause(ms))
      .then(cancel);
  }
  if (call.cancelOnAttempt !== undefined) return backend.whenAttempts(index, call.cancelOnAttempt).then(cancel);
  return new Promise(() => {});
}

/** Sends the call's messages, with its pauses, and half-closes. */
export async function send(
  call: CaseCall,
  index: number,
  backend: CaseBackend,
  to: { message(bytes: Buffer): Promise<void> | void; finish(): Promise<void> | void },
): Promise<void> {
  for (const item of call.messages ?? ['hi']) {
    if (typeof item === 'object') {
      await backend.whenEnded(index, item.afterEndOf);
      await pause(item.ms);
    } else void to.message(bytesOf(item));
  }
  void to.finish();
}

function bytesOf(item: string | number): Buffer {
  return typeof item === 'number' ? Buffer.alloc(item, 'x') : Buffer.from(item);
}

// === Through grpc-js: its own channel with the same service config ===

function channel(script: Case, port: number): grpc.Client {
  return new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    'grpc.service_config': configText(script),
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_retries': 1,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
  });
}

function throughGrpcJs(script: Case, backend: CaseBackend): Caller {
  const client = channel(script, backend.port);
  return {
    call: (call, index) => grpcJsCall(client, script, backend, call, index),
    async close() {
      client.close();
    },
  };
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

async function grpcJsCall(
  client: grpc.Client,
  script: Case,
  backend: CaseBackend,
  call: CaseCall,
  index: number,
): Promise<ClientView> {
  const startedAt = performance.now();
  const metadata = new grpc.Metadata();
  metadata.set(callKey, String(index));
  for (const [name, value] of call.metadata ?? []) metadata.add(name, value);
  const options: grpc.CallOptions = call.deadlineMs === undefined ? {} : { deadline: Date.now() + call.deadlineMs };
  const messages = call.messages ?? ['hi'];
  const path = call.method ?? script.method ?? defaultMethod;
  const [first] = messages;
  const view = await new Promise<ClientView>((resolve) => {
    let answer: Buffer | undefined;
    let headers: Line[] = [];
    const done = (_error: grpc.ServiceError | null, value?: Buffer): void => {
      answer = value;
    };
    let made: grpc.ClientUnaryCall;
    if (messages.length === 1 && first !== undefined && typeof first !== 'object') {
      made = client.makeUnaryRequest(path, same, same, bytesOf(first), metadata, options, done);
    } else {
      const stream = client.makeClientStreamRequest(path, same, same, metadata, options, done);
      made = stream;
      void send(call, index, backend, {
        message: (bytes) => void stream.write(bytes),
        finish: () => void stream.end(),
      });
    }
    made.on('metadata', (given: grpc.Metadata) => {
      headers = linesOf(given);
    });
    // `status` comes after the callback.
    made.on('status', ({ code, details, metadata: trailers }: grpc.StatusObject) => {
      const tookMs = performance.now() - startedAt;
      queueMicrotask(() =>
        resolve({
          status: Number.isNaN(code) ? -1 : code,
          message: details,
          messages: answer === undefined ? [] : [String(answer)],
          headers,
          trailers: linesOf(trailers),
          tookMs,
        }),
      );
    });
    void cancellation(call, index, backend, () => made.cancel());
  });
  return view;
}

function linesOf(metadata: grpc.Metadata): Line[] {
  return Object.keys(metadata.getMap()).flatMap((name) =>
    metadata.get(name).map((value): Line => [name, typeof value === 'string' ? value : value.toString('base64')]),
  );
}
