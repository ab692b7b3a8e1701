import { afterEach, expect } from 'vitest';
import { alive } from './alive.js';
import type { Line } from './frames.js';
import { type ProxyOptions, startProxy, type TestProxy } from './proxy.js';
import type { RawOptions } from './raw-connection.js';
import {
  type Behaviour,
  connectRawClient,
  type RawBackend,
  type RawBackendOptions,
  type RawCall,
  type RawCallOptions,
  type RawClient,
  startRawBackend,
} from './raw-peer.js';

/** The method that `oneMethod` names. */
export const path = '/t.S/M';

export interface RetryOptions {
  /** [4] */
  readonly maxAttempts?: number;
  /** Milliseconds [2]. */
  readonly initial?: number;
  /** Milliseconds [20]. */
  readonly max?: number;
  /** [2] */
  readonly multiplier?: number;
  /** [UNAVAILABLE] */
  readonly codes?: readonly (string | number)[];
}

/** A service config's entry for one method. */
export function retryFor(method: string, options: RetryOptions = {}): object {
  const { maxAttempts = 4, initial = 2, max = 20, multiplier = 2, codes = ['UNAVAILABLE'] } = options;
  const [, service, name] = method.split('/');
  return {
    name: [{ service, method: name }],
    retryPolicy: {
      maxAttempts,
      initialBackoff: `${initial / 1000}s`,
      maxBackoff: `${max / 1000}s`,
      backoffMultiplier: multiplier,
      retryableStatusCodes: codes,
    },
  };
}

/** A service config with a retry policy for `path` alone. */
export function retryConfig(options: RetryOptions = {}): object {
  return { methodConfig: [retryFor(path, options)] };
}

export interface StageOptions extends Omit<ProxyOptions, 'backends'> {
  /** One stream each, in order; a stream more fails the test. */
  readonly script?: readonly Behaviour[];
  /** Every stream, where there is no script. */
  readonly onStream?: Behaviour;
  readonly backend?: RawBackendOptions;
  readonly client?: RawOptions;
}

/** One client, one proxy, one backend. */
export interface Stage {
  readonly client: RawClient;
  readonly proxy: TestProxy;
  readonly backend: RawBackend;
  /** Calls `path` and waits for the end. */
  call(options?: RawCallOptions): Promise<RawCall>;
}

/** What one test has started: ended after it, when nothing of a call may be left in any proxy. */
export class Scene {
  private readonly backends: RawBackend[] = [];
  private readonly proxies: TestProxy[] = [];
  private readonly clients: RawClient[] = [];

  async backend(options: RawBackendOptions = {}): Promise<RawBackend> {
    const backend = await startRawBackend(options);
    this.backends.push(backend);
    return backend;
  }

  async proxy(options: ProxyOptions): Promise<TestProxy> {
    const proxy = await startProxy(options);
    this.proxies.push(proxy);
    return proxy;
  }

  async client(proxy: TestProxy, options: RawOptions = {}): Promise<RawClient> {
    const client = await connectRawClient(proxy.port, options);
    this.clients.push(client);
    return client;
  }

  async stage(options: StageOptions = {}): Promise<Stage> {
    const { script, onStream, backend: backendOptions, client: clientOptions, ...rest } = options;
    const backend = await this.backend({ name: 'b1', ...backendOptions });
    if (onStream !== undefined) backend.behave(onStream);
    if (script !== undefined) backend.script(script);
    const proxy = await this.proxy({ ...rest, backends: { b1: backend.port } });
    const client = await this.client(proxy, clientOptions);
    return { client, proxy, backend, call: (call) => client.call(path, { messages: ['hi'], ...call }).done() };
  }

  /** Ends all. Fails where a proxy still holds something of a call, or found a defect of its own. */
  async end(): Promise<void> {
    const proxies = this.proxies.splice(0);
    const left = proxies.map(({ app, defects }) => {
      const { calls, replayBytes, relayBytes, upstreamStreams, sessionCalls } = app.ledger();
      return { calls, replayBytes, relayBytes, upstreamStreams, sessionCalls, defects };
    });
    for (const client of this.clients.splice(0)) client.kill();
    await alive('the proxies to stop', Promise.all(proxies.map((proxy) => proxy.stop())));
    await Promise.all(this.backends.splice(0).map((backend) => backend.close()));
    const nothing = { calls: 0, replayBytes: 0, relayBytes: 0, upstreamStreams: 0, sessionCalls: 0, defects: [] };
    expect(left).toEqual(proxies.map(() => nothing));
  }
}

/** A scene for each test of a file. */
export function useScene(): Scene {
  const scene = new Scene();
  afterEach(() => scene.end());
  return scene;
}

/** grpc-previous-rpc-attempts of every stream that a backend got; `-` where it was not sent. */
export function previousAttempts(backend: RawBackend): string[] {
  return backend.streams.map((stream) => stream.header('grpc-previous-rpc-attempts') ?? '-');
}

/** What a call's end tells of itself. */
export function verdict(call: RawCall): {
  status: number | null;
  reason: string | undefined;
  retries: string | undefined;
} {
  return {
    status: call.status,
    reason: call.trailer('hedgerow-stop-reason'),
    retries: call.trailer('hedgerow-retries'),
  };
}

/** A line of its own. */
export function line(name: string, value: string): Line[] {
  return [[name, value]];
}

/** The same bytes; a comparison element by element takes seconds for a megabyte. */
export function expectBytes(got: Buffer | undefined, wanted: Buffer): void {
  expect(got?.length).toBe(wanted.length);
  expect(got?.equals(wanted)).toBe(true);
}
