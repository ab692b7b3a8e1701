import { expect, test } from 'vitest';
import { backendId } from '../../../../src/grpc/backend-id.js';
import { millis } from '../../../../src/grpc/millis.js';
import { answer, attemptOf, createMeters, play, printed, samples } from './rig.js';

test('an attempt and its call are counted by method, target and status (A66)', () => {
  const meters = createMeters();
  play(meters, { named: true });
  const text = printed(meters);
  const labels = 'grpc_method="pkg.S/M",grpc_target="hedgerow:///"';
  expect(samples(text, 'grpc_client_attempt_started_total')).toEqual({ [labels]: 1 });
  const ended = `${labels},grpc_status="OK"`;
  expect(samples(text, 'grpc_client_attempt_duration_seconds_sum')).toEqual({ [ended]: 0.003 });
  expect(samples(text, 'grpc_client_attempt_sent_total_compressed_message_size_bytes_sum')).toEqual({ [ended]: 10 });
  expect(samples(text, 'grpc_client_attempt_rcvd_total_compressed_message_size_bytes_sum')).toEqual({ [ended]: 2000 });
  expect(samples(text, 'grpc_client_call_duration_seconds_count')).toEqual({ [ended]: 1 });
  expect(samples(text, 'hedgerow_calls_total')).toEqual({ 'method="pkg.S/M",code="OK",stop_reason="ok"': 1 });
  expect(samples(text, 'hedgerow_attempts_total')).toEqual({ 'backend="b1",cause="first",result="ok"': 1 });
  expect(samples(text, 'hedgerow_replay_call_bytes_sum')).toEqual({ '': 15 });
});

test('a bucket takes what is at its bound, and those after it what is below', () => {
  const meters = createMeters();
  play(meters, { named: true, attempts: [attemptOf({ endedAt: 5 })] });
  const buckets = samples(printed(meters), 'hedgerow_call_duration_seconds_bucket');
  expect(buckets['method="pkg.S/M",le="0.004"']).toBeUndefined();
  expect(buckets['method="pkg.S/M",le="0.005"']).toBe(1);
  expect(buckets['method="pkg.S/M",le="+Inf"']).toBe(1);
});

test('what is over the last bound is in the open bucket alone', () => {
  const meters = createMeters();
  play(meters, { named: true, attempts: [attemptOf({ endedAt: 100_001 })] });
  const buckets = samples(printed(meters), 'hedgerow_call_duration_seconds_bucket');
  expect(buckets).toEqual({ 'method="pkg.S/M",le="+Inf"': 1 });
});

test('an open attempt of a known method counts as started', () => {
  const meters = createMeters();
  meters.attemptStarted(meters.method('/pkg.S/M', true));
  expect(Object.values(samples(printed(meters), 'grpc_client_attempt_started_total'))).toEqual([1]);
});

test('the results of attempts: lost, cancelled, expired, and every status by name', () => {
  const meters = createMeters();
  play(meters, { attempts: [attemptOf({ end: answer(14, { by: 'loss' }) })] }, 14, 'backend_lost');
  play(meters, { attempts: [attemptOf({ end: null })] }, 1, 'client_cancelled');
  play(meters, { attempts: [attemptOf({ end: null, expired: true })] }, 4, 'deadline_exceeded');
  play(meters, { attempts: [attemptOf({ end: answer(16) })] }, 16, 'no_policy');
  play(meters, { attempts: [attemptOf({ end: answer(14, { reach: 'unplaced', by: 'proxy' }), backend: null })] }, 14);
  // What we cut short says nothing of how long a backend takes.
  expect(samples(printed(meters), 'hedgerow_attempt_duration_seconds_count')).toEqual({
    'backend=""': 1,
    'backend="b1"': 3,
  });
  expect(samples(printed(meters), 'hedgerow_attempts_total')).toEqual({
    'backend="",cause="first",result="UNAVAILABLE"': 1,
    'backend="b1",cause="first",result="lost"': 1,
    'backend="b1",cause="first",result="cancelled"': 1,
    'backend="b1",cause="first",result="DEADLINE_EXCEEDED"': 1,
    'backend="b1",cause="first",result="UNAUTHENTICATED"': 1,
  });
});

test('a status outside the canonical ones counts as UNKNOWN, whatever its number', () => {
  const meters = createMeters();
  play(meters, { named: true, attempts: [attemptOf({ end: answer(4_000_000_000) })] }, 4_000_000_000, 'no_policy');
  const text = printed(meters);
  expect(samples(text, 'hedgerow_calls_total')).toEqual({
    'method="pkg.S/M",code="UNKNOWN",stop_reason="no_policy"': 1,
  });
  expect(samples(text, 'hedgerow_attempts_total')).toEqual({ 'backend="b1",cause="first",result="UNKNOWN"': 1 });
});

