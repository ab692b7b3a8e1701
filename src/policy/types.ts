import type { EndedBy, Pushback, Reach } from '../grpc/attempt-facts.js';
import type { BackendId, TargetName } from '../grpc/backend-id.js';
import type { Millis } from '../grpc/millis.js';
import type { StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';

/** What the service config says about one method, ready to run. */
export type Plan = { readonly kind: 'none' } | RetryPlan | HedgePlan;

/** A retryPolicy (A6, Retry Policy). */
export interface RetryPlan {
  readonly kind: 'retry';
  /** The first attempt included; already capped; at least 2. */
  readonly maxAttempts: number;
  /** Above 0, as are the next two. */
  readonly initialBackoff: Millis;
  readonly maxBackoff: Millis;
  readonly multiplier: number;
  readonly retryable: ReadonlySet<StatusCode>;
}

/** A hedgingPolicy (A6, Hedging Policy). */
export interface HedgePlan {
  readonly kind: 'hedge';
  /** The first attempt included; already capped; at least 2. */
  readonly maxAttempts: number;
  /** Between one attempt's start and the next's; 0: all at once. */
  readonly delay: Millis;
  /** Any other status ends the call. May be empty. */
  readonly nonFatal: ReadonlySet<StatusCode>;
}

/** What the service config says about one method: in force for the whole life of a call that began under it (CFG-10). */
export interface CallPolicy {
  readonly plan: Plan;
  /** The longest that a call may take; the client's own deadline binds too where it is sooner. Null: no limit. */
  readonly timeout: Millis | null;
  /** A call that finds no backend waits for one until its deadline. */
  readonly waitForReady: boolean;
  /** Bytes of one message, as it is on the wire (compressed), without its prefix; null: no limit. */
  readonly maxRequestMessageBytes: number | null;
  readonly maxResponseMessageBytes: number | null;
  /** The config names this very method: its name is no client's text (D23). */
  readonly named: boolean;
}

/** Counts the attempts of one call from 1, transparent ones included. */
export type AttemptId = number;

export type BufferLimit = 'call' | 'client' | 'total';

/** Where attempts may go (D1–D5). */
export type Placement =
  | { readonly kind: 'any' }
  /** Strict: nothing is ever started elsewhere. `again`: the policy may retry on the target itself (D2, pinSameBackendRetry). */
  | { readonly kind: 'only'; readonly target: TargetName; readonly by: 'pin' | 'session'; readonly again: boolean }
  /** The first attempt prefers the target; the others are ordinary ones (hedgerow-allow-retry). */
  | { readonly kind: 'firstOnly'; readonly target: TargetName; readonly by: 'pin' | 'session' };

/** Where one attempt has to go. */
export interface Constraint {
  readonly target: TargetName;
  /** False: anywhere, where the target cannot be had (D7, with allow-retry). */
  readonly strict: boolean;
}

/** What happened to a call. Events about an attempt that is over change nothing. */
export type CallEvent =
  | {
      readonly type: 'started';
      readonly deadlineAt: Millis | null;
      readonly placement: Placement;
      readonly policy: 'on' | 'off';
    }
  | { readonly type: 'attemptPlaced'; readonly attempt: AttemptId; readonly backend: BackendId }
  /** Response headers that are not Trailers-Only. */
  | { readonly type: 'headersReceived'; readonly attempt: AttemptId }
  | {
      readonly type: 'attemptEnded';
      readonly attempt: AttemptId;
      readonly code: StatusCode;
      readonly reach: Reach;
      readonly pushback: Pushback;
      readonly by: EndedBy;
      readonly reason?: StopReason | undefined;
      /** Its backend has failed so often in a row that a pin does not go on with it (D33). */
      readonly breached?: boolean | undefined;
    }
  /** `sent`: request bytes written to each live attempt that has a place. */
  | { readonly type: 'bufferOverflowed'; readonly limit: BufferLimit; readonly sent: ReadonlyMap<AttemptId, number> }
  /** The proxy ends the call itself. */
  | { readonly type: 'rejected'; readonly code: StatusCode; readonly reason: StopReason; readonly detail: string }
  | { readonly type: 'aborted'; readonly by: 'client' | 'shutdown' }
  /** Time passed: what is due is read from the state. */
  | { readonly type: 'woke' };

export type AttemptCause = 'first' | 'retry' | 'hedge' | 'transparent';
export type CommitCause = 'headers' | 'ok' | 'buffer_call' | 'buffer_client' | 'buffer_total';
export type CancelCause = 'superseded' | 'client' | 'shutdown' | 'deadline' | 'rejected';

/** What the driver is to do, in order. */
export type Decision =
  | {
      readonly type: 'startAttempt';
      readonly attempt: AttemptId;
      readonly cause: AttemptCause;
      /** grpc-previous-rpc-attempts: policy attempts before this one; 0 is not sent. */
      readonly previous: number;
      /** Advice: backends that this call has tried. */
      readonly avoid: readonly BackendId[];
      /** A pin is no advice: null where there is none. */
      readonly onlyOn: Constraint | null;
    }
  | { readonly type: 'commit'; readonly attempt: AttemptId; readonly cause: CommitCause }
  | { readonly type: 'cancelAttempt'; readonly attempt: AttemptId; readonly why: CancelCause }
  | { readonly type: 'countThrottle'; readonly as: 'failure' | 'success' }
  | {
      readonly type: 'finish';
      readonly with: { readonly from: AttemptId } | { readonly code: StatusCode; readonly detail: string };
      readonly reason: StopReason;
    };

/** What the outside lends to one transition. */
export interface Env {
  readonly now: Millis;
  /** In [0, 1); asked for at most once a transition. */
  readonly random: () => number;
  /**
   * Whether the token bucket stands at or under half of its maximum, once the debit of this event is taken where it takes
   * one. Asked for a retry when the failure arrives, for a hedge when it is due. Only asks: the debit itself is the decision
   * `countThrottle`, to be applied in the same turn.
   */
  readonly throttled: (debit: boolean) => boolean;
}
