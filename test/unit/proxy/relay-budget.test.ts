import { describe, expect, it } from 'vitest';
import type { Http2Connection, Http2Stream } from '../../../src/http2/types.js';
import { createRelayBudget } from '../../../src/proxy/relay-budget.js';

function fakeConnection() {
  const given: number[] = [];
  const connection = {
    consume: (_stream: Http2Stream, bytes: number) => given.push(bytes),
  } as unknown as Http2Connection;
  return { connection, given };
}

const open = { closed: false } as Http2Stream;
const closed = { closed: true } as Http2Stream;

describe('RelayBudget', () => {
  it('gives window back at once up to and at the limit', () => {
    const { connection, given } = fakeConnection();
    const budget = createRelayBudget(10);
    budget.add(10);
    budget.giveBack(connection, open, 5);
    expect(given).toEqual([5]);
  });

  it('holds window back over the limit and pays it when the sum has fallen to it', () => {
    const { connection, given } = fakeConnection();
    const budget = createRelayBudget(10);
    budget.add(11);
    budget.giveBack(connection, open, 5);
    budget.giveBack(connection, open, 6);
    expect(given).toEqual([]);
    budget.remove(1);
    // One debt a stream, however many frames made it.
    expect(given).toEqual([11]);
    expect(budget.waiting).toBe(10);
  });

  it('pays nothing to a stream that has closed meanwhile', () => {
    const { connection, given } = fakeConnection();
    const budget = createRelayBudget(0);
    budget.add(1);
    budget.giveBack(connection, closed, 5);
    budget.remove(1);
    expect(given).toEqual([]);
  });
});
