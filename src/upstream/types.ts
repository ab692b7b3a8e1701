import type { BackendId } from '../grpc/backend-id.js';
import type { CallTally } from '../grpc/call-tally.js';
import type { Http2Connection, Http2Stream, StreamEvents } from '../http2/types.js';
import type { LinkView } from './link.js';

/** Where a backend is reached. */
export type Endpoint =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** One connection's life: a backend that comes back is a new generation (D15, D19). Counts from 1 per backend; 0 is none yet. */
export type Generation = number;

/** What the loss of a connection is judged by. */
export interface ConnectionLife {
  readonly generation: Generation;
  /** Taken out of service (GOAWAY, drain, spare), or lost while a newer one is up: its loss says nothing of the backend. */
  readonly superseded: boolean;
}

/** A stream and its connection. */
export interface OpenedStream {
  readonly stream: Http2Stream;
  readonly connection: Http2Connection;
}

/** Where a waiter stands in a queue; the queue's own. */
export interface WaiterPlace {
  readonly queue: object;
  readonly waiter: StreamWaiter;
  /** Rising in order of arrival. */
  readonly ticket: number;
  before: WaiterPlace | null;
  after: WaiterPlace | null;
}

/** Someone who wants a stream and has to wait for it. Exactly one of the calls comes, unless cancelled first. */
export interface StreamWaiter {
  readonly events: StreamEvents;
  /** Null at first; the queue's own. */
  place: WaiterPlace | null;
  /** Send HEADERS in this turn. */
  onOpened(stream: Http2Stream, connection: Http2Connection): void;
  /**
   * `connect`: the connection could not be made (refused, timed out, TLS or preface failed): the pick goes on.
   * `lost`: the last ready connection ended while this waited behind its stream limit: never sent (A6, Transparent retries).
   * `closed`: the backend is being removed.
   */
  onFailed(why: 'connect' | 'lost' | 'closed', detail: string): void;
}

/** A connection of a backend, as it is just now: for channelz. */
export interface ConnectionView extends LinkView {
  /** Stands for the connection: the same object for its life. */
  readonly connection: Http2Connection;
  readonly generation: Generation;
  /** PINGs that asked whether the backend lives. */
  readonly keepalives: number;
}

/** The connections of one backend. Connects at start and again, with backoff, without waiting for calls. */
export interface UpstreamBackend {
  readonly id: BackendId;
  /** The configured name, for metadata and labels: NAME without the member's address. */
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
  /** The host name that led here; null: none did. */
  readonly host: string | null;
  /** Its own `:authority`: that of the name which led to it, else its endpoint's. */
  readonly authority: string;
  /** See balance/types.ts, Candidate. */
  readonly link: 'ready' | 'busy' | 'idle' | 'connecting' | 'backoff' | 'full';
  /** Of the newest connection that came up. */
  readonly generation: Generation;
  /** Connections that take streams. */
  readonly connections: number;
  /** Streams open on all connections, those after a GOAWAY included. */
  readonly inFlight: number;
  readonly queued: number;
  /** Streams open there and calls that wait for one. */
  readonly load: number;
  /** 1 to 1000. */
  readonly weight: number;
  /** 0 to 9, lower used first. */
  readonly priority: number;
  /** Calls in flight there, at most; null: no limit. */
  readonly maxCalls: number | null;
  /**
   * serving; leaving: removed or drained, it is picked no more and what goes on there ends by itself; left: that is over, its
   * connections are closed.
   */
  readonly phase: 'serving' | 'leaving' | 'left';
  /** It is leaving, and the time that its calls had is over: those left end `drain_timeout` (D35). */
  readonly overdue: boolean;
  /** Since when no connection is up (clock ms); null while one is. */
  readonly downSince: number | null;
  /** Why the last connection or connect ended, in words; null while nothing went wrong since one came up. */
  readonly lastError: string | null;
  /** When the next connect is due (clock ms) in backoff; null otherwise. */
  readonly nextConnectAt: number | null;
  /** Attempts whose HEADERS were handed over (A14). */
  readonly calls: CallTally;
  /** Those that are up, or serve their last streams. */
  views(): readonly ConnectionView[];
  /** The hot path: a stream now, or null where the caller has to `wait`. Send its HEADERS in this turn. */
  tryOpen(events: StreamEvents): OpenedStream | null;
  /** Of a connection whose socket is not closed yet; null: it is not known. Asked when one is lost. */
  lifeOf(connection: Http2Connection): ConnectionLife | null;
  /**
   * Queues, first come, first served; asks for a connection where none is under way. Never calls back synchronously.
   * The queue's limit is kept by `link`: whoever picks passes over a backend that is `full`.
   */
  wait(waiter: StreamWaiter): void;
  /** Takes a waiter out of the queue, without a trace. */
  cancel(waiter: StreamWaiter): void;
}

