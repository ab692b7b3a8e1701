import type { Http2Settings } from '../http2/types.js';
import type { AlarmHandle } from '../runtime/ports.js';
import { Backend, type BackendLimits, type BackendSpec } from './backend.js';
import { type BackendTls, createConnector } from './connect.js';
import { RoomWaiters } from './room-waiters.js';
import type { UpstreamPool } from './types.js';

/** Times in milliseconds. See the contract's flags of the same names. */
export interface UpstreamPoolOptions extends Omit<BackendLimits, 'onRoom'> {
  readonly backends: readonly BackendSpec[];
  /** Of the connections to backends, client role. */
  readonly settings: Http2Settings;
  /** Null: cleartext HTTP/2 with prior knowledge (RFC 9113 3.3). */
  readonly tls: BackendTls | null;
  /** See SocketOptions.headerTimeout. */
  readonly headerTimeout?: number;
}

/** A pool whose connections are real. */
export interface ConnectedPool extends UpstreamPool {
  /** TLS with other certificates, for connections from now on. Throws where the texts are no certificates or keys. */
  secure(tls: BackendTls): void;
}

/** All backends, each with connections of its own. Throws where the TLS texts are no certificates or keys. */
export function createUpstreamPool(options: UpstreamPoolOptions): ConnectedPool {
  const { alarms, clock } = options;
  const connector = createConnector(options);
  let running = options.backends.length;
  let onAllStopped: (() => void) | null = null;
  let stopped: Promise<void> | null = null;
  const waiters = new RoomWaiters(() => backends, options.turn, options.queueLimit * options.backends.length);
  const limits: BackendLimits = {
    ...options,
    onStateChange(change) {
      options.onStateChange(change);
      if (change.event === 'connected') waiters.tell();
    },
    onRoom: () => waiters.tell(),
  };
  const backends: readonly Backend[] = options.backends.map(
    (spec) =>
      new Backend(spec, limits, connector.dialOf(spec.endpoint), () => {
        running -= 1;
        if (running === 0) onAllStopped?.();
      }),
  );
  const byId = new Map(backends.map((backend) => [backend.id, backend]));

  function stop(graceMs: number): Promise<void> {
    if (running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const grace: AlarmHandle = alarms.set(clock.now() + graceMs, () => {
        for (const backend of backends) backend.kill('drain timeout: the call did not end in time');
        resolve();
      });
      onAllStopped = () => {
        alarms.cancel(grace);
        resolve();
      };
      for (const backend of backends) backend.stop();
    });
  }

  return {
    backends,
    get: (id) => byId.get(id),
    onceRoom: (listener) => waiters.add(listener),
    forget: (listener) => waiters.forget(listener),
    secure: (tls) => connector.secure(tls),
    start() {
      for (const backend of backends) backend.start();
    },
    stop(graceMs) {
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}
