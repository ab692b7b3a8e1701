import type { Millis } from './millis.js';
import type { StopReason } from './stop-reason.js';

/** How far an attempt got (A6, Transparent retries). */
export type Reach =
  /** The connection was ready and ended before HEADERS were written, or the call waited behind the stream limit. */
  | 'unsent'
  /** RST_STREAM(REFUSED_STREAM), or a GOAWAY whose last id is below the stream: no application saw it. */
  | 'refused'
  /** No backend could be picked or connected. */
  | 'unplaced'
  /** Dropped on purpose: no attempt is of any use, and none that runs is the worse for it. */
  | 'dropped'
  /** May have reached an application. */
  | 'processed';

/** What `grpc-retry-pushback-ms` in an answer says (A6, Pushback). */
export type Pushback =
  | { readonly kind: 'none' }
  | { readonly kind: 'never' }
  | { readonly kind: 'after'; readonly ms: Millis };

/** Who ended an attempt: the backend's own answer, the loss of its connection, or this proxy. */
export type EndedBy = 'backend' | 'loss' | 'proxy';

/**
 * What kind of end the wire showed: what a backend's health is judged by (D21), where the code alone does not say who is to
 * blame.
 */
export type WireSign =
  /** A grpc-status that can be read, whatever the HTTP status above it. */
  | { readonly kind: 'stated' }
  /** An answer over a healthy stream that has no legible grpc-status: the code is made of the HTTP status, or of its lack. */
  | { readonly kind: 'unstated' }
  /**
   * RESOURCE_EXHAUSTED with a pushback of 0 or more, a RetryInfo or a `retry-after`, or HTTP 429 with a `retry-after`; `ms` is
   * the delay asked for, null where it is a date.
   */
  | { readonly kind: 'limited'; readonly ms: Millis | null }
  /** Orderly: RST_STREAM with CANCEL or REFUSED_STREAM. */
  | { readonly kind: 'declined' }
  /** GOAWAY with a last id below the stream: orderly, whatever its code. */
  | { readonly kind: 'goaway' }
  /** RST_STREAM with any other code; NO_ERROR too, since after complete trailers no reset is judged. */
  | { readonly kind: 'reset' }
  /** HTTP/2 was broken on the stream. */
  | { readonly kind: 'broken' }
  /** The connection was lost under it. */
  | { readonly kind: 'lost' }
  /** So too, but the connection had been taken out of service before, or a newer one of its backend is up. */
  | { readonly kind: 'outlived' }
  /** Ended by this proxy: nobody could be picked or connected, dropped, over a limit of ours. */
  | { readonly kind: 'own' };

/** What the end of one attempt means, read off the wire by one table (attempt-end.ts). */
export interface AttemptEnd {
  readonly code: number;
  /** grpc-message as it stood on the wire (percent-encoded), or our own words; empty where there was none. */
  readonly message: string;
  readonly reach: Reach;
  readonly pushback: Pushback;
  readonly by: EndedBy;
  readonly sign: WireSign;
  /** Of a drop, where it is not that every queue is full. */
  readonly reason?: StopReason | undefined;
}
