import { describe, expect, it } from 'vitest';
import type { Http2Connection, Http2Stream } from '../../../src/http2/types.js';
import { ClientMemory } from '../../../src/proxy/client-memory.js';
import { RelayPool } from '../../../src/proxy/relay-budget.js';
import { createVirtualTime } from '../../support/virtual-time.js';

function room(limit: number | null, relayLimit = 1000) {
  const time = createVirtualTime();
  const relay = new RelayPool(relayLimit);
  const memory = new ClientMemory(limit, relay, time.turn);
  const evicted: string[] = [];
  const told: string[] = [];
  /** @param look what its connection holds when asked; default: as it has said */
  const client = (name: string, look?: () => number) => {
    let said = 0;
    const share = memory.open({
      evict: (detail, unread) => void evicted.push(`${name}${unread ? ', unread' : ''}: ${detail}`),
      tell: (detail) => void told.push(`${name} ${detail}`),
      look: look ?? (() => said),
    });
    return Object.assign(share, {
      backed: (bytes: number) => {
        said = bytes;
        share.hold(bytes);
      },
    });
  };
  return { time, relay, memory, evicted, told, client };
}

describe('ClientMemory', () => {
  it('up to the limit nobody goes', () => {
    const { time, memory, evicted, client } = room(100);
    client('a').add(60);
    client('b').backed(40);
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
      client(name).backed(bytes);
    time.endTurn();
    expect(evicted.map((words) => words.slice(0, 9))).toEqual(['a, unread', 'c, unread']);
    expect(memory.total).toBe(8);
  });

  it('what is passed on, read or dropped by then counts no more', () => {
    const { time, memory, evicted, client } = room(10);
    const a = client('a');
    a.add(20);
    a.remove(15);
    a.backed(20);
    a.backed(5);
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

  it('a client that has read since its connection last spoke of it is not the one to go', () => {
    const { time, memory, evicted, client } = room(100);
    const slow = client('slow', () => 0);
    slow.hold(90);
    client('deaf').backed(40);
    time.endTurn();
    expect(evicted).toEqual([]);
    expect([slow.held, memory.total]).toEqual([0, 40]);
  });

  it('counts for the relay as well, by its own share', () => {
    const { relay, client } = room(10_000, 100);
    const [a, b] = [client('a'), client('b')];
    const given: number[] = [];
    const connection = { consume: (_stream: Http2Stream, bytes: number) => given.push(bytes) };
    const giveBack = (share: typeof a) =>
      share.giveBack(connection as unknown as Http2Connection, {} as unknown as Http2Stream, 5, 1);
    a.add(101);
    b.add(50);
    giveBack(a);
    expect(given).toEqual([]);
    giveBack(b);
    expect(given).toEqual([5]);
    expect([a.waiting, b.waiting, relay.waiting]).toEqual([101, 50, 151]);
  });

  it('--relay-buffer-limit exceeded: who has most waiting is named, once, at the end of the turn', () => {
    const { time, told, evicted, client } = room(null, 100);
    const [a, b] = [client('a'), client('b')];
    a.backed(1000);
    b.add(60);
    a.add(41);
    expect(told).toEqual([]);
    time.endTurn();
    const words =
      'has the most bytes waiting for a peer: 60 of 101 in all, more than --relay-buffer-limit; streams of its own may get no new window';
    expect(told).toEqual([`b ${words}`]);
    a.add(500);
    time.endTurn();
    expect(told).toHaveLength(1);
    a.remove(541);
    b.remove(60);
    a.add(101);
    time.endTurn();
    expect(told.map((line) => line.slice(0, 1))).toEqual(['b', 'a']);
    expect(evicted).toEqual([]);
  });
});
