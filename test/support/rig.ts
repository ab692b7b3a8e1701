import { afterEach } from 'vitest';
import type { ProxyOptions, TestProxy } from './proxy.js';
import type { RawOptions } from './raw-connection.js';
import type { RawBackend, RawBackendOptions, RawClient } from './raw-peer.js';
import { Scene } from './scene.js';

/*
 * The parts of one end-to-end test on a scene of their own: after it everything is stopped and nothing of a call may be left
 * in any proxy.
 */

let scene = new Scene();
let clients: RawClient[] = [];

export const method = '/test.Echo/Call';

/** A backend that ends with the test. */
export function backend(options: RawBackendOptions = {}): Promise<RawBackend> {
  return scene.backend(options);
}

/** A client that ends with the test. */
export async function client(proxy: TestProxy, options: RawOptions = {}): Promise<RawClient> {
  const made = await scene.client(proxy, options);
  clients.push(made);
  return made;
}

/** A proxy that ends with the test. */
export function proxyTo(
  backends: readonly Pick<RawBackend, 'name' | 'port'>[],
  options: Omit<ProxyOptions, 'backends'> = {},
): Promise<TestProxy> {
  return scene.proxy({ ...options, backends: Object.fromEntries(backends.map(({ name, port }) => [name, port])) });
}

/** One backend `b`, the proxy, one client. */
export async function one(
  options: {
    readonly backend?: RawBackendOptions;
    readonly proxy?: Omit<ProxyOptions, 'backends'>;
    readonly client?: RawOptions;
  } = {},
): Promise<{ backend: RawBackend; proxy: TestProxy; client: RawClient }> {
  const made = await backend({ name: 'b', ...options.backend });
  const proxy = await proxyTo([made], options.proxy);
  return { backend: made, proxy, client: await client(proxy, options.client) };
}

export interface RetryOptions {
  readonly attempts?: number;
  /** [0.005s], always the same: multiplier 1. */
  readonly backoff?: string;
  readonly codes?: readonly string[];
}

/** A service config that retries every method. */
export function retry({ attempts = 3, backoff = '0.005s', codes = ['UNAVAILABLE'] }: RetryOptions = {}): unknown {
  return {
    methodConfig: [
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: attempts,
          initialBackoff: backoff,
          maxBackoff: backoff,
          backoffMultiplier: 1,
          retryableStatusCodes: codes,
        },
      },
    ],
  };
}

/**
 * Resolves when nothing moves between the client and the proxy any more: two round trips that change neither what the proxy
 * holds nor what the backends have got. What a client can send it has sent then.
 */
export async function still(proxy: TestProxy, peer: RawClient, backends: readonly RawBackend[]): Promise<void> {
  const look = (): string =>
    JSON.stringify([
      proxy.app.ledger(),
      backends.map(({ streams }) => streams.map(({ raw }) => [raw.parts.length, raw.end])),
      peer.connection.frames.filter(({ type }) => type !== 6).length,
    ]);
  for (let before = ''; ; ) {
    await peer.ping();
    for (const { connections } of backends)
      for (const connection of connections) if (!connection.closed) await connection.ping();
    const now = look();
    if (now === before) return;
    before = now;
  }
}

/** Bytes that differ from place to place. */
export function pattern(size: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(size);
  let state = seed;
  for (let i = 0; i < size; i += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

afterEach(async () => {
  const [ending, peers] = [scene, clients];
  scene = new Scene();
  clients = [];
  // What a client did last has reached the proxy when this is answered.
  for (const { connection } of peers) if (!connection.closed) await connection.ping();
  await ending.end();
});
