import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { hedgePlan, never, pause, Script } from './script.js';

/** What each attempt of the last step was told in grpc-previous-rpc-attempts. */
function previous(call: Script): number[] {
  return call.decisions.flatMap((decision) => (decision.type === 'startAttempt' ? [decision.previous] : []));
}

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

describe('the schedule of hedges', () => {
  it('HDG-01, MD-04: one at once, one more each hedgingDelay until maxAttempts, each told how many went before', () => {
    const call = new Script({ plan: hedgePlan() });
    expect(call.start()).toEqual(['first 1']);
    expect(previous(call)).toEqual([0]);
    expect(call.wakeAt).toBe(100);
    expect(call.wakes()).toEqual(['hedge 2']);
    expect(previous(call)).toEqual([1]);
    expect(call.wakeAt).toBe(200);
    expect(call.wakes()).toEqual(['hedge 3']);
    expect(previous(call)).toEqual([2]);
    expect(call.wakeAt).toBe(null);
    call.now = 10_000;
    expect(call.woke()).toEqual([]);
  });

  it('HDG-02: without a delay all start together', () => {
    const call = new Script({ plan: hedgePlan({ delay: millis(0) }) });
    expect(call.start()).toEqual(['first 1', 'hedge 2', 'hedge 3']);
    expect(previous(call)).toEqual([0, 1, 2]);
    expect(call.wakeAt).toBe(null);
  });

  it('HDG-24: never more than maxAttempts, at once or one by one, whatever fails', () => {
    const call = new Script({ plan: hedgePlan({ maxAttempts: 5, delay: millis(0) }) });
    expect(call.start()).toHaveLength(5);
    for (const id of [1, 2, 3, 4]) expect(call.fails(id)).toEqual(['debit']);
    expect(call.fails(5)).toEqual(['debit', 'finish 5 attempts_exhausted']);
  });

  it('an alarm that is late moves the ones after it', () => {
    const call = begun();
    call.now = 130;
    expect(call.woke()).toEqual(['hedge 2']);
    expect(call.wakeAt).toBe(230);
  });

  it('an alarm that is late by several delays sends one', () => {
    const call = begun();
    call.now = 350;
    expect(call.woke()).toEqual(['hedge 2']);
    expect(call.wakeAt).toBe(450);
  });

  it('woken early, it sends nothing', () => {
    const call = begun();
    call.now = 99.9;
    expect(call.woke()).toEqual([]);
    expect(call.wakeAt).toBe(100);
  });

  it('MD-04: each hedge is advised against the backends that were tried', () => {
    const call = begun();
    call.placed(1, 'a');
    call.wakes();
    expect(call.decisions).toMatchObject([{ avoid: ['a'] }]);
    call.placed(2, 'b');
    call.wakes();
    expect(call.decisions).toMatchObject([{ avoid: ['a', 'b'] }]);
  });

  it('HDG-26: one that waits for a connection keeps its place, and is cancelled when another wins', () => {
    const call = begun();
    expect(call.wakes()).toEqual(['hedge 2']);
    call.placed(2, 'b');
    expect(call.headers(2)).toEqual(['commit 2 headers', 'cancel 1 superseded']);
  });
});

describe('hedges that win', () => {
  it('HDG-03: an answer before the delay is over: one attempt, no alarm', () => {
    const call = begun();
    expect(call.headers(1)).toEqual(['commit 1 headers']);
    expect(call.wakeAt).toBe(null);
    expect(call.ends(1, Status.OK)).toEqual(['credit', 'finish 1 ok']);
  });

  it('HDG-05: headers commit: a failure after them is final, listed or not, and no hedge follows', () => {
    const call = begun();
    call.wakes();
    expect(call.headers(1)).toEqual(['commit 1 headers', 'cancel 2 superseded']);
    expect(call.wakeAt).toBe(null);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 committed']);
  });

  it('HDG-10: all but one failed, the last answers', () => {
    const call = three();
    call.fails(1);
    call.fails(3);
    expect(call.headers(2)).toEqual(['commit 2 headers']);
    expect(call.ends(2, Status.OK)).toEqual(['credit', 'finish 2 ok']);
  });

  it('HDG-11: Trailers-Only OK wins', () => {
    const call = three();
    expect(call.ends(2, Status.OK)).toEqual([
      ...['credit', 'commit 2 ok', 'cancel 1 superseded', 'cancel 3 superseded'],
      'finish 2 ok',
    ]);
  });

  it('HDG-20, PRX-30: what losers say afterwards changes nothing', () => {
    const call = three();
    call.headers(2);
    const state = JSON.stringify(call.state);
    for (const id of [1, 3]) {
      expect(call.headers(id)).toEqual([]);
      expect(call.placed(id, 'z')).toEqual([]);
      expect(call.fails(id)).toEqual([]);
      expect(call.ends(id, Status.OK)).toEqual([]);
      expect(call.ends(id, Status.INTERNAL, { pushback: never })).toEqual([]);
    }
    expect(JSON.stringify(call.state)).toBe(state);
  });

  it('HDG-21: headers of two in the same tick: the first wins', () => {
    const call = three();
    expect(call.headers(3)).toEqual(['commit 3 headers', 'cancel 1 superseded', 'cancel 2 superseded']);
    expect(call.headers(1)).toEqual([]);
  });

  it('HDG-21: headers at the moment at which a hedge is due: none is sent', () => {
    const call = begun();
    call.now = 100;
    expect(call.headers(1)).toEqual(['commit 1 headers']);
    expect(call.wakeAt).toBe(null);
  });

  it('HDG-22: losers take no token; those that failed by themselves did', () => {
    const call = three();
    expect(call.fails(1)).toEqual(['debit']);
    expect(call.headers(2)).toEqual(['commit 2 headers', 'cancel 3 superseded']);
    expect(call.ends(2, Status.OK)).toEqual(['credit', 'finish 2 ok']);
  });
});

