import { describe, expect, it } from 'vitest';
import { judgeStreamEnd, unplacedEnd } from '../../../src/grpc/attempt-end.js';
import type { AttemptEnd } from '../../../src/grpc/attempt-facts.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { CallLosses, type LossyAttempt } from '../../../src/proxy/call-losses.js';
import { LossBook, type LossRecord } from '../../../src/proxy/losses.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const a = backendId('a');
const lost = judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'x' });
const full: AttemptEnd = { ...unplacedEnd('full'), reach: 'dropped' };

interface Flight extends LossyAttempt {
  dispatched: number;
  end: AttemptEnd | null;
}

function rig() {
  const time = createVirtualTime();
  const told: LossRecord[] = [];
  const counted: Record<string, number> = {};
  const tasks: (() => void)[] = [];
  const turn = { atEnd: (task: () => void) => void tasks.push(task) };
  const book = new LossBook(
    { ...time, turn },
    {
      onOutcome: ({ outcomes }) => {
        for (const [outcome, count] of Object.entries(outcomes)) counted[outcome] = (counted[outcome] ?? 0) + count;
      },
      onLoss: (record) => told.push(record),
    },
  );
  const endTurn = (): void => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) task();
  };
  return { time, told, counted, book, endTurn };
}

function flight(dispatched: number): Flight {
  return { dispatched, end: null, cancelled: false, lostGeneration: 1 };
}

describe('the record of a loss', () => {
  it('LOS-19: each outcome counts at once; those that are known are told after a second, the rest by itself', () => {
    const { time, told, counted, book, endTurn } = rig();
    const [slow, ...quick] = Array.from({ length: 6 }, () => book.open(a, 1, 'x'));
    for (const loss of quick) loss.settle('failed');
    endTurn();
    expect(counted).toEqual({ failed: 5 });
    time.advance(999);
    expect(told).toEqual([]);
    time.advance(1);
    expect(told).toMatchObject([{ attempts: 5, undecided: 1, outcomes: { failed: 5 } }]);
    time.advance(60_000);
    slow?.settle('re_dispatched');
    slow?.settle('failed');
    endTurn();
    expect(counted).toEqual({ failed: 5, re_dispatched: 1 });
    expect(told.slice(1)).toEqual([
      { backend: a, generation: 1, detail: 'x', attempts: 1, outcomes: { re_dispatched: 1 } },
    ]);
  });

  it('LOS-19: all that is known in the turn is one record, and no alarm is left', () => {
    const { time, told, book, endTurn } = rig();
    const losses = [book.open(a, 1, 'x'), book.open(a, 1, 'x')];
    for (const loss of losses) loss.settle('failed');
    endTurn();
    expect(told).toEqual([{ backend: a, generation: 1, detail: 'x', attempts: 2, outcomes: { failed: 2 } }]);
    time.advance(60_000);
    expect(told).toHaveLength(1);
  });
});

describe('a call whose attempts are lost', () => {
  /** Three hedges at one backend are lost, one after the other in a turn. */
  function loseThree(then: (losses: CallLosses, attempts: Flight[]) => void): Record<string, number> {
    const { counted, book, endTurn } = rig();
    const losses = new CallLosses(book);
    const attempts = [flight(1), flight(2), flight(3)];
    for (const attempt of attempts) {
      attempt.end = lost;
      const loss = losses.open(attempt, a, attempts, false);
      if (attempt !== attempts[2]) loss.follow();
      else then(losses, attempts);
    }
    endTurn();
    return counted;
  }

  it('LOS-20: siblings that are lost in the same turn absorb nothing', () => {
    expect(loseThree((losses, attempts) => losses.over('attempts_exhausted', attempts))).toEqual({ failed: 3 });
    expect(loseThree((losses) => losses.sent())).toEqual({ re_dispatched: 3 });
  });

  it('LOS-20: nor does one that waits for a place', () => {
    const { counted, book, endTurn } = rig();
    const losses = new CallLosses(book);
    const attempts = [flight(1), flight(0)];
    const [first, second] = attempts;
    if (first === undefined || second === undefined) throw new Error('two');
    first.end = lost;
    losses.open(first, a, attempts, false).follow();
    endTurn();
    expect(counted).toEqual({});
    second.dispatched = 2;
    losses.sent();
    expect(counted).toEqual({ re_dispatched: 1 });
  });

  it('LOS-07: one that lives does, also where the next hedge is sent at once, or it ends the call in that turn', () => {
    for (const ends of [false, true]) {
      const { counted, book, endTurn } = rig();
      const losses = new CallLosses(book);
      const attempts = [flight(1), flight(2)];
      const [first, second] = attempts;
      if (first === undefined || second === undefined) throw new Error('two');
      first.end = lost;
      losses.open(first, a, attempts, false).follow();
      losses.sent();
      if (ends) {
        second.end = { ...lost, by: 'backend', code: 0 };
        losses.over('ok', attempts);
      }
      endTurn();
      expect(counted).toEqual({ absorbed: 1 });
    }
  });

  it('LOS-21: that is dropped as every queue is full had no alternative; what was dropped before the loss, or by a limit, is none', () => {
    const outcome = (end: AttemptEnd, before = false): Record<string, number> => {
      const { counted, book } = rig();
      const losses = new CallLosses(book);
      const [first, other] = [flight(1), { ...flight(0), end }];
      const attempts = before ? [first, other] : [first];
      first.end = lost;
      losses.open(first, a, attempts, false).follow();
      losses.over('backend_lost', [first, other]);
      return counted;
    };
    expect(outcome(full)).toEqual({ no_alternative: 1 });
    expect(outcome(unplacedEnd('x'))).toEqual({ no_alternative: 1 });
    expect(outcome(full, true)).toEqual({ failed: 1 });
    expect(outcome({ ...full, reason: 'headers_too_large' })).toEqual({ failed: 1 });
  });
});
