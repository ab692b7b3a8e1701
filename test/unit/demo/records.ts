import { backendId } from '../../../src/grpc/backend-id.js';
import { noPushback } from '../../../src/grpc/pushback.js';
import { Status } from '../../../src/grpc/status.js';
import type { AttemptRecord, CallRecord } from '../../../src/proxy/observer.js';

/** An attempt from `start` to `end`, ms after the call's start at 1000. */
export function attempt(
  backend: string | null,
  start: number,
  end: number,
  rest: Partial<AttemptRecord> = {},
): AttemptRecord {
  return {
    backend: backend === null ? null : backendId(backend),
    cause: 'first',
    startedAt: 1000 + start,
    endedAt: 1000 + end,
    sentAt: 1000 + start,
    previous: 0,
    trigger: null,
    pushback: noPushback,
    told: false,
    result: 'ok',
    code: Status.OK,
    message: '',
    ...rest,
  };
}

export function failed(backend: string, start: number, end: number, rest: Partial<AttemptRecord> = {}): AttemptRecord {
  return attempt(backend, start, end, { result: 'failed', code: Status.UNAVAILABLE, message: 'no', ...rest });
}

/** A call that ended OK after 100 ms at the clock's 1100. */
export function call(rest: Partial<CallRecord> = {}): CallRecord {
  return {
    id: 'x-1',
    method: '/hedgerow.demo.v1.Orders/GetOrder',
    startedAt: 1000,
    endedAt: 1100,
    code: Status.OK,
    message: '',
    reason: 'ok',
    origin: 'backend',
    processed: 'unknown',
    pin: null,
    session: null,
    attempts: [attempt('well', 0, 100)],
    retries: 0,
    commit: 'headers',
    replayPeak: 0,
    deadlineAt: null,
    ...rest,
  };
}
