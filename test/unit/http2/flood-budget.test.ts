import { describe, expect, it } from 'vitest';
import { FloodBudget } from '../../../src/http2/flood-budget.js';

/** One that has spent all it had, at time 1000. */
function empty(size = 10_000): FloodBudget {
  const budget = new FloodBudget(size);
  budget.advance(1000);
  expect(budget.spend('PING', size)).toBe(true);
  return budget;
}

describe('what is spent', () => {
  it('ends at the size, and the first frame over it is told', () => {
    expect(empty().spend('WINDOW_UPDATE')).toBe(false);
  });

  it('a reset costs six while its stream is young and unanswered, else one', () => {
    const budget = new FloodBudget(10_000);
    budget.advance(5000);
    expect(budget.resetCost(5000, false)).toBe(6);
    expect(budget.resetCost(4000, false)).toBe(6);
    expect(budget.resetCost(3999, false)).toBe(1);
    expect(budget.resetCost(5000, true)).toBe(1);
  });
});

describe('the account of a flood', () => {
  it('names the two kinds that came most, with their counts', () => {
    const budget = new FloodBudget(100);
    for (let i = 0; i < 20; i += 1) budget.spend('PRIORITY');
    budget.spend('PING');
    for (let i = 0; i < 9; i += 1) budget.spend('RST_STREAM', 6);
    expect(budget.account).toBe('20 PRIORITY and 9 RST_STREAM');
  });

  it('begins anew when all credits are there again: what an honest hour sent is no part of it', () => {
    const budget = new FloodBudget(100);
    for (let i = 0; i < 90; i += 1) budget.spend('WINDOW_UPDATE');
    budget.advance(1000);
    for (let i = 0; i < 101; i += 1) budget.spend('PING');
    expect(budget.account).toBe('101 PING');
  });
});

describe('what is earned', () => {
  it('200 a second, by the times of the reads', () => {
    const budget = empty();
    budget.advance(1500);
    expect(budget.credits).toBe(100);
    budget.advance(1505);
    expect(budget.credits).toBe(101);
  });

  it('nothing by a time that is not later', () => {
    const budget = empty();
    budget.advance(1000);
    budget.advance(400);
    expect(budget.credits).toBe(0);
  });

  it('20 by a call, 20 by a full DATA frame that we send, 4 by a small one, none by an empty one', () => {
    const budget = empty();
    budget.callCompleted();
    expect(budget.credits).toBe(20);
    budget.dataSent(16_384);
    expect(budget.credits).toBe(40);
    budget.dataSent(1);
    expect(budget.credits).toBe(44);
    budget.dataSent(0);
    expect(budget.credits).toBe(44);
  });

  it('20 by 16 KiB of DATA that come, in however many frames', () => {
    const budget = empty();
    budget.dataReceived(16_384, 1000, true);
    expect(budget.credits).toBe(20);
    for (let i = 0; i < 16_384; i += 1) budget.dataReceived(1, 1000, true);
    expect(budget.credits).toBeCloseTo(40);
  });

  it('nothing by DATA on a stream whose reset would be early', () => {
    const budget = empty();
    budget.dataReceived(16_384, 1000, false);
    budget.dataReceived(16_384, 0, false);
    expect(budget.credits).toBe(0);
    budget.dataReceived(16_384, -1, false);
    expect(budget.credits).toBe(20);
  });

  it('never more than the size', () => {
    const budget = empty(100);
    budget.advance(1_000_000);
    budget.callCompleted();
    budget.dataSent(16_384);
    budget.dataReceived(16_384, 0, true);
    expect(budget.credits).toBe(100);
  });
});

describe('honest peers', () => {
  it('1000 calls cancelled at once, and the 1000 after them when 30 seconds have passed', () => {
    const budget = new FloodBudget(10_000);
    for (const at of [0, 30_000]) {
      budget.advance(at);
      for (let i = 0; i < 1000; i += 1) expect(budget.spend('RST_STREAM', budget.resetCost(at, false))).toBe(true);
    }
  });

  it('C-core, reading 400 messages of 16 KB in 2 s with 760 WINDOW_UPDATE and 6 PING frames, however often, ends with what it began with', () => {
    const budget = new FloodBudget(10_000);
    for (let round = 1; round <= 100; round += 1) {
      for (let i = 0; i < 400; i += 1) budget.dataSent(16_384);
      for (let i = 0; i < 766; i += 1) expect(budget.spend('WINDOW_UPDATE')).toBe(true);
      budget.advance(round * 2000);
    }
    expect(budget.credits).toBeGreaterThan(9600);
  });

  it('small messages to and fro, at any rate, with two WINDOW_UPDATE and a PING each', () => {
    const budget = new FloodBudget(10_000);
    for (let i = 0; i < 100_000; i += 1) {
      budget.dataSent(20);
      expect(budget.spend('WINDOW_UPDATE', 3)).toBe(true);
    }
  });

  it('hedging clients that cancel three attempts for each that is answered', () => {
    const budget = new FloodBudget(10_000);
    for (let i = 0; i < 100_000; i += 1) {
      for (let loser = 0; loser < 3; loser += 1)
        expect(budget.spend('RST_STREAM', budget.resetCost(0, false))).toBe(true);
      budget.callCompleted();
    }
  });
});
