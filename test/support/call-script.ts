/*
 * A whole run as plain values, so that it can be drawn, shrunk, printed and kept. Times are whole milliseconds of virtual
 * time after the run's start unless said.
 */

/** What a scripted backend does with one attempt. */
export type Outcome = {
  /** After HEADERS, or the end of the request, came: before anything is answered. */
  readonly after: number;
  /** Whether it reads the request: gives window back. */
  readonly reads: boolean;
  /** It does nothing before the whole request has come. */
  readonly waits: boolean;
} & (
  | { readonly kind: 'trailersOnly'; readonly code: number; readonly pushback: readonly string[] }
  | {
      readonly kind: 'answer';
      readonly code: number;
      readonly pushback: readonly string[];
      /** Bytes of each message, without its prefix. */
      readonly messages: readonly number[];
      /** Between headers, messages and trailers. */
      readonly gap: number;
    }
  | { readonly kind: 'reset'; readonly code: number; readonly headersFirst: boolean }
  | { readonly kind: 'goaway' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'silence' }
);

export interface BackendPlan {
  readonly latency: number;
  /** Streams at a time on one connection. */
  readonly streams: number;
  /** What an attempt may send before the backend reads. */
  readonly window: number;
  /**
   * From `at` on new connects are taken, refused or left hanging; `lose` cuts, `goaway` ends the connections there are; `trip` cuts
   * the one that the proxy next opens a stream on, in that very turn: before the HEADERS are written.
   */
  readonly events: readonly {
    readonly at: number;
    readonly kind: 'up' | 'refuse' | 'hang' | 'lose' | 'goaway' | 'trip';
  }[];
}

export interface ClientCallPlan {
  readonly at: number;
  readonly connection: number;
  /** Which service: an index into the policies. */
  readonly service: number;
  /** Bytes of each message, without its prefix. */
  readonly messages: readonly number[];
  /** The request's bytes leave in pieces, each so many bytes and so long after the one before; the rest in one. */
  readonly pieces: readonly { readonly bytes: number; readonly after: number }[];
  /** Between the last byte and END_STREAM; 0: on the last byte; null: never by itself. */
  readonly halfClose: number | null;
  /** After the start; null: never. */
  readonly cancel: number | null;
  readonly timeout: number | null;
  /** grpc-previous-rpc-attempts; null: not sent. */
  readonly previous: string | null;
  readonly directives: readonly (readonly [key: string, value: string])[];
  /** The answer's bytes are read so long after they came. */
  readonly readAfter: number;
  readonly outcomes: readonly Outcome[];
}

export interface RunScript {
  /** The service config's text. */
  readonly config: string;
  readonly limits: {
    readonly call: number;
    readonly client: number;
    readonly total: number;
    readonly relay: number;
    readonly queue: number;
    readonly connections: number;
  };
  /** For backoff and connect jitter, in turn. */
  readonly randoms: readonly number[];
  /** How late alarms of calls ring: a host's timers are never early, and a few milliseconds late. */
  readonly alarmsLate: number;
  readonly clientLatency: number;
  /** The window of each client's streams. */
  readonly clientWindow: number;
  /** What one stream may send the proxy before it gives window back, on either side. */
  readonly proxyWindow: number;
  /** The first calls are made so long after the connects began. */
  readonly warmup: number;
  readonly backends: readonly BackendPlan[];
  readonly calls: readonly ClientCallPlan[];
  /** How pins bind where the call does not say (D1), and whether the policy may retry on the pinned backend (D2). */
  readonly pin: 'strict' | 'first-attempt';
  readonly pinSameBackendRetry: boolean;
  /** A client's connection is lost; null: none is. */
  readonly clientLost: { readonly at: number; readonly connection: number } | null;
  /** When the proxy ends what is left (D35); null: never. */
  readonly abandonAt: number | null;
}

export const backendNames = ['a', 'b', 'c'] as const;
export const services = ['shop.Cart', 'shop.Stock'] as const;

/** Each call has a method of its own, so that what is told of a method tells the call. */
export function pathOf(call: number, service: number): string {
  return `/${services[service % services.length] ?? services[0]}/Call${call}`;
}

export function callOfPath(path: string): number {
  return Number(path.replace(/^.*\/Call/, ''));
}
