import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { hedgePlan, never, Script } from './script.js';

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
