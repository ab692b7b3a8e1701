import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { alive } from '../support/alive.js';
import { runJsCase } from './js-cases.js';
import { startJsInteropServer } from './js-interop-server.js';
import { Peer, programs } from './peer.js';

/** The four libraries, in the order of the tables. */
export const implementations = ['grpc-go', 'grpc-java', 'grpc-js', 'grpcio'] as const;
export type Implementation = (typeof implementations)[number];

export interface InteropServer {
  readonly port: number;
  stop(): void | Promise<void>;
}

export interface InteropClient {
  /** Rejects with what went wrong. */
  run(name: string, port: number): Promise<void>;
  stop(): void | Promise<void>;
}

/** grpc-go's server tells its port in its log alone. */
async function startGoServer(): Promise<InteropServer> {
  const { command } = programs.goInteropServer;
  const child = spawn(command, ['-port', '0'], {
    env: { GRPC_GO_LOG_SEVERITY_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const listening = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    createInterface({ input: child.stderr }).on('line', (line) => {
      const port = /interop server listening on .*:(\d+)$/.exec(line)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
  return {
    port: await alive('grpc-go’s interop server to listen', listening),
    async stop() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

async function serveOn(peer: Peer): Promise<InteropServer> {
  const { port } = await peer.ask({ op: 'serve' }).reply;
  if (port === undefined) throw new Error(`${peer.name} told no port`);
  return { port, stop: () => peer.close() };
}

export function startServer(of: Implementation): Promise<InteropServer> {
  switch (of) {
    case 'grpc-go':
      return startGoServer();
    case 'grpc-java':
      return serveOn(new Peer(programs.javaInterop));
    case 'grpc-js':
      return startJsInteropServer();
    case 'grpcio':
      return serveOn(new Peer(programs.python));
  }
  return of satisfies never;
}

async function runGoCase(name: string, port: number): Promise<void> {
  const args = ['-server_host', '127.0.0.1', '-server_port', String(port), '-test_case', name];
  await promisify(execFile)(programs.goInteropClient.command, args, { timeout: 15_000 });
}

function casesOn(peer: Peer): InteropClient {
  return {
    async run(name, port) {
      const { failure } = await peer.ask({ op: 'case', name, port }).reply;
      if (failure !== undefined) throw new Error(failure);
    },
    stop: () => peer.close(),
  };
}

export function startClient(of: Implementation): InteropClient {
  switch (of) {
    case 'grpc-go':
      return { run: runGoCase, stop() {} };
    case 'grpc-java':
      return casesOn(new Peer(programs.javaInterop));
    case 'grpc-js':
      return { run: runJsCase, stop() {} };
    case 'grpcio':
      return casesOn(new Peer(programs.python));
  }
  return of satisfies never;
}
