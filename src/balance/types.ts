import type { BackendId, TargetName } from '../grpc/backend-id.js';

/** What a pick needs to know of one backend, read at the moment of the pick. */
export interface Candidate {
  readonly id: BackendId;
  /** The configured name, which a group's members share; as lower case as the id. */
  readonly name: string;
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

/** What one pick must keep to: the client's pin and exclude. Targets are in lower case and mean a candidate's id or its name. */
export interface Bounds {
  /** Nothing else; null: anything. */
  readonly only: TargetName | null;
  /** None of these, whatever `only` says; unknown ones mean nothing. */
  readonly exclude: readonly TargetName[];
}

/** Chooses one backend for one attempt, by the tiers of D16. Keeps what fairness needs between picks. */
export interface Picker {
  /**
   * @param candidates in a stable order; another array whenever one is added or removed
   * @param tried backends of this call's other attempts, hedges in flight included (D5): advice, used again where nothing
   *   else is left (BR-26)
   * @param failed backends that could not be connected in this very pick: never again in it (D12, No backend)
   * @param bounds no advice: `none` and `overloaded` speak of the candidates within them alone; null: the call has none
   */
  pick(
    candidates: readonly Candidate[],
    tried: readonly BackendId[],
    failed: readonly BackendId[],
    bounds: Bounds | null,
  ): Pick;
}
