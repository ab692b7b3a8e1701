import type { Line } from '../support/frames.js';

/*
 * The cases as data: `cases/*.json`, each file an array of `Case`. README.md beside this file tells the format; whoever runs
 * them with another client reads that.
 */

/** What every case's attempt and call is about where the case names no other method. */
export const defaultMethod = '/t.S/M';

/** Request metadata that says which call of its case (from 0) an attempt belongs to. Every client sends it. */
export const callKey = 'x-case-call';
/** Answer metadata that says which attempt of the call (from 1) wrote it. The backend adds it to each block that it sends. */
export const attemptKey = 'x-attempt';

/** When the backend acts on an attempt. */
export interface Moment {
  /** What it waits for first: the request's HEADERS, its whole [request], or a number of its messages. */
  readonly when?: 'headers' | 'request' | number;
  /** And until the call has brought that many attempts, each with its whole request. */
  readonly onAttempt?: number;
  /** Then this much longer, milliseconds [0]. */
  readonly afterMs?: number;
  /** A header block without END_STREAM that it sends before: an informational response (RFC 9110 15.2). */
  readonly informational?: readonly Line[];
}

/** What the backend does with one attempt. Codes are numbers of grpc-status, errors those of HTTP/2 (RFC 9113 7). */
export type Action = Moment &
  (
    | {
        readonly do: 'trailers-only';
        readonly code: number;
        readonly message?: string;
        readonly trailers?: readonly Line[];
      }
    | {
        readonly do: 'answer';
        readonly messages?: readonly string[];
        readonly code?: number;
        readonly message?: string;
        readonly headers?: readonly Line[];
        readonly trailers?: readonly Line[];
        /** Between HEADERS and the rest, milliseconds [0]. */
        readonly thenMs?: number;
      }
    /** One header block as written here; with `data`, which then ends the stream as it is, without a message's prefix. */
    | { readonly do: 'block'; readonly lines: readonly Line[]; readonly data?: string }
    | { readonly do: 'headers-then-reset'; readonly error: number }
    | { readonly do: 'reset'; readonly error: number }
    /** GOAWAY whose last stream is the one before this attempt's. */
    | { readonly do: 'goaway'; readonly error: number }
    /** The connection is cut. */
    | { readonly do: 'kill' }
    | { readonly do: 'silent' }
  );

/** What is to be seen of one call. What is left out is not looked at. */
export interface Expect {
  /** grpc-status as the client has it. */
  readonly status?: number;
  /** grpc-message, decoded. */
  readonly message?: string;
  /** The answer's messages. */
  readonly messages?: readonly string[];
  /** Streams that the backend got. */
  readonly attempts?: number;
  /** grpc-previous-rpc-attempts of each; `-` where absent; several values joined by `,`. */
  readonly previous?: readonly string[];
  /** The attempt (from 1) whose end the client was told; null: none, the status was made on the way. */
  readonly answered?: number | null;
  /** Attempts (from 1) that the client's side ended by RST_STREAM before the backend had ended them. */
  readonly cancelled?: readonly number[];
  /** The messages that each attempt brought, a run of `x` over 100 bytes as its length; null: not looked at. */
  readonly requests?: readonly (readonly (string | number)[] | null)[];
  /** Request metadata of each attempt: the values joined by `,`, `-` where absent. */
  readonly requestMetadata?: Readonly<Record<string, readonly string[]>>;
  /**
   * For the second attempt and each later one, the least and the most time (null: no bound) from the end that the backend gave
   * the attempt before, or from its HEADERS where it has none, milliseconds. Two milliseconds less are let pass: timers round.
   */
  readonly gapsMs?: readonly (readonly [number | null, number | null])[];
  /** The least and the most that each attempt's grpc-timeout said (null: no bound), milliseconds. */
  readonly timeoutsMs?: readonly (readonly [number | null, number | null])[];
  /** Answer metadata, headers and trailers together: the values joined by `,`; null: not there. */
  readonly metadata?: Readonly<Record<string, string | null>>;
  /** The status came at least this long after the call's start, milliseconds. */
  readonly tookAtLeastMs?: number;
}

/**
 * A message: its text, or that many bytes of `x`; or a pause: until the backend has ended the nth attempt, the other
 * side has answered a PING that came after, and so many milliseconds more.
 */
export type Sending = string | number | { readonly afterEndOf: number; readonly ms: number };

export interface CaseCall {
  /** [the case's] */
  readonly method?: string;
  /** [none] */
  readonly deadlineMs?: number;
  /** The client cancels so many milliseconds after it can know that the backend has ended an attempt (from 1); the status is then 1. */
  readonly cancelAfterEndOf?: { readonly attempt: number; readonly ms: number };
  /** The client cancels when the backend has got that many attempts, each with its whole request. */
  readonly cancelOnAttempt?: number;
  readonly metadata?: readonly Line[];
  /** One: unary, more: client streaming [hi]. */
  readonly messages?: readonly Sending[];
  /** What the backend does with the first stream of this call, the second and so on; beyond the list: silent. */
  readonly attempts: readonly Action[];
  /** After the call's end the backend is watched this much longer for attempts that must not come, milliseconds [0]. */
  readonly lingerMs?: number;
  readonly expect: Expect;
}

export interface Differs {
  /** One short sentence for docs/differences.md. */
  readonly says: string;
  /**
   * What it does instead: for each call what holds in place of the same keys of `expect` (null: all of `expect` holds), or that the config is
   * taken or refused, or that it differs from run to run.
   */
  readonly observed: readonly (Expect | null)[] | 'configRejected' | 'configAccepted' | 'varies';
  /** The cause, in its source. */
  readonly why: string;
  /** By which text hedgerow is right; where it is open, what the text says and why hedgerow chose so. */
  readonly right: string;
  /** No text decides: both may be. */
  readonly open?: true;
}

export interface Case {
  readonly id: string;
  /** Rows of the behaviour catalogue. */
  readonly rows: readonly string[];
  readonly clause: string;
  readonly title: string;
  /** [/t.S/M] */
  readonly method?: string;
  /** An object, or text where it is not JSON or the spelling matters. */
  readonly serviceConfig: unknown;
  /** The config must be refused; there are no calls then. */
  readonly configRejected?: true;
  /** One after another, on one channel. */
  readonly calls?: readonly CaseCall[];
  /** By implementation: `grpc-js`, `grpc-go`, `grpc-java`. */
  readonly differs?: Readonly<Record<string, Differs>>;
}

/** What a client saw of one call. */
export interface ClientView {
  /** -1: none, or no number. */
  readonly status: number;
  readonly message: string;
  readonly messages: readonly string[];
  /** Response headers; none for Trailers-Only. */
  readonly headers: readonly Line[];
  /** Trailers, or the one block of Trailers-Only; none where the client made the status itself. */
  readonly trailers: readonly Line[];
  readonly tookMs: number;
}

/** What the backend saw of one call. */
export interface BackendView {
  readonly attempts: number;
  readonly previous: readonly string[];
  readonly cancelled: readonly number[];
  /** Attempts that neither side had ended two seconds after the call's end. */
  readonly open: readonly number[];
  readonly requests: readonly (readonly (string | number)[])[];
  /** The header lines of each. */
  readonly headers: readonly (readonly Line[])[];
  readonly gapsMs: readonly number[];
  /** Null: none was sent. */
  readonly timeoutsMs: readonly (number | null)[];
}
