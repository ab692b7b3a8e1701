import { describe, expect, it } from 'vitest';
import { Status } from '../../../src/grpc/status.js';
import { never, noPlan, retryPlan, Script } from './script.js';

const unsent = { reach: 'unsent', by: 'loss' } as const;
const refused = { reach: 'refused' } as const;
const unplaced = { reach: 'unplaced', by: 'proxy' } as const;

describe('transparent retries', () => {
  it('SM-22: no policy: a refused attempt is repeated once, the second refusal is final', () => {
    const call = new Script({ plan: noPlan });
    call.start();
    expect(call.fails(1, refused)).toEqual(['transparent 2']);
    expect(call.fails(2, refused)).toEqual(['finish 2 no_policy']);
  });

  it('SM-23, MD-03: a refused attempt does not count; its repeat is told the same', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 3 }) });
    call.start();
    expect(call.fails(1, refused)).toEqual(['transparent 2']);
    expect(call.decisions).toMatchObject([{ cause: 'transparent', previous: 0 }]);
    expect(call.fails(2)).toEqual(['debit']);
    expect(call.wait).toBe(100);
    expect(call.wakes()).toEqual(['retry 3']);
    expect(call.decisions).toMatchObject([{ cause: 'retry', previous: 1 }]);
    expect(call.ends(3, Status.OK)).toEqual(['credit', 'commit 3 ok', 'finish 3 ok']);
  });

  it('SM-24: refused again and again: the first repeat is free, then backoff, count and tokens', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 3 }) });
    call.start();
    expect(call.fails(1, refused)).toEqual(['transparent 2']);
    expect(call.fails(2, refused)).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 3']);
    expect(call.fails(3, refused)).toEqual(['debit']);
    expect(call.wait).toBe(200);
    expect(call.wakes()).toEqual(['retry 4']);
    expect(call.fails(4, refused)).toEqual(['debit', 'finish 4 attempts_exhausted']);
  });

  it('SM-25, MD-03: a refused retry is repeated with the same number', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.fails(2, refused)).toEqual(['transparent 3']);
    expect(call.decisions).toMatchObject([{ previous: 1 }]);
  });

  it('SM-26: a second refusal when maxAttempts is spent: no further attempt', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1, refused);
    call.fails(2);
    call.wakes();
    expect(call.fails(3, refused)).toEqual(['debit', 'finish 3 attempts_exhausted']);
  });

  it('SM-41: the first refusal on the last attempt is repeated', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.fails(2, refused)).toEqual(['transparent 3']);
    expect(call.fails(3)).toEqual(['debit', 'finish 3 attempts_exhausted']);
  });

  it('SM-29: a never-sent attempt is placed again 1000 times, then the policy judges it', () => {
    const call = new Script();
    call.start();
    for (let id = 1; id <= 1000; id += 1) expect(call.fails(id, unsent)).toEqual([`transparent ${id + 1}`]);
    expect(call.fails(1001, unsent)).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 1002']);
    expect(call.decisions).toMatchObject([{ previous: 1 }]);
    // The quota is the call's, not the attempt's.
    expect(call.fails(1002, unsent)).toEqual(['debit']);
  });

  it('SM-29: never-sent repeats and the refused one have quotas of their own', () => {
    const call = new Script({ maxTransparent: 1 });
    call.start();
    expect(call.fails(1, unsent)).toEqual(['transparent 2']);
    expect(call.fails(2, refused)).toEqual(['transparent 3']);
    expect(call.fails(3, refused)).toEqual(['debit']);
    const other = new Script({ maxTransparent: 1 });
    other.start();
    expect(other.fails(1, refused)).toEqual(['transparent 2']);
    expect(other.fails(2, unsent)).toEqual(['transparent 3']);
    expect(other.fails(3, unsent)).toEqual(['debit']);
  });

  it('SM-29: repeats change neither the count nor the backoff', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 3 }) });
    call.start();
    call.fails(1, unsent);
    call.fails(2, refused);
    call.fails(3, unsent);
    call.fails(4);
    expect(call.wait).toBe(100);
    call.wakes();
    call.fails(5, unsent);
    call.fails(6);
    expect(call.wait).toBe(200);
    call.wakes();
    expect(call.fails(7)).toEqual(['debit', 'finish 7 attempts_exhausted']);
  });

  it("SM-29: an attempt that was never sent tells nothing: the last backend's status does", () => {
    const call = new Script({ maxTransparent: 0, plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.fails(2, unsent)).toEqual(['debit', 'finish 1 attempts_exhausted']);
  });
});

