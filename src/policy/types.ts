import type { EndedBy, Pushback, Reach } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { Millis } from '../grpc/millis.js';
import type { StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';

/** What the service config says about one method, ready to run. `hedge` joins with hedging. */
export type Plan = { readonly kind: 'none' } | RetryPlan;

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

/** Counts the attempts of one call from 1, transparent ones included. */
export type AttemptId = number;

export type BufferLimit = 'call' | 'client' | 'total';

/** Where attempts may go. `any` is the only one until pins and sessions come. */
export type Placement = { readonly kind: 'any' };

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
    }
  /** `sent`: request bytes written to each live attempt. */
  | { readonly type: 'bufferOverflowed'; readonly limit: BufferLimit; readonly sent: ReadonlyMap<AttemptId, number> }
  /** The proxy ends the call itself. */
  | { readonly type: 'rejected'; readonly code: StatusCode; readonly reason: StopReason; readonly detail: string }
  | { readonly type: 'aborted'; readonly by: 'client' | 'shutdown' }
  /** Time passed: what is due is read from the state. */
  | { readonly type: 'woke' };

export type AttemptCause = 'first' | 'retry' | 'transparent';
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
   * one. Only asks: the debit itself is the decision `countThrottle`, to be applied in the same turn.
   */
  readonly throttled: (debit: boolean) => boolean;
}
