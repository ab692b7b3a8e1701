import type { BackendId } from '../grpc/backend-id.js';

/** What a pick needs to know of one backend, read at the moment of the pick. */
export interface Candidate {
  readonly id: BackendId;
  /**
   * ready: a stream can be opened now; busy: a connection is up and all streams that the peer permits are taken, so that a
   * call would queue; idle or connecting: a pick has to wait for the connection, and none
   * failed since it was last up; backoff: a connect failed and none has succeeded since, or the backend takes no more calls;
   * full: its queue is full.
   */
  readonly link: 'ready' | 'busy' | 'idle' | 'connecting' | 'backoff' | 'full';
}

/** One pick. `none` says why, for the status that the client may be told. */
export type Pick =
  | { readonly kind: 'use'; readonly id: BackendId }
  /** Nothing usable is left: every backend is down, in backoff, or has failed in this pick. */
  | { readonly kind: 'none' }
  /** Every usable backend's queue is full: a drop (D12, `dropped`). */
  | { readonly kind: 'overloaded' };

/** Chooses one backend for one attempt, by the tiers of D16. Keeps what fairness needs between picks. */
export interface Picker {
  /**
   * @param candidates in a stable order; another array whenever one is added or removed
   * @param tried backends of this call's earlier attempts: advice, used again where nothing else is left (BR-26)
   * @param failed backends that could not be connected in this very pick: never again in it (D12, No backend)
   */
  pick(candidates: readonly Candidate[], tried: readonly BackendId[], failed: readonly BackendId[]): Pick;
}
