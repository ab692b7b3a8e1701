import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import type { Decision } from '../../../src/policy/types.js';
import { never, noPlan, pause, retryPlan, Script } from './script.js';

function startOf(decisions: readonly Decision[]): Extract<Decision, { type: 'startAttempt' }> {
  const start = decisions.find((decision) => decision.type === 'startAttempt');
  if (start === undefined) throw new Error('no attempt was started');
  return start;
}

describe('retry', () => {
  it('SM-01, MD-02: two listed failures, then an answer: waits of 100 and 200 ms, previous 0, 1, 2', () => {
    const call = new Script();
    expect(call.start()).toEqual(['first 1']);
    expect(startOf(call.decisions).previous).toBe(0);
    expect(call.fails(1)).toEqual(['debit']);
    expect(call.wait).toBe(100);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(startOf(call.decisions).previous).toBe(1);
    expect(call.fails(2)).toEqual(['debit']);
    expect(call.wait).toBe(200);
    expect(call.wakes()).toEqual(['retry 3']);
    expect(startOf(call.decisions).previous).toBe(2);
    expect(call.headers(3)).toEqual(['commit 3 headers']);
    expect(call.ends(3, Status.OK)).toEqual(['credit', 'finish 3 ok']);
    expect(call.wakeAt).toBe(null);
  });

  it('SM-01: the wait is jittered by the random number that it is given', () => {
    const call = new Script();
    call.start();
    call.random = 0;
    call.fails(1);
    expect(call.wait).toBeCloseTo(80, 6);
    call.wakes();
    call.random = 0.75;
    call.fails(2);
    expect(call.wait).toBeCloseTo(220, 6);
  });

  it('SM-02, MD-10: a backend that never recovers gets maxAttempts, and the last status is told', () => {
    const call = new Script();
    call.start();
    for (const id of [1, 2, 3]) {
      expect(call.fails(id)).toEqual(['debit']);
      expect(call.wakes()).toEqual([`retry ${id + 1}`]);
    }
    expect(call.fails(4)).toEqual(['debit', 'finish 4 attempts_exhausted']);
  });

  it('SM-02: waits stay at maxBackoff once they have reached it', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 5, maxBackoff: millis(250) }) });
    call.start();
    const waits = [1, 2, 3, 4].map((id) => {
      call.fails(id);
      const { wait } = call;
      call.wakes();
      return wait;
    });
    expect(waits).toEqual([100, 200, 250, 250]);
  });

  it('SM-03: an unlisted code is told at once and takes no token', () => {
    const call = new Script();
    call.start();
    expect(call.ends(1, Status.INVALID_ARGUMENT)).toEqual(['finish 1 fatal_status']);
  });

  it('SM-04: an unlisted code after a listed one ends the call with it', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.ends(2, Status.ABORTED)).toEqual(['finish 2 fatal_status']);
  });

  it('SM-05: any of the listed codes is retried', () => {
    const call = new Script({ plan: retryPlan({ retryable: new Set([Status.UNAVAILABLE, Status.DATA_LOSS]) }) });
    call.start();
    call.fails(1);
    expect(call.wakes()).toEqual(['retry 2']);
    call.ends(2, Status.DATA_LOSS);
    expect(call.wakes()).toEqual(['retry 3']);
    expect(call.ends(3, Status.OK)).toEqual(['credit', 'commit 3 ok', 'finish 3 ok']);
  });

  it("SM-13: CANCELLED from a backend is the backend's word, retried where listed", () => {
    const call = new Script({ plan: retryPlan({ retryable: new Set([Status.CANCELLED]) }) });
    call.start();
    expect(call.ends(1, Status.CANCELLED)).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 2']);
  });

  it('SM-14: a code outside the set is never retried', () => {
    const call = new Script();
    call.start();
    expect(call.ends(1, 300)).toEqual(['finish 1 fatal_status']);
  });

  it('SM-18: the wait begins when the attempt fails, not when it started', () => {
    const call = new Script();
    call.start();
    call.now = 2000;
    call.fails(1);
    expect(call.wakeAt).toBe(2100);
  });

  it('SM-19: no policy: told at once', () => {
    const call = new Script({ plan: noPlan });
    call.start();
    expect(call.fails(1)).toEqual(['finish 1 no_policy']);
  });

  it('SM-20: a policy that is off for the call makes no attempts, and names the reason as no policy does', () => {
    const call = new Script({ policy: 'off' });
    call.start();
    expect(call.fails(1)).toEqual(['debit', 'finish 1 no_policy']);
  });

  it('SM-32: no backend, ever: each attempt counts and debits, the reason told is no_backend', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    expect(call.fails(1, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(call.fails(2, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 2 no_backend']);
  });

  it('SM-32: no backend and no policy: no_backend', () => {
    const call = new Script({ plan: noPlan });
    call.start();
    expect(call.fails(1, { reach: 'unplaced', by: 'proxy' })).toEqual(['finish 1 no_backend']);
  });

  it("SM-32: a retry that finds no backend tells the last backend's own status, and the row's own reason", () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 3 }) });
    call.start();
    call.fails(1);
    call.wakes();
    call.fails(2, { reach: 'unplaced', by: 'proxy' });
    call.wakes();
    expect(call.fails(3, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 1 attempts_exhausted']);
  });

  it('SM-32: a backend that was found after none was is told', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1, { reach: 'unplaced', by: 'proxy' });
    call.wakes();
    expect(call.fails(2, { by: 'loss' })).toEqual(['debit', 'finish 2 attempts_exhausted']);
  });

  it('SM-32: a refusal is a word of a backend: it is told, and no later lack of one', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1, { reach: 'refused' });
    call.fails(2, { reach: 'unplaced', by: 'proxy' });
    call.wakes();
    expect(call.fails(3, { reach: 'unplaced', by: 'proxy' })).toEqual(['debit', 'finish 1 attempts_exhausted']);
  });

  it('SM-31: a drop ends the call at once, free, with the real status if there is one', () => {
    const dropped = { reach: 'dropped', by: 'proxy' } as const;
    const first = new Script();
    first.start();
    expect(first.fails(1, dropped)).toEqual(['finish 1 overloaded']);
    const second = new Script();
    second.start();
    second.fails(1);
    second.wakes();
    expect(second.fails(2, dropped)).toEqual(['finish 1 overloaded']);
  });

  it('SM-34: a retry is advised against each backend that was tried, in order, none twice', () => {
    const call = new Script();
    call.start();
    expect(startOf(call.decisions).avoid).toEqual([]);
    const advice = ['b', 'a', 'b'].map((backend, i) => {
      call.placed(i + 1, backend);
      call.fails(i + 1);
      call.wakes();
      return startOf(call.decisions).avoid;
    });
    // What was handed out stays as it was.
    expect(advice).toEqual([['b'], ['b', 'a'], ['b', 'a']]);
  });

  it('SM-34: a late word on where a dead attempt went advises nothing', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.placed(1, 'a');
    call.wakes();
    expect(startOf(call.decisions).avoid).toEqual([]);
  });

  it('SM-42: OK is never retried, not even where it is listed or pushed back', () => {
    const call = new Script({ plan: retryPlan({ retryable: new Set([Status.OK]) }) });
    call.start();
    expect(call.ends(1, Status.OK, { pushback: pause(5) })).toEqual(['credit', 'commit 1 ok', 'finish 1 ok']);
    const stopped = new Script();
    stopped.start();
    expect(stopped.ends(1, Status.OK, { pushback: never })).toEqual(['credit', 'commit 1 ok', 'finish 1 ok']);
  });

  it('wakes for nothing while its only attempt runs without a deadline', () => {
    const call = new Script();
    call.start();
    expect(call.wakeAt).toBe(null);
    expect(call.woke()).toEqual([]);
  });

  it('woken too early, it waits on', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.now = 99.999;
    expect(call.woke()).toEqual([]);
    expect(call.wakeAt).toBe(100);
    call.now = 100;
    expect(call.woke()).toEqual(['retry 2']);
  });

  it('starts what is due whatever event says that the time has come', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.now = 100;
    expect(call.overflows()).toEqual(['retry 2', 'commit 2 buffer_call']);
  });

  it('begins once', () => {
    const call = new Script();
    expect(call.state.phase).toBe('new');
    call.start();
    expect(call.state.phase).toBe('running');
    expect(call.start()).toEqual([]);
    call.fails(1);
    expect(call.start()).toEqual([]);
    expect(call.wait).toBe(100);
  });

  it('asks for a random number once where it draws a backoff, and never elsewhere', () => {
    const call = new Script();
    let drawn = 0;
    Object.defineProperty(call, 'random', {
      get: () => {
        drawn += 1;
        return 0.5;
      },
    });
    call.start();
    call.headers(9);
    call.fails(1, { pushback: pause(10) });
    call.wakes();
    expect(drawn).toBe(0);
    call.fails(2);
    expect(drawn).toBe(1);
    call.wakes();
    call.ends(3, Status.ABORTED);
    expect(drawn).toBe(1);
  });
});
