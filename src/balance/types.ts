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
   * full: its queue is full, or as many calls are in flight as its max-calls permits.
   */
  readonly link: 'ready' | 'busy' | 'idle' | 'connecting' | 'backoff' | 'full';
  /** Streams open there and calls that wait for one. */
  readonly load: number;
  /** Its share beside the others', 1 to 1000. */
  readonly weight: number;
  /** 0 to 9; a lower one is used first. */
  readonly priority: number;
}

/** One pick. `none` says why, for the status that the client may be told. */
export type Pick =
  | { readonly kind: 'use'; readonly id: BackendId }
  /** Nothing usable is left: every backend is down, in backoff, or has failed in this pick. */
  | { readonly kind: 'none' }
  /** Every usable backend's queue is full: a drop (D12, `dropped`). */
  | { readonly kind: 'overloaded' }
  /** The only backends within strict bounds are parked (D8); `until` is clock milliseconds, of the soonest. */
  | { readonly kind: 'parked'; readonly id: BackendId; readonly until: number }
  /** A hedge that would go where its call has been already (D16, hedgeDistinct). */
  | { readonly kind: 'skipped' };

/** What one pick must keep to: the client's pin and exclude. Targets are in lower case and mean a candidate's id or its name. */
export interface Bounds {
  /** Nothing else; null: anything. */
  readonly only: TargetName | null;
  /** `only` binds whatever happens (D2); else the pick goes elsewhere where nothing there can be had. */
  readonly strict: boolean;
  /** None of these, whatever `only` says; unknown ones mean nothing. */
  readonly exclude: readonly TargetName[];
}

/** How a backend stands with those who pick (4.4, D20). */
export type Standing =
  | 'clean'
  /** It failed a short while ago and has not answered since. */
  | 'recent'
  /** Its park is over, and no probe is in flight. */
  | 'lapsed'
  /** Its park is over, and a probe is in flight. */
  | 'probing'
  /** It fails, and is not parked: as good as tried for every call that has another (D33). */
  | 'breached'
  | 'rate_limited'
  | 'parked';

/** What picks ask about health. */
export interface HealthView {
  /** Every backend is clean or recent: a first attempt need not ask further. */
  readonly calm: boolean;
  /** @param now clock milliseconds */
  standing(id: BackendId, now: number): Standing;
  /** When the park ends, clock milliseconds; 0 for a backend that is not parked. */
  parkedUntil(id: BackendId): number;
  /**
   * Whether a call may be the probe of a lapsed backend.
   *
   * @param guarded it has a retry or hedging policy: others may only when none such came for a while
   */
  mayProbe(id: BackendId, now: number, guarded: boolean): boolean;
}

/** One pick's circumstances; the caller's own object, read and not kept. */
export interface PickQuery {
  /** Backends of this call's other attempts, hedges in flight included (D5): advice, used again where nothing else is left (BR-26). */
  readonly tried: readonly BackendId[];
  /** Backends that could not be connected in this very pick: never again in it (D12, No backend). */
  readonly failed: readonly BackendId[];
  /** No advice: the outcome speaks of the candidates within them alone; null: the call has none. */
  readonly bounds: Bounds | null;
  readonly cause: 'first' | 'retry' | 'hedge' | 'transparent';
  /** The call has a retry or hedging policy. */
  readonly guarded: boolean;
  /** Clock milliseconds. */
  readonly now: number;
}

/** Chooses one backend for one attempt, by the tiers of 4.4. Keeps what fairness needs between picks. */
export interface Picker {
  /** @param candidates in a stable order; another array whenever one is added or removed */
  pick(candidates: readonly Candidate[], query: PickQuery): Pick;
}
