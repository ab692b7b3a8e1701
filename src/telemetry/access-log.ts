import type { Logger } from 'pino';
import { Status, statusName } from '../grpc/status.js';
import type { AttemptRecord, CallObserver, CallRecord } from '../proxy/observer.js';
import { legible } from './legible.js';

/** Which calls get a line: `notable` ones failed or took more than one attempt (contract, --access-log). */
export type AccessLogMode = 'all' | 'notable' | 'off';

/** One line per call, at its end (D24). */
export function createAccessLog(logger: Logger, mode: AccessLogMode): CallObserver {
  return {
    wants(code, attempts) {
      if (mode === 'off' || !logger.isLevelEnabled('info')) return false;
      return mode === 'all' || code !== Status.OK || attempts > 1;
    },
    onCallEnded(record) {
      logger.info(describeCall(record), 'call');
    },
  };
}

/** The fields of a call's line. Times are milliseconds to the microsecond. */
export function describeCall(record: CallRecord): Record<string, unknown> {
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

function describeAttempt(attempt: AttemptRecord, callStartedAt: number): Record<string, unknown> {
  return {
    backend: attempt.backend,
    cause: attempt.cause,
    at: round(attempt.startedAt - callStartedAt),
    ms: round(attempt.endedAt - attempt.startedAt),
    result: attempt.result,
    code: statusName(attempt.code),
    message: attempt.message === '' ? undefined : legible(attempt.message),
  };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
