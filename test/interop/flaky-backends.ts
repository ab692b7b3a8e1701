import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as grpc from '@grpc/grpc-js';
import { alive } from '../support/alive.js';
import type { Implementation } from './implementations.js';
import { startJsFlaky } from './js-flaky.js';
import { Peer, programs, type Startable, startTime, type TlsFiles } from './peer.js';

/** The flaky backend of docs/interop.md, and a line to it that does not go through the proxy. */
export interface FlakyBackend {
  readonly port: number;
  /**
   * What it has seen of a call, once there are so many attempts and cancels: `previous=0,1 cancelled=0`, the values of
   * grpc-previous-rpc-attempts in order.
   */
  seen(callId: string, wait?: { readonly attempts?: number; readonly cancelled?: number }): Promise<string>;
  stop(): Promise<void>;
}

/** Tells its port in its first line, and ends with its input. */
async function startProgram({ name, command, args }: Startable) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const [line] = await alive(`${name} to start`, once(createInterface({ input: child.stdout }), 'line'), startTime);
  const { port } = JSON.parse(String(line)) as { readonly port: number };
  return {
    port,
    async stop() {
      child.stdin.end();
      await alive(`${name} to end`, closed);
    },
  };
}

async function startOnPython(tls?: TlsFiles) {
  const peer = new Peer(programs.python);
  const { flakyPort } = await peer.ask({ op: 'serve', ...(tls === undefined ? {} : { tls }) }).reply;
  if (flakyPort === undefined) throw new Error(`${peer.name} told no port`);
  return { port: flakyPort, stop: () => peer.close() };
}

/** One that speaks TLS and asks for a certificate of the CA. */
export function startSecuredBackend(
  of: 'grpc-go' | 'grpcio',
  tls: Required<TlsFiles>,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const { ca, cert, key } = tls;
  return of === 'grpcio'
    ? startOnPython(tls)
    : startProgram({ ...programs.goFlaky, args: ['-ca', ca, '-cert', cert, '-key', key] });
}

function start(of: Implementation): Promise<{ readonly port: number; stop(): void | Promise<void> }> {
  switch (of) {
    case 'grpc-go':
      return startProgram(programs.goFlaky);
    case 'grpc-java':
      return startProgram(programs.javaFlaky);
    case 'grpc-js':
      return startJsFlaky();
    case 'grpcio':
      return startOnPython();
  }
  return of satisfies never;
}

export async function startFlakyBackend(of: Implementation): Promise<FlakyBackend> {
  const { port, stop } = await start(of);
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  return {
    port,
    seen(callId, { attempts = 0, cancelled = 0 } = {}) {
      const metadata = new grpc.Metadata();
      metadata.set('call-id', callId);
      metadata.set('wait-attempts', String(attempts));
      metadata.set('wait-cancelled', String(cancelled));
      const answer = new Promise<string>((resolve, reject) => {
        const same = (bytes: Buffer): Buffer => bytes;
        client.makeUnaryRequest(
          '/hedgerow.interop.Flaky/Seen',
          same,
          same,
          Buffer.alloc(0),
          metadata,
          (error, told) => {
            if (error === null) resolve(String(told));
            else reject(error);
          },
        );
      });
      return alive(`${of} to have seen ${attempts} attempts and ${cancelled} cancels of ${callId}`, answer);
    },
    async stop() {
      client.close();
      await stop();
    },
  };
}
