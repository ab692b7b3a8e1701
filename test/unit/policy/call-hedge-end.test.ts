import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { hedgePlan, never, pause, Script } from './script.js';

function begun(setting: ConstructorParameters<typeof Script>[0] = {}): Script {
  const call = new Script({ plan: hedgePlan(), ...setting });
  call.start();
  return call;
}

/** Three hedges, all in flight at 200 ms. */
function three(setting: ConstructorParameters<typeof Script>[0] = {}): Script {
  const call = begun(setting);
  call.wakes();
  call.wakes();
  return call;
}

describe('pushback to hedges', () => {
  it('HDG-16, DIS-03: the next hedge waits exactly as told; the ones after it follow at hedgingDelay', () => {
    for (const ms of [30, 170]) {
      const call = begun();
      call.now = 50;
      expect(call.fails(1, { pushback: pause(ms) })).toEqual(['debit']);
      expect(call.wakeAt).toBe(50 + ms);
      expect(call.wakes()).toEqual(['hedge 2']);
      expect(call.wakeAt).toBe(50 + ms + 100);
      expect(call.wakes()).toEqual(['hedge 3']);
    }
  });

  it('HDG-16: 0 sends it at once', () => {
    const call = begun();
    expect(call.fails(1, { pushback: pause(0) })).toEqual(['debit', 'hedge 2']);
    expect(call.wakeAt).toBe(100);
  });

  it('HDG-16: until it is served no other failure brings a hedge forward', () => {
    const call = begun({ plan: hedgePlan({ maxAttempts: 5 }) });
    call.wakes();
    call.now = 110;
    expect(call.fails(1, { pushback: pause(300) })).toEqual(['debit']);
    call.now = 120;
    expect(call.fails(2)).toEqual(['debit']);
    expect(call.wakeAt).toBe(410);
    expect(call.state.live).toEqual([]);
    expect(call.wakes()).toEqual(['hedge 3']);
    // Then the ordinary rules hold again.
    call.now = 420;
    expect(call.fails(3)).toEqual(['debit', 'hedge 4']);
  });

  it('HDG-16: of two the one that is due later stands', () => {
    for (const [first, second, expected] of [
      [100, 300, 310],
      [300, 100, 300],
      [300, 290, 300],
    ] as const) {
      const call = three({ plan: hedgePlan({ maxAttempts: 5, delay: millis(50) }) });
      const at = call.now;
      call.fails(1, { pushback: pause(first) });
      call.now = at + 10;
      expect(call.fails(2, { pushback: pause(second) })).toEqual(['debit']);
      expect(call.wakeAt).toBe(at + expected);
    }
  });

  it('HDG-16: past the deadline it sends no more; those in flight go on', () => {
    const call = begun({ deadline: 1000 });
    call.wakes();
    expect(call.fails(1, { pushback: pause(900) })).toEqual(['debit']);
    expect(call.wakeAt).toBe(1000);
    expect(call.fails(2)).toEqual(['debit', 'finish 2 backoff_beyond_deadline']);
  });

  it('HDG-17, DIS-04: do not retry: no further hedge; those in flight go on and may win', () => {
    const call = begun();
    call.wakes();
    expect(call.fails(2, { pushback: never })).toEqual(['debit']);
    expect(call.wakeAt).toBe(null);
    expect(call.headers(1)).toEqual(['commit 1 headers']);
    expect(call.ends(1, Status.OK)).toEqual(['credit', 'finish 1 ok']);
  });

  it('HDG-18: do not retry, then the other fails too: its status, and the first reason', () => {
    const call = begun();
    call.wakes();
    call.fails(2, { pushback: never });
    expect(call.fails(1)).toEqual(['debit', 'finish 1 pushback']);
  });

  it('HDG-18: do not retry with none in flight ends the call', () => {
    const call = begun();
    expect(call.fails(1, { pushback: never })).toEqual(['debit', 'finish 1 pushback']);
  });

  it('HDG-17: a pushback that was awaited is forgotten', () => {
    const call = three({ plan: hedgePlan({ maxAttempts: 5 }) });
    call.fails(1, { pushback: pause(300) });
    expect(call.fails(2, { pushback: never })).toEqual(['debit']);
    expect(call.wakeAt).toBe(null);
    expect(call.fails(3, { pushback: pause(10) })).toEqual(['debit', 'finish 3 pushback']);
  });

  it('HDG-19, DIS-06: a fatal status with a pushback is fatal', () => {
    const call = begun();
    call.wakes();
    expect(call.ends(2, Status.INTERNAL, { pushback: pause(10) })).toEqual([
      'cancel 1 superseded',
      'finish 2 fatal_status',
    ]);
  });

  it('PB-10: a pushback adds no hedge to maxAttempts', () => {
    const call = three();
    expect(call.fails(1, { pushback: pause(0) })).toEqual(['debit']);
    expect(call.wakeAt).toBe(null);
  });

  it('PB-16: do not retry with a fatal status takes a token and is fatal', () => {
    const call = begun();
    call.wakes();
    expect(call.ends(2, Status.INTERNAL, { pushback: never })).toEqual([
      ...['debit', 'cancel 1 superseded'],
      'finish 2 fatal_status',
    ]);
  });

  it('a refused hedge is sent again while no further ones may be', () => {
    const call = three();
    call.fails(2, { pushback: never });
    expect(call.fails(1, { reach: 'refused' })).toEqual(['transparent 4']);
    call.fails(3);
    expect(call.ends(4, Status.OK)).toContain('finish 4 ok');
  });

  it('a hold is over with the commit: the reason is of what came after', () => {
    const call = begun();
    call.wakes();
    call.fails(2, { pushback: never });
    call.headers(1);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 committed']);
    const placed = begun();
    placed.wakes();
    placed.fails(2, { pushback: never });
    placed.overflows();
    expect(placed.fails(1, { reach: 'dropped', by: 'proxy' })).toEqual(['finish 2 overloaded']);
  });
});

