import { describe, expect, it } from 'vitest';
import { pushbackName, readPushback } from '../../../src/grpc/pushback.js';
import { Status } from '../../../src/grpc/status.js';
import { never, noPlan, pause, retryPlan, Script } from './script.js';

describe('pushback', () => {
  it('PB-01: the next attempt starts after exactly what was asked', () => {
    const call = new Script();
    call.random = 0.99;
    call.start();
    expect(call.fails(1, { pushback: pause(300) })).toEqual(['debit']);
    expect(call.wait).toBe(300);
    expect(call.wakes()).toEqual(['retry 2']);
  });

  it('PB-02: 0 retries at once, in the same step', () => {
    const call = new Script();
    call.start();
    expect(call.fails(1, { pushback: pause(0) })).toEqual(['debit', 'retry 2']);
  });

  it('PB-03, DIS-10: backoff starts again from initialBackoff after a pushback', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 6 }) });
    call.start();
    const waits = [undefined, undefined, pause(50), undefined, undefined].map((pushback, i) => {
      call.fails(i + 1, pushback === undefined ? {} : { pushback });
      const { wait } = call;
      call.wakes();
      return wait;
    });
    expect(waits).toEqual([100, 200, 50, 100, 200]);
  });

  it('PB-04: do not retry: final now, one debit', () => {
    const call = new Script();
    call.start();
    expect(call.fails(1, { pushback: never })).toEqual(['debit', 'finish 1 pushback']);
  });

  it('PB-06: the longest pushback is waited for', () => {
    const call = new Script();
    call.start();
    call.fails(1, { pushback: pause(2_147_483_647) });
    expect(call.wait).toBe(2_147_483_647);
    expect(call.wakes()).toEqual(['retry 2']);
  });

  it('PB-10: a pushback does not raise maxAttempts', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1);
    call.wakes();
    expect(call.fails(2, { pushback: pause(0) })).toEqual(['debit', 'finish 2 attempts_exhausted']);
  });

  it('PB-12: a pushback after commit changes nothing', () => {
    const call = new Script();
    call.start();
    call.headers(1);
    expect(call.fails(1, { pushback: pause(10) })).toEqual(['debit', 'finish 1 committed']);
  });

  it('PB-15: a pushback without a policy is not obeyed', () => {
    const call = new Script({ plan: noPlan });
    call.start();
    expect(call.fails(1, { pushback: pause(10) })).toEqual(['finish 1 no_policy']);
  });

  it('PB-16: do not retry debits for an unlisted code, and without a policy', () => {
    const call = new Script();
    call.start();
    expect(call.ends(1, Status.INTERNAL, { pushback: never })).toEqual(['debit', 'finish 1 fatal_status']);
    const free = new Script({ plan: noPlan });
    free.start();
    expect(free.ends(1, Status.INTERNAL, { pushback: never })).toEqual(['debit', 'finish 1 no_policy']);
  });

  it('PB-05, DIS-07: what is no number means never: no retry', () => {
    for (const value of ['abc', '10abc', '1.5', '0x10', '', 'NaN', '1e3']) expect(answered([value])).toEqual(stopped);
  });

  it('PB-06: what an int32 does not hold means never, and so does the least that it holds', () => {
    for (const value of ['2147483648', '4294967296', '-2147483648', '-2147483649'])
      expect(answered([value])).toEqual(stopped);
    expect(answered(['2147483647'])).toEqual(['debit']);
  });

  it('PB-07: needless zeros, signs and spaces mean never', () => {
    for (const value of ['007', '00', '+5', '-0', ' 5', '5 ']) expect(answered([value])).toEqual(stopped);
    expect(answered(['0'])).toEqual(['debit', 'retry 2']);
  });

  it('PB-08, DIS-11: two values mean never, equal ones too', () => {
    expect(answered(['10', '20'])).toEqual(stopped);
    expect(answered(['10', '10'])).toEqual(stopped);
  });

  it('PB-09, DIS-06: an unlisted code with a pushback is final, and takes no token', () => {
    const call = new Script();
    call.start();
    expect(call.ends(1, Status.INTERNAL, { pushback: pause(0) })).toEqual(['finish 1 fatal_status']);
  });

  it('PB-11: a pushback that ends at the deadline, or past it, ends the call now', () => {
    for (const [ms, expected] of [
      [999, ['debit']],
      [1000, ['debit', 'finish 1 backoff_beyond_deadline']],
      [5000, ['debit', 'finish 1 backoff_beyond_deadline']],
    ] as const) {
      const call = new Script({ deadline: 1000 });
      call.start();
      expect(call.fails(1, { pushback: pause(ms) })).toEqual(expected);
    }
  });

  it('PB-13: a pushback with an OK has no meaning', () => {
    for (const pushback of [pause(5), never]) {
      const call = new Script();
      call.start();
      expect(call.ends(1, Status.OK, { pushback })).toEqual(['credit', 'commit 1 ok', 'finish 1 ok']);
    }
  });

  it('PB-14: a pushback opens no throttle', () => {
    const call = new Script();
    call.start();
    call.shut = { before: false, after: true };
    expect(call.fails(1, { pushback: pause(0) })).toEqual(['debit', 'finish 1 throttled']);
  });
});

const stopped = ['debit', 'finish 1 pushback'];

/** What follows from UNAVAILABLE with these values of grpc-retry-pushback-ms among its trailers. */
function answered(values: readonly string[]): string[] {
  const call = new Script();
  call.start();
  const fields = values.map((value) => ({ name: pushbackName, value, neverIndexed: false }));
  return call.fails(1, { pushback: readPushback(fields) });
}
