import type { BackendId } from '../grpc/backend-id.js';

/** What a pick needs to know of one backend, read at the moment of the pick. */
export interface Candidate {
  readonly id: BackendId;
  /**
   * ready: a connection is up and the queue has room; idle or connecting: a pick has to wait for the connection, and none
   * failed since it was last up; backoff: a connect failed and the next one waits; full: up, and its queue is full.
   */
  readonly link: 'ready' | 'idle' | 'connecting' | 'backoff' | 'full';
}

/** One pick. `none` says why, for the status that the client may be told. */
export type Pick =
  | { readonly kind: 'use'; readonly id: BackendId }
  /** Nothing usable is left: every backend is down, in backoff, or has failed in this pick. */
  | { readonly kind: 'none' }
  /** Every usable backend's queue is full: a drop (D12, `dropped`). */
  | { readonly kind: 'overloaded' };
