import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import type { Placement } from '../../../src/policy/types.js';
import { hedgePlan, noPlan, pause, retryPlan, Script } from './script.js';

const strict: Placement = { kind: 'only', target: 'a', by: 'pin', again: false };
const again: Placement = { ...strict, again: true };
const firstOnly: Placement = { kind: 'firstOnly', target: 'a', by: 'session' };

const there = { target: 'a', strict: true };
const wish = { target: 'a', strict: false };

function begun(placement: Placement, setting: ConstructorParameters<typeof Script>[0] = {}): Script {
  const call = new Script({ placement, ...setting });
  call.start();
  return call;
}

/** Where the attempts of the last step had to go. */
function targets(call: Script): unknown[] {
  return call.decisions.flatMap((decision) => (decision.type === 'startAttempt' ? [decision.onlyOn] : []));
}

describe('a strict pin', () => {
  it('PIN-10: the first attempt has to go there; a listed failure is told, not retried', () => {
    const call = begun(strict);
    expect(targets(call)).toEqual([there]);
    expect(call.fails(1, { pushback: pause(5) })).toEqual(['debit', 'finish 1 pinned']);
    expect(call.wakeAt).toBe(null);
  });

  it('PIN-12, PIN-13: an unlisted failure, or no policy: the pin prevented nothing, and is not named', () => {
    expect(begun(strict).ends(1, Status.INTERNAL)).toEqual(['finish 1 fatal_status']);
    expect(begun(strict, { plan: noPlan }).fails(1)).toEqual(['finish 1 no_policy']);
  });

  it('PIN-38: under a hedgingPolicy one attempt, and no alarm', () => {
    for (const placement of [strict, again]) {
      const call = begun(placement, { plan: hedgePlan() });
      expect(call.wakeAt).toBe(null);
      call.now = 1000;
      expect(call.woke()).toEqual([]);
      expect(call.fails(1)).toEqual(['debit', 'finish 1 pinned']);
    }
    const together = new Script({ placement: strict, plan: hedgePlan({ delay: millis(0) }) });
    expect(together.start()).toEqual(['first 1']);
  });

  it('PIN-38: under a hedgingPolicy with a deadline, the deadline ends it', () => {
    const call = begun(strict, { plan: hedgePlan(), deadline: 500 });
    expect(call.wakeAt).toBe(500);
    expect(call.wakes()).toEqual(['cancel 1 deadline', 'finish DEADLINE_EXCEEDED deadline_exceeded']);
  });

  it('DIS-22: refused: once more, there; refused again: told', () => {
    const call = begun(strict);
    expect(call.fails(1, { reach: 'refused' })).toEqual(['transparent 2']);
    expect(targets(call)).toEqual([there]);
    expect(call.fails(2, { reach: 'refused' })).toEqual(['debit', 'finish 2 pinned']);
  });

  it('SM-29: never sent: placed again, there', () => {
    const call = begun(strict);
    expect(call.fails(1, { reach: 'unsent', by: 'loss' })).toEqual(['transparent 2']);
    expect(targets(call)).toEqual([there]);
  });

  it('PIN-14: lost under the attempt: backend_lost', () => {
    expect(begun(strict).fails(1, { by: 'loss' })).toEqual(['debit', 'finish 1 backend_lost']);
  });

  it('PIN-15: it cannot be had: told at once, and no token is taken: it is no attempt', () => {
    for (const placement of [strict, again]) {
      const call = begun(placement);
      expect(call.fails(1, { reach: 'unplaced', by: 'proxy' })).toEqual(['finish 1 pinned_backend_unavailable']);
    }
  });

  it('PIN-15: it cannot be had after an overflow: the same', () => {
    const call = begun(strict);
    call.overflows();
    expect(call.fails(1, { reach: 'unplaced', by: 'proxy' })).toEqual(['finish 1 pinned_backend_unavailable']);
  });

  it('has no room: pinned_backend_busy, and no token is taken', () => {
    const call = begun(strict);
    expect(call.fails(1, { reach: 'dropped', by: 'proxy' })).toEqual(['finish 1 pinned_backend_busy']);
  });

  it('THR-14: its listed failure takes a token like any other', () => {
    const call = begun(strict);
    call.headers(1);
    expect(call.fails(1)).toEqual(['debit', 'finish 1 committed']);
  });
});

describe('a strict pin that may be retried on its target', () => {
  it('PIN-35: the policy acts, there', () => {
    const call = begun(again, { plan: retryPlan({ maxAttempts: 3 }) });
    expect(call.fails(1)).toEqual(['debit']);
    expect(call.wait).toBe(100);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(targets(call)).toEqual([there]);
    expect(call.fails(2, { by: 'loss' })).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 3']);
    expect(targets(call)).toEqual([there]);
    expect(call.fails(3)).toEqual(['debit', 'finish 3 attempts_exhausted']);
  });

  it('PIN-53: the target fails too often in a row: told, and a call that may go elsewhere goes on', () => {
    const call = begun(again);
    expect(call.fails(1, { breached: false })).toEqual(['debit']);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(call.fails(2, { breached: true })).toEqual(['debit', 'finish 2 pinned']);
    expect(begun(again).fails(1, { breached: true, by: 'loss' })).toEqual(['debit', 'finish 1 backend_lost']);
    const free = begun(firstOnly);
    expect(free.fails(1, { breached: true })).toEqual(['debit']);
    expect(free.wakes()).toEqual(['retry 2']);
  });

  it('PIN-35: a retry for which it cannot be had tells what was said before', () => {
    const call = begun(again);
    call.fails(1);
    call.wakes();
    expect(call.fails(2, { reach: 'unplaced', by: 'proxy' })).toEqual(['finish 1 pinned_backend_unavailable']);
  });
});

describe('a pin for the first attempt alone', () => {
  it('PIN-11: the retry goes anywhere', () => {
    const call = begun(firstOnly);
    expect(targets(call)).toEqual([wish]);
    call.fails(1);
    expect(call.wakes()).toEqual(['retry 2']);
    expect(targets(call)).toEqual([null]);
  });

  it('PIN-11: the hedge goes anywhere, and either may win', () => {
    const call = begun(firstOnly, { plan: hedgePlan() });
    expect(targets(call)).toEqual([wish]);
    expect(call.wakes()).toEqual(['hedge 2']);
    expect(targets(call)).toEqual([null]);
    expect(call.headers(2)).toEqual(['commit 2 headers', 'cancel 1 superseded']);
  });

  it('PIN-11: a repeat of the first attempt goes there, one of a later attempt anywhere', () => {
    const call = begun(firstOnly);
    expect(call.fails(1, { reach: 'unsent' })).toEqual(['transparent 2']);
    expect(targets(call)).toEqual([wish]);
    call.fails(2);
    call.wakes();
    expect(call.fails(3, { reach: 'refused' })).toEqual(['transparent 4']);
    expect(targets(call)).toEqual([null]);
  });

  it('PIN-11: with a refused hedge: the repeat of each goes where that one went', () => {
    const call = begun(firstOnly, { plan: hedgePlan() });
    call.wakes();
    expect(call.fails(2, { reach: 'refused' })).toEqual(['transparent 3']);
    expect(targets(call)).toEqual([null]);
    expect(call.fails(1, { reach: 'unsent' })).toEqual(['transparent 4']);
    expect(targets(call)).toEqual([wish]);
  });
});
