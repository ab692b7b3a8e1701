import { describe, expect, it } from 'vitest';
import { millis } from '../../../../src/grpc/millis.js';
import { noPushback } from '../../../../src/grpc/pushback.js';
import { Status } from '../../../../src/grpc/status.js';
import type { AttemptRecord } from '../../../../src/proxy/observer.js';
import {
  type AttemptMoments,
  attemptFacts,
  callFacts,
  methodOf,
  spanName,
} from '../../../../src/telemetry/traces/span-facts.js';
import { attempt, call, failed } from '../../demo/records.js';

const quiet = { committedAt: null, throttledAt: null };
const still: AttemptMoments = { delayed: false, cancelled: null, peer: null };

describe('names', () => {
  it('are A72’s: the method without its first slash, with dots', () => {
    expect(spanName('Sent', methodOf('/pkg.Service/Method'))).toBe('Sent.pkg.Service.Method');
    expect(spanName('Attempt', methodOf('/a/b/Method'))).toBe('Attempt.a.b.Method');
    expect(methodOf('*')).toBe('*');
  });

  it('are legible and bounded', () => {
    expect(methodOf('/a\u0007b')).toBe('a\\u{7}b');
    expect(methodOf(`/${'x'.repeat(10_000)}`)).toHaveLength(301);
  });
});

describe('the span of a call', () => {
  it('that went well has no failure', () => {
    expect(callFacts(call(), { ...quiet, committedAt: 1040 })).toEqual({
      attributes: {
        'rpc.response.status_code': 'OK',
        'hedgerow.call_id': 'x-1',
        'hedgerow.stop_reason': 'ok',
        'hedgerow.retries': 0,
        'hedgerow.commit': 'headers',
      },
      events: [{ name: 'commit', at: 1040, attributes: { 'hedgerow.commit': 'headers' } }],
      error: null,
      endedAt: 1100,
    });
  });

  it('that failed says so, with its code first', () => {
    const record = call({
      code: Status.UNAVAILABLE,
      message: 'no\u0000t',
      reason: 'pinned',
      commit: null,
      pin: { target: 'b1', strict: true },
    });
    const { attributes, error, events } = callFacts(record, quiet);
    expect(attributes).toEqual({
      'rpc.response.status_code': 'UNAVAILABLE',
      'error.type': 'UNAVAILABLE',
      'hedgerow.call_id': 'x-1',
      'hedgerow.stop_reason': 'pinned',
      'hedgerow.retries': 0,
      'hedgerow.origin': 'backend',
      'hedgerow.processed': 'unknown',
      'hedgerow.pin': 'b1',
    });
    expect(error).toBe('UNAVAILABLE: no\\u{0}t');
    expect(events).toEqual([]);
    expect(callFacts(call({ code: Status.UNAVAILABLE, message: '' }), quiet).error).toBe('UNAVAILABLE');
  });

  it('has the waits before its retries, and of its retries alone, in order of time', () => {
    const attempts = [
      failed('a', 0, 10),
      failed('a', 10, 12, { cause: 'transparent' }),
      failed('b', 30.5, 40, { cause: 'retry' }),
      attempt('c', 60, 100, { cause: 'retry' }),
      attempt('d', 70, 100, { cause: 'hedge' }),
    ];
    const { events } = callFacts(call({ attempts }), { committedAt: 1090, throttledAt: 1020 });
    expect(events.map(({ name, at, attributes }) => [name, at, attributes['hedgerow.backoff_ms']])).toEqual([
      ['backoff', 1012, 18.5],
      ['throttled', 1020, undefined],
      ['backoff', 1040, 20],
      ['commit', 1090, undefined],
    ]);
  });
});

describe('the span of an attempt', () => {
  it('says which it was, where it went and how it ended', () => {
    const moments: AttemptMoments = {
      ...still,
      peer: { host: 'orders.example', endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50051 } },
    };
    expect(
      attemptFacts(failed('b1', 5, 9, { previous: 2, cause: 'hedge', trigger: 'nonfatal' }), moments, 1100),
    ).toEqual({
      attributes: {
        'previous-rpc-attempts': 2,
        'transparent-retry': false,
        'rpc.response.status_code': 'UNAVAILABLE',
        'error.type': 'UNAVAILABLE',
        'server.address': 'orders.example',
        'server.port': 50051,
        'network.peer.address': '10.0.0.7',
        'network.peer.port': 50051,
        'hedgerow.cause': 'hedge',
        'hedgerow.result': 'failed',
        'hedgerow.backend': 'b1',
        'hedgerow.trigger': 'nonfatal',
      },
      events: [],
      error: 'UNAVAILABLE: no',
      endedAt: 1009,
    });
  });

  it('at a unix socket has its path for an address, at an address that no name led to the address alone', () => {
    const unix = attemptFacts(
      attempt('b1', 0, 1),
      { ...still, peer: { host: null, endpoint: { kind: 'unix', path: '/s' } } },
      1100,
    );
    expect(unix.attributes).toMatchObject({
      'server.address': '/s',
      'network.peer.address': '/s',
      'network.transport': 'unix',
    });
    expect(unix.attributes).not.toHaveProperty('server.port');
    const tcp = { ...still, peer: { host: null, endpoint: { kind: 'tcp', host: '::1', port: 1 } } } as const;
    expect(attemptFacts(attempt('b1', 0, 1), tcp, 1100).attributes).toMatchObject({ 'server.address': '::1' });
    expect(attemptFacts(attempt(null, 0, 1), still, 1100).attributes).not.toHaveProperty('server.address');
  });

  it('has pushback where there was one', () => {
    const events = (pushback: AttemptRecord['pushback']): readonly unknown[] =>
      attemptFacts(failed('b1', 0, 9, { pushback }), still, 1100).events;
    expect(events(noPushback)).toEqual([]);
    expect(events({ kind: 'after', ms: millis(0) })).toEqual([
      { name: 'pushback', at: 1009, attributes: { 'hedgerow.pushback_ms': 0 } },
    ]);
    expect(events({ kind: 'never' })).toEqual([
      { name: 'pushback', at: 1009, attributes: { 'hedgerow.pushback': 'never' } },
    ]);
  });

  it('has its wait for a place where it waited and got one', () => {
    const waited = { ...still, delayed: true };
    const pick = { name: 'Delayed LB pick complete', at: 1003, attributes: {} };
    expect(attemptFacts(attempt('b1', 0, 9, { sentAt: 1003 }), waited, 1100).events).toEqual([pick]);
    expect(attemptFacts(attempt('b1', 0, 9, { sentAt: 1003 }), still, 1100).events).toEqual([]);
    expect(attemptFacts(attempt(null, 0, 9, { sentAt: null }), waited, 1100).events).toEqual([]);
  });

  it('has what ended it where that was us', () => {
    const lost = { ...still, cancelled: 'superseded' } as const;
    const cancelled = attempt('b1', 0, 9, { result: 'cancelled', code: Status.CANCELLED });
    expect(attemptFacts(cancelled, lost, 1100).events).toEqual([
      { name: 'cancelled', at: 1009, attributes: { 'hedgerow.cancelled_by': 'superseded' } },
    ]);
    // Its own end was there first.
    expect(attemptFacts(attempt('b1', 0, 9), lost, 1100).events).toEqual([]);
    expect(attemptFacts(cancelled, still, 1100).events).toEqual([]);
  });

  it('ends with its call where it had no end of its own', () => {
    expect(attemptFacts(attempt('b1', 50, 0, { endedAt: 0 }), still, 1100).endedAt).toBe(1100);
  });
});
