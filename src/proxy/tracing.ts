import type { MetadataField } from '../grpc/metadata.js';
import type { IncomingCall } from '../grpc/request.js';
import type { AttemptId, CancelCause } from '../policy/types.js';
import type { UpstreamBackend } from '../upstream/types.js';
import type { CallRecord } from './observer.js';

export type { CancelCause } from '../policy/types.js';

/** Makes traces of calls; telemetry implements it. Nothing of it throws. Times are clock milliseconds. */
export interface Tracing {
  /** Null: the call is not recorded, and its trace keys pass as they came. */
  begin(request: Pick<IncomingCall, 'path' | 'fields'>, startedAt: number): CallTrace | null;
}

/** What a trace wants to know of an attempt while it runs. */
export interface TracedAttempt {
  readonly id: AttemptId;
  readonly startedAt: number;
  readonly backend: Pick<UpstreamBackend, 'endpoint' | 'host'> | null;
}

/** The trace of one call. */
export interface CallTrace {
  /** False: its spans are not kept, it only tells backends so. `ended` need not be called. */
  readonly recorded: boolean;
  /** Puts the context of the attempt's own span into its request's fields, in place, in the turn in which they are sent. */
  attemptFields(fields: MetadataField[], attempt: TracedAttempt): void;
  /** The attempt has to wait for its place. */
  delayed(attempt: AttemptId): void;
  committed(at: number): void;
  /** The throttle stopped a retry or a hedge. */
  throttled(at: number): void;
  /** We ended the attempt. */
  cancelled(attempt: AttemptId, why: CancelCause): void;
  ended(record: CallRecord): void;
}
