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

/** What the end of one attempt means, read off the wire by one table (attempt-end.ts). */
export interface AttemptEnd {
  readonly code: number;
  /** grpc-message as it stood on the wire (percent-encoded), or our own words; empty where there was none. */
  readonly message: string;
  readonly reach: Reach;
  readonly pushback: Pushback;
  readonly by: EndedBy;
  /** Of a drop, where it is not that every queue is full. */
  readonly reason?: StopReason | undefined;
}