describe('hedges and the end of the call', () => {
  it('HDG-14, CAN-14: the client cancels: all are cancelled, none is sent', () => {
    const call = begun({ plan: hedgePlan({ maxAttempts: 4 }), deadline: 1000 });
    call.wakes();
    call.wakes();
    expect(call.aborted('client')).toEqual([
      ...['cancel 1 client', 'cancel 2 client', 'cancel 3 client'],
      'finish CANCELLED client_cancelled',
    ]);
    expect(call.wakeAt).toBe(null);
    call.now = 300;
    expect(call.woke()).toEqual([]);
  });

  it('HDG-15: the deadline ends all of them, and beats what is due with it', () => {
    const call = begun({ deadline: 200 });
    call.wakes();
    expect(call.wakeAt).toBe(200);
    expect(call.wakes()).toEqual([
      ...['cancel 1 deadline', 'cancel 2 deadline'],
      'finish DEADLINE_EXCEEDED deadline_exceeded',
    ]);
    expect(call.wakeAt).toBe(null);
  });

  it('HDG-15: it is woken for a deadline before the next hedge, and sends none after it', () => {
    const call = begun({ deadline: 60 });
    expect(call.wakeAt).toBe(60);
    expect(call.wakes()).toEqual(['cancel 1 deadline', 'finish DEADLINE_EXCEEDED deadline_exceeded']);
  });

  it('CAN-04: the deadline names the end, whatever was held before', () => {
    const call = begun({ deadline: 500 });
    call.wakes();
    call.fails(1, { pushback: never });
    expect(call.wakes()).toEqual(['cancel 2 deadline', 'finish DEADLINE_EXCEEDED deadline_exceeded']);
  });

  it('CAN-06: a hedge that fails at the deadline takes its token, and the others are cancelled', () => {
    const call = begun({ deadline: 150 });
    call.wakes();
    call.now = 150;
    expect(call.fails(1)).toEqual(['debit', 'cancel 2 deadline', 'finish DEADLINE_EXCEEDED deadline_exceeded']);
  });

  it('CAN-11: the client cancels while a pushed-back hedge is awaited: none is sent', () => {
    const call = begun();
    call.fails(1, { pushback: pause(50) });
    expect(call.aborted('client')).toEqual(['finish CANCELLED client_cancelled']);
    expect(call.wakeAt).toBe(null);
  });

  it("the proxy's own end and its shutdown cancel all of them", () => {
    expect(three().rejected(Status.RESOURCE_EXHAUSTED, 'message_too_large', '')).toEqual([
      ...['cancel 1 rejected', 'cancel 2 rejected', 'cancel 3 rejected'],
      'finish RESOURCE_EXHAUSTED message_too_large',
    ]);
    expect(three().aborted('shutdown').slice(0, 3)).toEqual([1, 2, 3].map((id) => `cancel ${id} shutdown`));
  });

  it('SM-20: a policy that is off sends no hedge', () => {
    const call = begun({ policy: 'off' });
    expect(call.wakeAt).toBe(null);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 no_policy']);
  });
});