describe('hedges that fail', () => {
  it('HDG-06, DIS-02: a non-fatal failure sends the next at once; the one after it hedgingDelay from there', () => {
    const call = begun();
    call.now = 30;
    expect(call.fails(1)).toEqual(['debit', 'hedge 2']);
    expect(call.wakeAt).toBe(130);
    call.now = 50;
    expect(call.fails(2, { by: 'loss' })).toEqual(['debit', 'hedge 3']);
    expect(call.wakeAt).toBe(null);
  });

  it('HDG-07: a fatal failure ends the call at once, and cancels those that might have answered', () => {
    const call = three();
    expect(call.ends(2, Status.INTERNAL)).toEqual([
      ...['cancel 1 superseded', 'cancel 3 superseded'],
      'finish 2 fatal_status',
    ]);
  });

  it('HDG-07: a fatal failure before the delay is over: no hedge follows', () => {
    const call = begun();
    expect(call.ends(1, Status.INTERNAL)).toEqual(['finish 1 fatal_status']);
    expect(call.wakeAt).toBe(null);
  });

  it('HDG-08: no status is non-fatal: every failure is fatal, and takes no token', () => {
    const call = begun({ plan: hedgePlan({ nonFatal: new Set() }) });
    call.wakes();
    expect(call.fails(1)).toEqual(['cancel 2 superseded', 'finish 1 fatal_status']);
  });

  it('HDG-09, DIS-46: all fail: the last failure is told, and none is sent beyond maxAttempts', () => {
    const call = begun({ plan: hedgePlan({ nonFatal: new Set([Status.UNAVAILABLE, Status.ABORTED]) }) });
    expect(call.fails(1)).toEqual(['debit', 'hedge 2']);
    expect(call.ends(2, Status.ABORTED)).toEqual(['debit', 'hedge 3']);
    expect(call.fails(3)).toEqual(['debit', 'finish 3 attempts_exhausted']);
    const other = three();
    for (const id of [3, 1]) expect(other.fails(id)).toEqual(['debit']);
    expect(other.fails(2)).toEqual(['debit', 'finish 2 attempts_exhausted']);
  });

  it("HDG-09: one that found no backend tells nothing where another backend's word is known", () => {
    const call = three();
    call.fails(2);
    call.fails(1, { reach: 'unplaced', by: 'proxy' });
    expect(call.fails(3, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 2 attempts_exhausted']);
  });

  it('HDG-09, SM-32: none found a backend: no_backend', () => {
    const call = three();
    for (const id of [1, 2]) call.fails(id, { reach: 'unplaced', by: 'proxy' });
    expect(call.fails(3, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 3 no_backend']);
  });

  it('HDG-23, MD-03: a refused hedge is sent again once, told the same, and counts once', () => {
    const call = begun();
    call.wakes();
    expect(call.fails(2, { reach: 'refused' })).toEqual(['transparent 3']);
    expect(previous(call)).toEqual([1]);
    // The schedule is as it was.
    expect(call.wakeAt).toBe(200);
    expect(call.wakes()).toEqual(['hedge 4']);
    expect(previous(call)).toEqual([2]);
    expect(call.wakeAt).toBe(null);
    // Once per call: the second refusal is a failure like others.
    expect(call.fails(1, { reach: 'refused' })).toEqual(['debit']);
  });

  it('HDG-23: a second refusal brings the next hedge forward', () => {
    const call = begun();
    call.fails(1, { reach: 'refused' });
    expect(call.fails(2, { reach: 'refused' })).toEqual(['debit', 'hedge 3']);
  });

  it('SM-31: a hedge that is dropped sends no further one, takes no token and ends nobody else', () => {
    const call = begun();
    call.wakes();
    expect(call.fails(2, { reach: 'dropped', by: 'proxy' })).toEqual([]);
    expect(call.wakeAt).toBe(null);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 overloaded']);
  });

  it('absorbs a loss: of two hedges one is lost: the call goes on, and the next is sent at once', () => {
    const call = begun();
    call.wakes();
    expect(call.fails(1, { by: 'loss' })).toEqual(['debit', 'hedge 3']);
    expect(call.ends(2, Status.OK)).toContain('finish 2 ok');
  });

  it('a loss where UNAVAILABLE is fatal ends the call', () => {
    const call = begun({ plan: hedgePlan({ nonFatal: new Set([Status.ABORTED]) }) });
    call.wakes();
    expect(call.fails(1, { by: 'loss' })).toEqual(['cancel 2 superseded', 'finish 1 fatal_status']);
  });
});

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
