import { describe, expect, it } from 'vitest';
import { Status } from '../../../src/grpc/status.js';
import type { CallEvent } from '../../../src/policy/types.js';
import { never, pause, retryPlan, Script } from './script.js';

const expired = 'finish DEADLINE_EXCEEDED deadline_exceeded';

describe('the deadline', () => {
  it('CAN-04: passes while an attempt runs: it is cancelled, nothing is retried, no token is taken', () => {
    const call = new Script({ deadline: 50, plan: retryPlan({ retryable: new Set([Status.DEADLINE_EXCEEDED]) }) });
    call.start();
    expect(call.wakeAt).toBe(50);
    expect(call.wakes()).toEqual(['cancel 1 deadline', expired]);
    expect(call.wakeAt).toBe(null);
    expect(call.decisions.at(-1)).toMatchObject({ with: { detail: 'the deadline passed' } });
  });

  it('CAN-04: passes after commit', () => {
    const call = new Script({ deadline: 50 });
    call.start();
    call.headers(1);
    expect(call.wakes()).toEqual(['cancel 1 deadline', expired]);
  });

  it('CAN-05: the same code from a backend is one like any other', () => {
    const call = new Script({ deadline: 500, plan: retryPlan({ retryable: new Set([Status.DEADLINE_EXCEEDED]) }) });
    call.start();
    expect(call.ends(1, Status.DEADLINE_EXCEEDED)).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 2']);
  });

  it.each([50, 51])('CAN-06: a failure that arrives at %d ms of 50 finds it passed', (now) => {
    const call = new Script({ deadline: 50 });
    call.start();
    call.now = now;
    expect(call.ends(1, Status.CANCELLED)).toEqual([expired]);
  });

  it('CAN-06: a moment before it, the failure counts', () => {
    const call = new Script({ deadline: 50 });
    call.start();
    call.now = 49.9;
    expect(call.ends(1, Status.CANCELLED)).toEqual(['finish 1 fatal_status']);
  });

  it('CAN-06: a listed failure or a do-not-retry that arrives too late debits all the same', () => {
    const facts = [
      [Status.UNAVAILABLE, {}, ['debit', expired]],
      [Status.INTERNAL, { pushback: never }, ['debit', expired]],
      [Status.INTERNAL, {}, [expired]],
      [Status.OK, { pushback: never }, [expired]],
    ] as const;
    for (const [code, more, expected] of facts) {
      const call = new Script({ deadline: 50 });
      call.start();
      call.now = 50;
      expect(call.ends(1, code, more)).toEqual(expected);
    }
  });

  it('CAN-06: a late word of a dead attempt debits nothing', () => {
    const call = new Script({ deadline: 50 });
    call.start();
    call.now = 50;
    expect(call.fails(7)).toEqual(['cancel 1 deadline', expired]);
  });

  it.each([0, -5])('CAN-10: over on arrival (%d ms): no attempt', (deadline) => {
    const call = new Script({ deadline });
    expect(call.start()).toEqual([expired]);
  });

  it('CAN-15: a backoff that would end at it or past it is not begun: the real status, now', () => {
    for (const deadline of [110, 105]) {
      const call = new Script({ deadline });
      call.start();
      call.now = 10;
      expect(call.fails(1)).toEqual(['debit', 'finish 1 backoff_beyond_deadline']);
    }
  });

  it('CAN-15: a backoff that ends a moment before it is', () => {
    const call = new Script({ deadline: 110.5 });
    call.start();
    call.now = 10;
    expect(call.fails(1)).toEqual(['debit']);
    expect(call.wakeAt).toBe(110);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(call.wakeAt).toBe(110.5);
  });

  it('PB-11: a pushback past it ends the call now', () => {
    const call = new Script({ deadline: 1000 });
    call.start();
    expect(call.fails(1, { pushback: pause(5000) })).toEqual(['debit', 'finish 1 backoff_beyond_deadline']);
  });

  it('CAN-15: jitter decides with the rest: the same wait fits or does not', () => {
    const fits = new Script({ deadline: 100 });
    fits.random = 0;
    fits.start();
    expect(fits.fails(1)).toEqual(['debit']);
    const late = new Script({ deadline: 100 });
    late.start();
    expect(late.fails(1)).toEqual(['debit', 'finish 1 backoff_beyond_deadline']);
  });

  it('SM-32: no backend, and no time to wait for one: no_backend', () => {
    const call = new Script({ deadline: 50 });
    call.start();
    expect(call.fails(1, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 1 no_backend']);
  });

  it('woken late in a backoff, it starts nothing', () => {
    const call = new Script({ deadline: 150 });
    call.start();
    call.fails(1);
    call.now = 160;
    expect(call.woke()).toEqual([expired]);
  });

  it('no repeat of an unsent attempt past it', () => {
    const call = new Script({ deadline: 50 });
    call.start();
    call.now = 50;
    expect(call.fails(1, { reach: 'unsent' })).toEqual(['debit', expired]);
  });

  it("beats the proxy's own words and its shutdown, not the client's cancel", () => {
    const run = (act: (call: Script) => string[]): string[] => {
      const call = new Script({ deadline: 50 });
      call.start();
      call.now = 50;
      return act(call);
    };
    expect(run((call) => call.aborted('shutdown'))).toEqual(['cancel 1 deadline', expired]);
    expect(run((call) => call.rejected(Status.INTERNAL, 'malformed_request', ''))).toEqual([
      'cancel 1 deadline',
      expired,
    ]);
    expect(run((call) => call.headers(1))).toEqual(['cancel 1 deadline', expired]);
    expect(run((call) => call.aborted('client'))).toEqual(['cancel 1 client', 'finish CANCELLED client_cancelled']);
  });
});

describe('cancel', () => {
  it('CAN-07: the client cancels while the first attempt runs', () => {
    const call = new Script();
    call.start();
    expect(call.aborted('client')).toEqual(['cancel 1 client', 'finish CANCELLED client_cancelled']);
    expect(call.decisions.at(-1)).toMatchObject({ with: { detail: 'the client cancelled' } });
  });

  it('CAN-08: the client cancels while the second runs: only that is cancelled', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.aborted('client')).toEqual(['cancel 2 client', 'finish CANCELLED client_cancelled']);
  });

  it('CAN-11: the client cancels in a backoff: it never wakes again', () => {
    const call = new Script({ deadline: 1000 });
    call.start();
    call.fails(1);
    expect(call.aborted('client')).toEqual(['finish CANCELLED client_cancelled']);
    expect(call.wakeAt).toBe(null);
    call.now = 100;
    expect(call.woke()).toEqual([]);
  });

  it('CAN-11: the client cancels at the moment at which a retry is due: none starts', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.now = 100;
    expect(call.aborted('client')).toEqual(['finish CANCELLED client_cancelled']);
  });

  it('SM-37: a call that outlives the drain ends UNAVAILABLE, running or waiting', () => {
    const running = new Script();
    running.start();
    expect(running.aborted('shutdown')).toEqual(['cancel 1 shutdown', 'finish UNAVAILABLE drain_timeout']);
    expect(running.decisions.at(-1)).toMatchObject({
      with: { detail: 'the time to finish before the connection closes is over' },
    });
    const waiting = new Script();
    waiting.start();
    waiting.fails(1);
    expect(waiting.aborted('shutdown')).toEqual(['finish UNAVAILABLE drain_timeout']);
  });

  it("the proxy's own end cancels what runs and says what it was given", () => {
    const call = new Script();
    call.start();
    expect(call.rejected(Status.RESOURCE_EXHAUSTED, 'headers_too_large', 'too large')).toEqual([
      'cancel 1 rejected',
      'finish RESOURCE_EXHAUSTED headers_too_large',
    ]);
    expect(call.decisions.at(-1)).toMatchObject({ with: { detail: 'too large' } });
  });

  it('a call can be ended before it has begun', () => {
    expect(new Script().aborted('client')).toEqual(['finish CANCELLED client_cancelled']);
    const call = new Script();
    expect(call.rejected(Status.INTERNAL, 'malformed_request', '')).toEqual(['finish INTERNAL malformed_request']);
    expect(call.start()).toEqual([]);
  });

  it('nothing else happens to a call before it has begun', () => {
    const call = new Script();
    expect(call.woke()).toEqual([]);
    expect(call.headers(1)).toEqual([]);
    expect(call.fails(1)).toEqual([]);
    expect(call.wakeAt).toBe(null);
    expect(call.start()).toEqual(['first 1']);
  });
});

