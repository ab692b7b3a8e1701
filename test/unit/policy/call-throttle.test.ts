import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { createThrottle, type Throttle } from '../../../src/policy/throttle.js';
import { hedgePlan, never, noPlan, pause, retryPlan, Script } from './script.js';

describe('the throttle', () => {
  it('THR-05: is read as it stands after the debit of this failure', () => {
    const call = new Script();
    call.start();
    call.shut = { before: false, after: true };
    expect(call.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-06: never holds a first attempt back', () => {
    const call = new Script();
    call.shut = { before: true, after: true };
    expect(call.start()).toEqual(['first 1']);
  });

  it('THR-12: a transparent repeat takes nothing and passes a shut throttle', () => {
    const call = new Script();
    call.shut = { before: true, after: true };
    call.start();
    expect(call.fails(1, { reach: 'unsent' })).toEqual(['transparent 2']);
    expect(call.fails(2, { reach: 'refused' })).toEqual(['transparent 3']);
  });

  it('THR-13, THR-15: every call that ends OK credits, with a policy, without and off', () => {
    for (const setting of [{}, { plan: noPlan }, { policy: 'off' as const }]) {
      const call = new Script(setting);
      call.start();
      call.headers(1);
      expect(call.ends(1, Status.OK)).toEqual(['credit', 'finish 1 ok']);
    }
  });

  it('THR-14: a committed call that fails with a listed code debits', () => {
    const call = new Script();
    call.start();
    expect(call.headers(1)).toEqual(['commit 1 headers']);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 committed']);
  });

  it('THR-15: a failure without a policy debits nothing', () => {
    const call = new Script({ plan: noPlan });
    call.start();
    call.headers(1);
    expect(call.fails(1)).toEqual(['finish 1 no_policy']);
  });

  it('SM-33: takes the debit of the last attempt too, and is not what stops it', () => {
    const call = new Script({ plan: retryPlan({ maxAttempts: 2 }) });
    call.start();
    call.fails(1);
    call.wakes();
    call.shut = { before: true, after: true };
    expect(call.fails(2)).toEqual(['debit', 'finish 2 attempts_exhausted']);
  });

  it('is asked what it is without a debit where the failure takes none', () => {
    const asked: boolean[] = [];
    const call = new Script();
    Object.defineProperty(call, 'shut', {
      get: () => ({
        get before() {
          asked.push(false);
          return false;
        },
        get after() {
          asked.push(true);
          return false;
        },
      }),
    });
    call.start();
    call.ends(1, Status.ABORTED);
    expect(asked).not.toContain(true);
  });

  it.each<[string, (call: Script) => string[], readonly string[]]>([
    ['a place found', (call) => call.placed(1, 'a'), ['hedge 2']],
    ['headers of an attempt that never was', (call) => call.headers(9), ['hedge 2']],
    ['the end of one', (call) => call.fails(9), ['hedge 2']],
    ['a refusal that is repeated', (call) => call.fails(1, { reach: 'refused' }), ['transparent 2', 'hedge 3']],
    ['the alarm', (call) => call.woke(), ['hedge 2']],
  ])('THR-20: what takes no token is no debit when a hedge is due: %s', (_what, act, expected) => {
    const call = new Script({ plan: hedgePlan() });
    call.start();
    call.shut = { before: false, after: true };
    call.now = 100;
    expect(act(call)).toEqual(expected);
  });

  it('THR-20: an overflow is no debit either, when a pushed-back hedge is due', () => {
    const call = new Script({ plan: hedgePlan() });
    call.start();
    call.fails(1, { pushback: pause(50) });
    call.shut = { before: false, after: true };
    call.now = 50;
    expect(call.overflows()).toEqual(['hedge 2', 'commit 2 buffer_call']);
  });

  it('THR-20: what takes a token is one: the failure of one hedge at the moment at which another is due', () => {
    const call = new Script({ plan: hedgePlan() });
    call.start();
    call.shut = { before: false, after: true };
    call.now = 100;
    expect(call.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });
});

/** TH(max, 0.1), all tokens there. */
function bucket(max: number): Throttle {
  return createThrottle({ maxMilliTokens: max * 1000, milliTokensPerSuccess: 100 });
}

function begun(throttle: Throttle, setting: ConstructorParameters<typeof Script>[0] = {}): Script {
  const call = new Script({ throttle, ...setting });
  call.start();
  return call;
}

/** A call all of whose attempts fail. @returns how many it made */
function failing(throttle: Throttle): number {
  const call = begun(throttle);
  for (let made = 1; ; made += 1) {
    if (call.fails(made).length > 1) return made;
    call.wakes();
  }
}

describe('calls that share a bucket', () => {
  it('THR-02, DIS-14: a bucket of two lets nothing be retried, and the failure is told in the same step', () => {
    expect(begun(bucket(2)).fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-03: a bucket of one lets nothing be retried', () => {
    expect(begun(bucket(1)).fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-04: half of 5 is 2.5: three attempts; after three OKs of 0.5 one', () => {
    const throttle = createThrottle({ maxMilliTokens: 5000, milliTokensPerSuccess: 500 });
    expect(failing(throttle)).toBe(3);
    for (let i = 0; i < 3; i += 1) begun(throttle).ends(1, Status.OK);
    expect(throttle.state?.milliTokens).toBe(3500);
    expect(failing(throttle)).toBe(1);
  });

  it('THR-06: with no token left first attempts start, of every plan', () => {
    const throttle = bucket(1);
    expect(failing(throttle)).toBe(1);
    for (const plan of [retryPlan(), hedgePlan(), noPlan])
      expect(new Script({ plan, throttle }).start()).toEqual(['first 1']);
    expect(new Script({ plan: hedgePlan({ delay: millis(0) }), throttle }).start()).toEqual(['first 1']);
  });

  it('THR-09: an unlisted failure neither takes nor gives', () => {
    const throttle = bucket(10);
    begun(throttle).ends(1, Status.INTERNAL);
    expect(throttle.state?.milliTokens).toBe(10_000);
  });

  it('THR-10, THR-11: a listed failure takes one token, whatever its pushback says', () => {
    for (const pushback of [pause(5), never, { kind: 'none' } as const]) {
      const throttle = bucket(10);
      begun(throttle).fails(1, { pushback });
      expect(throttle.state?.milliTokens).toBe(9000);
    }
  });

  it('THR-12: repeats that no application saw take nothing', () => {
    const throttle = bucket(10);
    const call = begun(throttle);
    call.fails(1, { reach: 'unsent' });
    call.fails(2, { reach: 'refused' });
    expect(throttle.state?.milliTokens).toBe(10_000);
    call.fails(3, { reach: 'refused' });
    expect(throttle.state?.milliTokens).toBe(9000);
  });

  it('THR-13: an OK gives when it ends, not when its headers come', () => {
    const throttle = bucket(10);
    throttle.count('failure');
    const call = begun(throttle);
    call.headers(1);
    expect(throttle.state?.milliTokens).toBe(9000);
    call.ends(1, Status.OK);
    expect(throttle.state?.milliTokens).toBe(9100);
  });

  it('THR-15, DIS-16: a call without a policy gives with its OK, and takes with do-not-retry alone', () => {
    const throttle = bucket(10);
    begun(throttle, { plan: noPlan }).fails(1);
    expect(throttle.state?.milliTokens).toBe(10_000);
    begun(throttle, { plan: noPlan }).fails(1, { pushback: never });
    expect(throttle.state?.milliTokens).toBe(9000);
    begun(throttle, { plan: noPlan }).ends(1, Status.OK);
    expect(throttle.state?.milliTokens).toBe(9100);
  });

  it('THR-16: the failures of one call stop the retries of another', () => {
    const throttle = bucket(4);
    const other = begun(throttle);
    expect(begun(throttle).fails(1)).toEqual(['debit']);
    expect(other.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-16: a retry that waits is made, though the bucket was emptied meanwhile', () => {
    const throttle = bucket(10);
    const call = begun(throttle);
    call.fails(1);
    for (let i = 0; i < 9; i += 1) throttle.count('failure');
    expect(call.wakes()).toEqual(['retry 2']);
  });

  it('THR-19, DIS-05: a hedge that fails into a shut bucket sends no other; those in flight go on', () => {
    const throttle = bucket(2);
    const call = begun(throttle, { plan: hedgePlan() });
    expect(call.wakes()).toEqual(['hedge 2']);
    expect(call.fails(1)).toEqual(['debit']);
    expect(call.wakeAt).toBe(null);
    expect(call.ends(2, Status.OK)).toEqual(['credit', 'commit 2 ok', 'finish 2 ok']);
  });

  it('THR-19, DIS-05: with none in flight the failure is told, not CANCELLED', () => {
    const call = begun(bucket(2), { plan: hedgePlan() });
    expect(call.wakes()).toEqual(['hedge 2']);
    call.fails(2);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-20: the bucket is looked at again when a hedge is due: other calls shut it, the hedge is not sent', () => {
    const throttle = bucket(4);
    const call = begun(throttle, { plan: hedgePlan() });
    throttle.count('failure');
    throttle.count('failure');
    expect(call.wakes()).toEqual([]);
    expect(call.wakeAt).toBe(null);
    // Frozen for this call: tokens that come back change nothing for it.
    for (let i = 0; i < 20; i += 1) throttle.count('success');
    expect(call.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });

  it('THR-20: a bucket that opened again before the hedge was due stops nothing', () => {
    const throttle = createThrottle({ maxMilliTokens: 4000, milliTokensPerSuccess: 1000 });
    const call = begun(throttle, { plan: hedgePlan() });
    throttle.count('failure');
    throttle.count('failure');
    throttle.count('success');
    expect(call.wakes()).toEqual(['hedge 2']);
  });

  it('THR-21: shut while a pushed-back hedge is awaited with nothing in flight: the failure already seen is told', () => {
    const throttle = bucket(4);
    const call = begun(throttle, { plan: hedgePlan() });
    expect(call.fails(1, { pushback: pause(50) })).toEqual(['debit']);
    expect(call.state.live).toEqual([]);
    throttle.count('failure');
    expect(call.wakes()).toEqual(['finish 1 throttled']);
  });

  it('THR-24: failures together leave what the sum of them leaves, never less than 0', () => {
    const throttle = bucket(3);
    const calls = Array.from({ length: 8 }, () => begun(throttle));
    for (const call of calls) call.fails(1);
    expect(throttle.state?.milliTokens).toBe(0);
  });

  it('DIS-20: a call that has begun follows the bucket when its limits change', () => {
    const throttle = bucket(4);
    const call = begun(throttle);
    throttle.configure({ maxMilliTokens: 1000, milliTokensPerSuccess: 100 });
    expect(call.fails(1)).toEqual(['debit', 'finish 1 throttled']);
  });
});