/** Something happened to a backend's connections: for the log. */
export interface BackendChange {
  readonly id: BackendId;
  readonly name: string;
  /** `host:port`, `[host]:port` or `unix:path`. */
  readonly address: string;
  /**
   * `connected`: a connection is up. `connect_failed`: one could not be made. `draining`: the peer sent GOAWAY, streams below
   * its last id go on. `lost`: a connection that took streams ended. `closed`: one ended as was to be expected: after GOAWAY,
   * spare, or because we stop.
   */
  readonly event: 'connected' | 'connect_failed' | 'draining' | 'lost' | 'closed';
  /** Of the connection; of a connect that failed, the newest before it. */
  readonly generation: Generation;
  /** The cause in words, backend and address included. */
  readonly detail: string;
  /** Milliseconds to the next connect; null where none is waiting. */
  readonly retryIn: number | null;
}

/** Which backend. */
export interface BackendSpec {
  readonly id: BackendId;
  /** Shared by a group's members. */
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
  /** 1 to 1000. */
  readonly weight: number;
  /** 0 to 9, lower used first. */
  readonly priority: number;
  /** Calls in flight there, at most; null: no limit. */
  readonly maxCalls: number | null;
  /** The host name that led to the endpoint: its certificate carries it. Null or absent: none did. */
  readonly host?: string | null;
  /** `HOST:PORT` of that name. */
  readonly authority?: string | null;
}

/** All backends. */
export interface UpstreamPool {
  /** In the order of the specs, those that are leaving included; another array whenever one is added or gone. */
  readonly backends: readonly UpstreamBackend[];
  get(id: BackendId): UpstreamBackend | undefined;
  /** Streams open there, those at an address that it had before included. */
  inFlightOf(id: BackendId): number;
  /**
   * Calls back once, at the end of the turn in which a backend's connection comes up or its full queue has a place again: for
   * calls that wait until they can be placed (waitForReady). First come, first served, and no more are called than there may
   * be room for. False: as many wait as all queues together may hold.
   */
  onceRoom(listener: () => void): boolean;
  /** Takes back what `onceRoom` was given. */
  forget(listener: () => void): void;
  /** Opens the connections. */
  start(): void;
  /**
   * Makes the set what the specs say, by id: new ones are connected and used at once, missing ones leave (D35), one at another
   * address is another backend of the same name. Ids are distinct.
   */
  apply(specs: readonly BackendSpec[]): void;
  /**
   * It is picked no more and keeps what it has until that ends; a session's calls still go there. Holds until it is resumed or
   * removed, at another address too. False: it is not known.
   */
  drain(id: BackendId): boolean;
  /** Takes a drain back. False: it is not known, or was removed. */
  resume(id: BackendId): boolean;
  /**
   * Its connections end in this turn, and it is connected to anew. False: it is not known.
   *
   * @param whom [all] `newest`: not those at an address that it had before, where another process may be
   */
  lose(id: BackendId, detail: string, whom?: 'newest' | 'all'): boolean;
  /** Lets open streams end, takes no new ones; resolves when all connections are closed, at the latest after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}