describe('late news', () => {
  const events: readonly CallEvent[] = [
    { type: 'attemptPlaced', attempt: 1, backend: 'a' as never },
    { type: 'headersReceived', attempt: 1 },
    {
      type: 'attemptEnded',
      attempt: 1,
      code: Status.OK,
      reach: 'processed',
      pushback: { kind: 'none' },
      by: 'backend',
    },
    {
      type: 'attemptEnded',
      attempt: 1,
      code: Status.UNAVAILABLE,
      reach: 'refused',
      pushback: { kind: 'none' },
      by: 'loss',
    },
  ];

  it('PRX-30: events about an attempt that is over, or never was, change nothing', () => {
    for (const event of events) {
      const call = new Script();
      call.start();
      call.fails(1);
      const waiting = JSON.stringify(call.state);
      expect(call.send(event)).toEqual([]);
      expect(call.send({ ...event, attempt: 9 } as CallEvent)).toEqual([]);
      expect(JSON.stringify(call.state)).toBe(waiting);
      call.wakes();
      const running = JSON.stringify(call.state);
      expect(call.send(event)).toEqual([]);
      expect(JSON.stringify(call.state)).toBe(running);
    }
  });

  it('events after the end change nothing', () => {
    const all: readonly CallEvent[] = [
      ...events,
      { type: 'started', deadlineAt: null, placement: { kind: 'any' }, policy: 'on' },
      { type: 'bufferOverflowed', limit: 'call', sent: new Map() },
      { type: 'rejected', code: Status.INTERNAL, reason: 'internal', detail: '' },
      { type: 'aborted', by: 'client' },
      { type: 'aborted', by: 'shutdown' },
      { type: 'woke' },
    ];
    for (const event of all) {
      const call = new Script({ deadline: 1000 });
      call.start();
      call.ends(1, Status.OK);
      call.now = 2000;
      const over = JSON.stringify(call.state);
      expect(call.send(event)).toEqual([]);
      expect(call.wakeAt).toBe(null);
      expect(JSON.stringify(call.state)).toBe(over);
    }
  });
});
