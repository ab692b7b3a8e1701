import type { BackendId } from '../grpc/backend-id.js';
import type { Http2Connection, Http2Stream, StreamEvents } from '../http2/types.js';

/** Where a backend is reached. */
export type Endpoint =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** One connection's life: a backend that comes back is a new generation (D15, D19). */
export type Generation = number;

/** Someone who wants a stream and has to wait for it. Exactly one of the calls comes, unless cancelled first. */
export interface StreamWaiter {
  readonly events: StreamEvents;
  /** Send HEADERS in this turn. */
  onOpened(stream: Http2Stream, connection: Http2Connection): void;
  /**
   * `connect`: the connection could not be made (refused, timed out, TLS or preface failed): the pick goes on.
   * `lost`: a ready connection ended while this waited behind its stream limit: never sent (A6, Transparent retries).
   * `closed`: the backend is being removed.
   */
  onFailed(why: 'connect' | 'lost' | 'closed', detail: string): void;
}

/** The connections of one backend. Connects at start and again, with backoff, without waiting for calls. */
export interface UpstreamBackend {
  readonly id: BackendId;
  /** The configured name, for metadata and labels: NAME without the member's address. */
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
  readonly link: 'ready' | 'idle' | 'connecting' | 'backoff' | 'full';
  readonly generation: Generation;
  readonly connections: number;
  readonly inFlight: number;
  readonly queued: number;
  /** Why the last connection or connect ended, in words; null while nothing went wrong. */
  readonly lastError: string | null;
  /** When the next connect is due (clock ms) in backoff; null otherwise. */
  readonly nextConnectAt: number | null;
  /** The hot path: a stream now, or null where the caller has to `wait`. Send its HEADERS in this turn. */
  tryOpen(events: StreamEvents): { readonly stream: Http2Stream; readonly connection: Http2Connection } | null;
  /** Queues; asks for a connection where none is under way. Never calls back synchronously. */
  wait(waiter: StreamWaiter): void;
  cancel(waiter: StreamWaiter): void;
}

/** All backends. */
export interface UpstreamPool {
  readonly backends: readonly UpstreamBackend[];
  get(id: BackendId): UpstreamBackend | undefined;
  /** Opens the connections. */
  start(): void;
  /** Lets open streams end, takes no new ones; resolves when all connections are closed, at the latest after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}
