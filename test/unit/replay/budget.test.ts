import { describe, expect, it } from 'vitest';
import { createReplayBudget } from '../../../src/replay/budget.js';

describe('a replay budget', () => {
  it('BUF-06: takes exactly its limit, and not a byte more', () => {
    const budget = createReplayBudget(10, 'total', null);
    expect(budget.reserve(10)).toBeNull();
    expect(budget.reserve(1)).toBe('total');
    expect(budget.held).toBe(10);
  });

  it('reserves all or nothing, in every limit above as well', () => {
    const total = createReplayBudget(10, 'total', null);
    const first = createReplayBudget(8, 'client', total);
    const second = createReplayBudget(8, 'client', total);
    expect(first.reserve(6)).toBeNull();
    expect(second.reserve(6)).toBe('total');
    expect([first.held, second.held, total.held]).toEqual([6, 0, 6]);
    expect(second.reserve(4)).toBeNull();
    expect([first.held, second.held, total.held]).toEqual([6, 4, 10]);
  });

  it('names the nearest limit where several would be passed', () => {
    const total = createReplayBudget(5, 'total', null);
    const client = createReplayBudget(5, 'client', total);
    expect(client.reserve(6)).toBe('client');
    expect(total.held).toBe(0);
  });

  it('tells the room under every limit', () => {
    const total = createReplayBudget(10, 'total', null);
    const first = createReplayBudget(8, 'client', total);
    const second = createReplayBudget(8, 'client', total);
    expect(first.room).toBe(8);
    first.reserve(6);
    expect(first.room).toBe(2);
    expect(second.room).toBe(4);
    expect(total.room).toBe(4);
  });

  it('falls back on release, here and above, and remembers the peak', () => {
    const total = createReplayBudget(10, 'total', null);
    const client = createReplayBudget(10, 'client', total);
    client.reserve(7);
    client.release(5);
    client.reserve(1);
    expect([client.held, client.peak]).toEqual([3, 7]);
    expect([total.held, total.peak]).toEqual([3, 7]);
  });

  it('a release of more than is held is a defect, and says so', () => {
    const budget = createReplayBudget(10, 'client', null);
    budget.reserve(2);
    expect(() => budget.release(3)).toThrow('3 bytes released where 2 are held (client)');
    expect(budget.held).toBe(2);
  });
});