test('retries count by what made each, and by how the call ended (D23)', () => {
  const meters = createMeters();
  const retry = (startedAt: number, end = answer(14)) =>
    attemptOf({ cause: 'retry', startedAt, endedAt: startedAt + 1, end });
  const pushed = answer(14, { pushback: { kind: 'after', ms: millis(5) } });
  const unplaced = answer(14, { reach: 'unplaced', by: 'proxy' });
  const attempts = [
    attemptOf({ endedAt: 1, end: answer(14) }),
    retry(2, answer(14, { by: 'loss' })),
    retry(3, pushed),
    retry(10, unplaced),
    retry(11, answer(0)),
  ];
  play(meters, { attempts, guarded: true });
  play(meters, { attempts: [attemptOf({ end: answer(14) }), retry(4)], guarded: true }, 14, 'attempts_exhausted');
  const text = printed(meters);
  expect(samples(text, 'hedgerow_retries_total')).toEqual({
    'reason="status",outcome="success"': 1,
    'reason="backend_lost",outcome="success"': 1,
    'reason="pushback",outcome="success"': 1,
    'reason="pick_failure",outcome="success"': 1,
    'reason="status",outcome="failed"': 1,
  });
  expect(samples(text, 'hedgerow_retry_stopped_total')).toEqual({ 'stop_reason="attempts_exhausted"': 1 });
  expect(samples(text, 'hedgerow_pushbacks_total')).toEqual({ 'kind="after"': 1 });
  expect(Object.values(samples(text, 'grpc_client_call_retries_sum'))).toEqual([5]);
  expect(samples(text, 'hedgerow_attempts_per_call_count')).toEqual({ '': 2 });
  expect(samples(text, 'hedgerow_attempts_per_call_sum')).toEqual({ '': 7 });
});

test('the time without an attempt, after the first, is the retry delay (A96)', () => {
  const meters = createMeters();
  const attempts = [
    attemptOf({ startedAt: 100, endedAt: 200, end: answer(14) }),
    attemptOf({ cause: 'retry', startedAt: 250, endedAt: 300, end: answer(14) }),
    // Overlaps: no gap before it, and its end counts.
    attemptOf({ cause: 'retry', startedAt: 290, endedAt: 400 }),
  ];
  play(meters, { attempts, named: true });
  expect(Object.values(samples(printed(meters), 'grpc_client_call_retry_delay_seconds_sum'))).toEqual([0.05]);
});

test('a call without repeats tells none of them (A96: 0 is not reported)', () => {
  const meters = createMeters();
  play(meters, { named: true });
  const text = printed(meters);
  for (const name of ['retries', 'transparent_retries', 'hedges', 'retry_delay_seconds'])
    expect(samples(text, `grpc_client_call_${name}_count`)).toEqual({});
});

test('hedges count by what sent each, and the one that answered has won, or its transparent repeat', () => {
  const meters = createMeters();
  const first = attemptOf({ end: null });
  const hedge = (previous: number, rest: Parameters<typeof attemptOf>[0]) =>
    attemptOf({ cause: 'hedge', previous, end: null, ...rest });
  const winner = hedge(2, { trigger: 'nonfatal', end: answer(0) });
  play(meters, { attempts: [first, hedge(1, { trigger: 'delay' }), winner], winner, guarded: true });
  const repeat = attemptOf({ cause: 'transparent', previous: 1 });
  play(meters, { attempts: [first, hedge(1, { trigger: 'pushback' }), repeat], winner: repeat });
  const failed = hedge(1, { trigger: 'delay', end: answer(14) });
  play(meters, { attempts: [first, failed], winner: failed }, 14, 'attempts_exhausted');
  const text = printed(meters);
  expect(samples(text, 'hedgerow_hedges_total')).toEqual({
    'trigger="delay",won="false"': 2,
    'trigger="nonfatal",won="true"': 1,
    'trigger="pushback",won="true"': 1,
  });
  expect(Object.values(samples(text, 'grpc_client_call_transparent_retries_sum'))).toEqual([1]);
});

test('pins: served, moved, refused, failed; named and of sessions; strict and for the first attempt', () => {
  const meters = createMeters();
  const b2 = attemptOf({ backend: { id: backendId('b2/10.0.0.1:1'), name: 'b2' } });
  const strict = { kind: 'only', target: backendId('b1'), by: 'pin', again: false } as const;
  const loose = { kind: 'firstOnly', target: backendId('b2'), by: 'pin' } as const;
  const session = { kind: 'firstOnly', target: backendId(''), by: 'session' } as const;
  play(meters, { placement: strict });
  play(meters, { placement: strict, attempts: [] }, 14, 'pin_unknown');
  play(meters, { placement: strict, attempts: [attemptOf({ end: answer(13) })] }, 13, 'fatal_status');
  play(meters, { placement: loose });
  play(meters, { placement: loose, attempts: [b2] });
  play(meters, { placement: session, seat: { backend: backendId('b1') } });
  play(meters, { placement: session, seat: { backend: backendId('b9') } });
  play(meters, { placement: session, seat: { backend: null } });
  expect(samples(printed(meters), 'hedgerow_pins_total')).toEqual({
    'kind="named",mode="strict",outcome="served"': 1,
    'kind="named",mode="strict",outcome="refused"': 1,
    'kind="named",mode="strict",outcome="failed"': 1,
    'kind="named",mode="first_attempt",outcome="moved"': 1,
    'kind="named",mode="first_attempt",outcome="served"': 1,
    'kind="session",mode="first_attempt",outcome="served"': 2,
    'kind="session",mode="first_attempt",outcome="moved"': 1,
  });
});

test('a failure without a policy has stopped no retry, whatever its reason', () => {
  const meters = createMeters();
  play(meters, { attempts: [attemptOf({ end: null, expired: true })] }, 4, 'deadline_exceeded');
  play(meters, { attempts: [attemptOf({ end: answer(13) })] }, 13, 'no_policy');
  expect(samples(printed(meters), 'hedgerow_retry_stopped_total')).toEqual({});
});