describe('commit by headers', () => {
  it('SM-07, STR-03: a failure after headers is final', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.headers(2)).toEqual(['commit 2 headers']);
    expect(call.fails(2)).toEqual(['debit', 'finish 2 committed']);
  });

  it('SM-08: a connection that dies after headers is a loss, with and without a policy', () => {
    for (const plan of [retryPlan(), noPlan]) {
      const call = new Script({ plan });
      call.start();
      call.headers(1);
      expect(call.fails(1, { by: 'loss' })).toContain('finish 1 backend_lost');
    }
  });

  it('happens once: later headers of the same attempt say nothing', () => {
    const call = new Script();
    call.start();
    call.headers(1);
    expect(call.headers(1)).toEqual([]);
  });

  it('a call that headers committed is not repeated, however the attempt ended', () => {
    for (const facts of [refused, unsent]) {
      const call = new Script();
      call.start();
      call.headers(1);
      expect(call.fails(1, { ...facts, by: 'backend' })).toEqual(['debit', 'finish 1 committed']);
    }
  });

  it('headers of an attempt that is over commit nothing', () => {
    const call = new Script();
    call.start();
    call.fails(1);
    expect(call.headers(1)).toEqual([]);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(call.headers(1)).toEqual([]);
    expect(call.headers(2)).toEqual(['commit 2 headers']);
  });

  it('does not wake while committed without a deadline', () => {
    const call = new Script();
    call.start();
    call.headers(1);
    expect(call.wakeAt).toBe(null);
  });
});

describe('commit by overflow', () => {
  it.each(['call', 'client', 'total'] as const)('BUF-07, BUF-09: the %s limit commits the running attempt', (limit) => {
    const call = new Script();
    call.start();
    expect(call.overflows(limit)).toEqual([`commit 1 buffer_${limit}`]);
    expect(call.overflows('call')).toEqual([]);
    expect(call.headers(1)).toEqual([]);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 buffer_exceeded']);
  });

  it('BUF-12: an overflow after headers is no news, and does not change the reason', () => {
    const call = new Script();
    call.start();
    call.headers(1);
    expect(call.overflows()).toEqual([]);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 committed']);
  });

  it('a call that an overflow committed ends OK without a second commit', () => {
    const call = new Script();
    call.start();
    call.overflows();
    expect(call.ends(1, Status.OK)).toEqual(['credit', 'finish 1 ok']);
  });

  it.each(['call', 'client', 'total'] as const)(
    'DIS-26: an overflow of the %s limit in backoff: the attempt that is due is born committed',
    (limit) => {
      const call = new Script();
      call.start();
      call.fails(1);
      expect(call.overflows(limit)).toEqual([]);
      expect(call.wait).toBe(100);
      expect(call.overflows('call')).toEqual([]);
      expect(call.wakes()).toEqual(['retry 2', `commit 2 buffer_${limit}`]);
      expect(call.fails(2)).toEqual(['debit', 'finish 2 buffer_exceeded']);
    },
  );

  it('SM-30: committed by overflow, then proven never sent: placed again, still committed', () => {
    const call = new Script();
    call.start();
    call.overflows();
    expect(call.fails(1, unsent)).toEqual(['transparent 2']);
    expect(call.headers(2)).toEqual([]);
    expect(call.overflows()).toEqual([]);
    expect(call.fails(2)).toEqual(['debit', 'finish 2 buffer_exceeded']);
  });

  it('SM-30: the repeats of a committed call are bounded; the last one is a loss', () => {
    const call = new Script({ maxTransparent: 1 });
    call.start();
    call.overflows();
    call.fails(1, unsent);
    expect(call.fails(2, unsent)).toEqual(['debit', 'finish 2 backend_lost']);
  });

  it('a refused attempt of a committed call is final: its bytes may be gone', () => {
    const call = new Script();
    call.start();
    call.overflows();
    expect(call.fails(1, refused)).toEqual(['debit', 'finish 1 buffer_exceeded']);
  });

  it('takes its reason from policy, list and pushback before the buffer', () => {
    const reasons = [
      [{ plan: noPlan }, Status.UNAVAILABLE, {}, ['finish 1 no_policy']],
      [{ policy: 'off' as const }, Status.UNAVAILABLE, {}, ['debit', 'finish 1 no_policy']],
      [{}, Status.INTERNAL, {}, ['finish 1 fatal_status']],
      [{}, Status.UNAVAILABLE, { pushback: never }, ['debit', 'finish 1 pushback']],
      [{}, Status.UNAVAILABLE, { by: 'loss' as const }, ['debit', 'finish 1 backend_lost']],
    ] as const;
    for (const [setting, code, facts, expected] of reasons) {
      const call = new Script(setting);
      call.start();
      call.overflows();
      expect(call.ends(1, code, facts)).toEqual(expected);
    }
  });

  it("a retry born committed that finds no backend tells the last backend's status", () => {
    const call = new Script();
    call.start();
    call.fails(1);
    call.overflows();
    call.wakes();
    expect(call.fails(2, unplaced)).toEqual(['debit', 'finish 1 buffer_exceeded']);
  });
});
