import { expect, test } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { millis } from '../../../src/grpc/millis.js';
import { neverAgain, noPushback } from '../../../src/grpc/pushback.js';
import { Status } from '../../../src/grpc/status.js';
import type { CallRecord } from '../../../src/proxy/observer.js';
import { type AccessLogMode, createAccessLog } from '../../../src/telemetry/access-log.js';
import type { LogLevel } from '../../../src/telemetry/logger.js';
import { Lines, lineLogger } from './lines.js';

const retried: CallRecord = {
  id: 'ab12-7',
  method: '/pkg.Service/Method',
  startedAt: 5000.1234567,
  endedAt: 5060.2,
  code: Status.UNAVAILABLE,
  message: 'no',
  reason: 'attempts_exhausted',
  origin: 'backend',
  processed: 'unknown',
  pin: null,
  session: null,
  attempts: [
    {
      backend: backendId('b1'),
      cause: 'first',
      startedAt: 5000.2234567,
      endedAt: 5002.2234567,
      sentAt: 5000.4234567,
      previous: 0,
      trigger: null,
      pushback: noPushback,
      told: false,
      result: 'lost',
      code: Status.UNAVAILABLE,
      message: '',
    },
    {
      backend: backendId('b2'),
      cause: 'transparent',
      startedAt: 5003.1234567,
      endedAt: 5004.1234567,
      sentAt: null,
      previous: 0,
      trigger: null,
      pushback: { kind: 'after', ms: millis(46) },
      told: false,
      result: 'failed',
      code: Status.UNAVAILABLE,
      message: 'no',
    },
    {
      backend: null,
      cause: 'retry',
      startedAt: 5050.1234567,
      endedAt: 5060.1234567,
      sentAt: null,
      previous: 1,
      trigger: null,
      pushback: neverAgain,
      told: true,
      result: 'unplaced',
      code: Status.UNAVAILABLE,
      message: 'no',
    },
  ],
  retries: 1,
  commit: null,
  replayPeak: 123,
  deadlineAt: 6000.1234567,
};

function log(record: CallRecord): Record<string, unknown> {
  const lines = new Lines();
  const logger = lineLogger({ level: 'info', pretty: null, destination: lines });
  createAccessLog(logger, 'all').onCallEnded(record);
  const [line, ...more] = lines.objects;
  expect(more).toEqual([]);
  return line ?? {};
}

test('D24: one line at info says what became of a call and of each attempt', () => {
  expect(log(retried)).toEqual({
    level: 30,
    time: expect.any(Number),
    msg: 'call',
    help: 'docs/troubleshooting.md#attempts_exhausted',
    call: 'ab12-7',
    method: '/pkg.Service/Method',
    code: 'UNAVAILABLE',
    message: 'no',
    reason: 'attempts_exhausted',
    origin: 'backend',
    processed: 'unknown',
    retries: 1,
    hedges: 0,
    transparent: 1,
    commit: null,
    ms: 60.077,
    deadline_ms: 1000,
    replay_peak: 123,
    attempts: [
      { backend: 'b1', cause: 'first', at: 0.1, sent: 0.3, ms: 2, result: 'lost', code: 'UNAVAILABLE' },
      {
        backend: 'b2',
        cause: 'transparent',
        at: 3,
        ms: 1,
        result: 'failed',
        code: 'UNAVAILABLE',
        pushback: 46,
        message: 'no',
      },
      {
        backend: null,
        cause: 'retry',
        at: 50,
        ms: 10,
        result: 'unplaced',
        told: true,
        code: 'UNAVAILABLE',
        pushback: 'never',
        message: 'no',
      },
    ],
  });
});

test('an OK has no origin, a call without a deadline no deadline', () => {
  const line = log({ ...retried, code: Status.OK, reason: 'ok', message: '', deadlineAt: null, commit: 'headers' });
  expect(line).toMatchObject({ code: 'OK', reason: 'ok', commit: 'headers' });
  expect(Object.keys(line)).not.toContain('origin');
  expect(Object.keys(line)).not.toContain('processed');
  expect(Object.keys(line)).not.toContain('pin');
  expect(Object.keys(line)).not.toContain('message');
  expect(Object.keys(line)).not.toContain('deadline_ms');
});

test('a pinned call names its backend and how far the pin binds', () => {
  expect(log({ ...retried, pin: { target: 'b1', strict: true } })).toMatchObject({ pin: 'b1', pin_mode: 'strict' });
  expect(log({ ...retried, pin: { target: 'b1', strict: false } })).toMatchObject({ pin_mode: 'first_attempt' });
});

test('hedges are counted by themselves', () => {
  const attempts = retried.attempts.map((attempt) => ({ ...attempt, cause: 'hedge' as const }));
  expect(log({ ...retried, attempts })).toMatchObject({ hedges: 3, transparent: 0 });
});

test('a status outside the set is logged as its number', () => {
  expect(log({ ...retried, code: 300 })).toMatchObject({ code: '300' });
});

test('what a peer wrote reaches the log cut and without controls', () => {
  const message = `\u001b[31mred\u009b1m\u2028${'x'.repeat(1000)}`;
  const attempts = retried.attempts.map((attempt) => ({ ...attempt, message }));
  const line = log({ ...retried, message, method: '/a\u0007', attempts });
  expect(line['method']).toBe('/a\\u{7}');
  expect(line['message']).toMatch(/^\\u\{1b\}\[31mred\\u\{9b\}1m\\u\{2028\}x+…$/);
  const text = JSON.stringify(line);
  expect(text).not.toContain('x'.repeat(301));
  expect(JSON.parse(text).attempts[2].message).toBe(line['message']);
});

const ok = Status.OK;
const bad = Status.NOT_FOUND;

test.each<[AccessLogMode, LogLevel, number, number, boolean]>([
  ['all', 'info', ok, 1, true],
  ['all', 'info', bad, 3, true],
  ['all', 'warn', bad, 3, false],
  ['notable', 'info', ok, 1, false],
  ['notable', 'info', ok, 2, true],
  ['notable', 'info', bad, 1, true],
  ['notable', 'info', bad, 0, true],
  ['notable', 'debug', ok, 2, true],
  ['notable', 'error', bad, 2, false],
  ['off', 'trace', bad, 3, false],
])(
  '--access-log %s at level %s: status %i after %i attempts gets a line: %s',
  (mode, level, code, attempts, wanted) => {
    const logger = lineLogger({ level, pretty: null, destination: new Lines() });
    expect(createAccessLog(logger, mode).wants(code, attempts, 0)).toBe(wanted);
  },
);

test('what went well needs no help', () => {
  expect(log({ ...retried, code: Status.OK, reason: 'ok' })).not.toHaveProperty('help');
});
