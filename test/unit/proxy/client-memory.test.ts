import { describe, expect, it } from 'vitest';
import type { Http2Connection, Http2Stream } from '../../../src/http2/types.js';
import { ClientMemory } from '../../../src/proxy/client-memory.js';
import { createRelayBudget } from '../../../src/proxy/relay-budget.js';
import { createVirtualTime } from '../../support/virtual-time.js';

function room(limit: number | null) {
  const time = createVirtualTime();
  const relay = createRelayBudget(1000);
  const memory = new ClientMemory(limit, time.turn);
  const evicted: string[] = [];
  const client = (name: string) =>
    memory.open(relay, (detail, unread) => evicted.push(`${name}${unread ? ', unread' : ''}: ${detail}`));
  return { time, relay, memory, evicted, client };
}

describe('ClientMemory', () => {
  it('up to the limit nobody goes', () => {
    const { time, memory, evicted, client } = room(100);
    client('a').add(60);
    client('b').hold(40);
    time.endTurn();
    expect(memory.total).toBe(100);
    expect(evicted).toEqual([]);
  });

  it('over it the client with most goes, at the end of the turn, and no other where that is enough', () => {
    const { time, memory, evicted, client } = room(100);
    const [small, large] = [client('small'), client('large')];
    large.add(70);
    small.add(31);
    expect(evicted).toEqual([]);
    time.endTurn();
    expect(evicted).toEqual([
      'large: holds 70 bytes in memory, the most of all clients, who hold 101 together, more than --client-memory-limit permits',
    ]);
    expect(memory.total).toBe(31);
  });

  it('one after another goes, until it is enough; those whose output is unread are told apart', () => {
    const { time, memory, evicted, client } = room(10);
    for (const [name, bytes] of [
      ['a', 9],
      ['b', 5],
      ['c', 7],
      ['d', 3],
    ] as const)
      client(name).hold(bytes);
    time.endTurn();
    expect(evicted.map((words) => words.slice(0, 9))).toEqual(['a, unread', 'c, unread']);
    expect(memory.total).toBe(8);
  });

  it('what is passed on, read or dropped by then counts no more', () => {
    const { time, memory, evicted, client } = room(10);
    const a = client('a');
    a.add(20);
    a.remove(15);
    a.hold(20);
    a.hold(5);
    time.endTurn();
    expect(evicted).toEqual([]);
    expect(memory.total).toBe(10);
  });

  it('a client that is gone counts nothing, whatever its calls still say', () => {
    const { time, relay, memory, evicted, client } = room(10);
    const a = client('a');
    a.add(8);
    a.leave();
    a.leave();
    a.remove(8);
    expect(memory.total).toBe(0);
    expect(relay.waiting).toBe(0);
    client('b').add(10);
    time.endTurn();
    expect(evicted).toEqual([]);
  });

  it('is looked at anew each time that it goes over', () => {
    const { time, evicted, client } = room(10);
    client('a').add(11);
    time.endTurn();
    client('b').add(12);
    time.endTurn();
    expect(evicted.map((words) => words.slice(0, 1))).toEqual(['a', 'b']);
  });

  it('off: no limit', () => {
    const { time, evicted, client } = room(null);
    client('a').add(2 ** 50);
    time.endTurn();
    expect(evicted).toEqual([]);
  });

  it('counts for the relay budget of all calls as well', () => {
    const { relay, client } = room(10_000);
    const a = client('a');
    const given: number[] = [];
    const connection = { consume: (_stream: Http2Stream, bytes: number) => given.push(bytes) };
    a.add(1001);
    expect(a.waiting).toBe(1001);
    a.giveBack(connection as unknown as Http2Connection, { closed: false } as Http2Stream, 5);
    expect(given).toEqual([]);
    a.remove(1);
    expect(given).toEqual([5]);
    expect(relay.waiting).toBe(1000);
  });
});
