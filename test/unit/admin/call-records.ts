import { backendId } from '../../../src/grpc/backend-id.js';
import { noPushback } from '../../../src/grpc/pushback.js';
import type { AttemptRecord, CallRecord } from '../../../src/proxy/observer.js';

/** An OK answer of `b1` that took 3 ms. */
export function attempt(rest: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    backend: backendId('b1'),
    cause: 'first',
    startedAt: 1000,
    sentAt: 1000,
    endedAt: 1003,
    previous: 0,
    trigger: null,
    pushback: noPushback,
    told: true,
    result: 'ok',
    code: 0,
    message: '',
    ...rest,
  };
}

/** An attempt that `b2` failed. */
export function failure(rest: Partial<AttemptRecord> = {}): AttemptRecord {
  return attempt({
    backend: backendId('b2'),
    told: false,
    result: 'failed',
    code: 14,
    message: 'not now',
    ...rest,
  });
}

/** A call that `b1` answered at once. */
export function record(rest: Partial<CallRecord> = {}): CallRecord {
  return {
    id: 'abc123-1',
    method: '/shop.Stock/Get',
    startedAt: 1000,
    endedAt: 1003,
    code: 0,
    message: '',
    reason: 'ok',
    origin: 'backend',
    processed: 'unknown',
    pin: null,
    session: null,
    attempts: [attempt()],
    retries: 0,
    commit: 'headers',
    replayPeak: 12,
    deadlineAt: null,
    ...rest,
  };
}

/** A call that `b2` failed and `b1` answered. */
export function retried(rest: Partial<CallRecord> = {}): CallRecord {
  const attempts = [failure(), attempt({ cause: 'retry', previous: 1, startedAt: 1010, sentAt: 1010, endedAt: 1013 })];
  return record({ attempts, retries: 1, endedAt: 1013, ...rest });
}

/** A call that `b2` failed, and that was not tried again. */
export function failed(rest: Partial<CallRecord> = {}): CallRecord {
  return record({
    code: 14,
    message: 'backend b2: not now',
    reason: 'attempts_exhausted',
    attempts: [failure({ told: true })],
    commit: null,
    ...rest,
  });
}
