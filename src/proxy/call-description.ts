import { legible } from '../grpc/legible.js';
import { Status, statusName } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { AttemptCause, CommitCause } from '../policy/types.js';
import type { HedgeTrigger } from './meters.js';
import type { AttemptRecord, CallRecord } from './observer.js';

/** One attempt of a call in words and numbers: a field of the log's line, of `/calls` and of the dashboard. */
export interface AttemptDescription {
  /** Null where no backend was reached. */
  readonly backend: string | null;
  readonly cause: AttemptCause;
  /** What sent a hedge on its way. */
  readonly trigger?: HedgeTrigger | undefined;
  /** From the call's start to the attempt's (ms). */
  readonly at: number;
  /** From the call's start to when its HEADERS were handed to the wire (ms); absent: they never were. */
  readonly sent?: number | undefined;
  /** From its start to its end (ms). */
  readonly ms: number;
  readonly result: AttemptRecord['result'];
  /** Its end is what the client was told. */
  readonly told?: true | undefined;
  readonly code: string;
  /** What the backend said of a further attempt: milliseconds, or never. */
  readonly pushback?: number | 'never' | undefined;
  readonly message?: string | undefined;
}

/** A call that has ended, in words and numbers. Field names are stable (D24). Absent: there is nothing to say. */
export interface CallDescription {
  /** The id that the client was told (`hedgerow-call-id`). */
  readonly call: string;
  readonly method: string;
  readonly code: string;
  readonly message?: string | undefined;
  readonly reason: StopReason;
  readonly origin?: CallRecord['origin'] | undefined;
  readonly processed?: CallRecord['processed'] | undefined;
  readonly pin?: string | undefined;
  readonly pin_mode?: 'strict' | 'first_attempt' | undefined;
  readonly retries: number;
  readonly hedges: number;
  readonly transparent: number;
  readonly commit: CommitCause | null;
  readonly ms: number;
  readonly deadline_ms?: number | undefined;
  /** Bytes. */
  readonly replay_peak: number;
  readonly attempts: readonly AttemptDescription[];
}

/** Times are milliseconds to the microsecond. */
export function describeCall(record: CallRecord): CallDescription {
  const { startedAt, pin } = record;
  const failed = record.code !== Status.OK;
  return {
    call: record.id,
    method: legible(record.method),
    code: statusName(record.code),
    message: record.message === '' ? undefined : legible(record.message),
    reason: record.reason,
    origin: failed ? record.origin : undefined,
    processed: failed ? record.processed : undefined,
    pin: pin?.target,
    pin_mode: pin === null ? undefined : pin.strict ? 'strict' : 'first_attempt',
    retries: record.retries,
    hedges: count(record, 'hedge'),
    transparent: count(record, 'transparent'),
    commit: record.commit,
    ms: round(record.endedAt - startedAt),
    deadline_ms: record.deadlineAt === null ? undefined : round(record.deadlineAt - startedAt),
    replay_peak: record.replayPeak,
    attempts: record.attempts.map((attempt) => describeAttempt(attempt, startedAt)),
  };
}

function count({ attempts }: CallRecord, cause: AttemptRecord['cause']): number {
  return attempts.filter((attempt) => attempt.cause === cause).length;
}

function describeAttempt(attempt: AttemptRecord, callStartedAt: number): AttemptDescription {
  const { pushback, sentAt } = attempt;
  return {
    backend: attempt.backend,
    cause: attempt.cause,
    trigger: attempt.trigger ?? undefined,
    at: round(attempt.startedAt - callStartedAt),
    sent: sentAt === null ? undefined : round(sentAt - callStartedAt),
    ms: round(attempt.endedAt - attempt.startedAt),
    result: attempt.result,
    told: attempt.told ? true : undefined,
    code: statusName(attempt.code),
    pushback: pushback.kind === 'none' ? undefined : pushback.kind === 'never' ? 'never' : pushback.ms,
    message: attempt.message === '' ? undefined : legible(attempt.message),
  };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