describe('hedges and overflow', () => {
  it('BUF-19, DIS-28: the one that has sent most is kept, the others are cancelled, none is sent', () => {
    const call = begun({ plan: hedgePlan({ maxAttempts: 4 }) });
    call.wakes();
    call.wakes();
    expect(call.overflows('client', [10, 12, 11])).toEqual([
      ...['commit 2 buffer_client', 'cancel 1 superseded', 'cancel 3 superseded'],
    ]);
    expect(call.wakeAt).toBe(null);
    expect(call.fails(2)).toEqual(['debit', 'finish 2 buffer_exceeded']);
  });

  it.each([
    [[5, 5, 5], 1],
    [[4, 5, 5], 2],
    [[], 1],
    [[0, 0, 1], 3],
  ] as const)('BUF-19, DIS-28: of equals the earliest: sent %j, kept %i', (sent, kept) => {
    expect(three().overflows('call', sent)[0]).toBe(`commit ${kept} buffer_call`);
  });

  it.each([
    [[[2, 0]], 2],
    [[[3, 0]], 3],
    [
      [
        [2, 0],
        [3, 1],
      ],
      3,
    ],
    [
      [
        [1, 0],
        [3, 0],
      ],
      1,
    ],
  ] as const)('BUF-19: one that waits for a place comes after one that has a place: sent %j, kept %i', (sent, kept) => {
    const call = three();
    const overflow = { type: 'bufferOverflowed', limit: 'call', sent: new Map<number, number>(sent) } as const;
    expect(call.send(overflow)[0]).toBe(`commit ${kept} buffer_call`);
  });

  it('BUF-20: an overflow at the moment at which a hedge is due: one attempt survives', () => {
    const call = begun();
    call.now = 100;
    expect(call.overflows()).toEqual(['commit 1 buffer_call']);
    expect(call.state.live).toHaveLength(1);
    expect(call.wakeAt).toBe(null);
  });

  it('DIS-26: an overflow while a pushed-back hedge is awaited: it is born committed, and the only one', () => {
    const call = begun();
    call.fails(1, { pushback: pause(50) });
    expect(call.overflows()).toEqual([]);
    expect(call.wakes()).toEqual(['hedge 2', 'commit 2 buffer_call']);
    expect(call.wakeAt).toBe(null);
    expect(call.fails(2)).toEqual(['debit', 'finish 2 buffer_exceeded']);
  });

  it('SM-30: the survivor of an overflow was never sent: it is placed again, committed', () => {
    const call = three();
    call.overflows();
    expect(call.fails(1, { reach: 'unsent', by: 'loss' })).toEqual(['transparent 4']);
    expect(call.fails(4)).toEqual(['debit', 'finish 4 buffer_exceeded']);
  });
});
