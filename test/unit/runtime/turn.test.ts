import { describe, expect, it } from 'vitest';
import type { Turn } from '../../../src/runtime/ports.js';
import { createPace, createTurn, nodeTurn } from '../../../src/runtime/turn.js';

/** A turn whose end the test calls; `asked` counts how often the host was asked for one. */
function byHand(): { turn: Turn; end: () => void; asked: () => number } {
  const drains: (() => void)[] = [];
  let asked = 0;
  const turn = createTurn((drain) => {
    asked += 1;
    drains.push(drain);
  });
  return { turn, end: () => drains.shift()?.(), asked: () => asked };
}

describe('the end of a turn', () => {
  it('runs all tasks of the turn in order, on one request to the host', () => {
    const { turn, end, asked } = byHand();
    const log: string[] = [];
    for (const name of ['a', 'b', 'c']) turn.atEnd(() => log.push(name));
    expect(log).toEqual([]);
    expect(asked()).toBe(1);
    end();
    expect(log).toEqual(['a', 'b', 'c']);
    end();
    expect(log).toEqual(['a', 'b', 'c']);
  });

  it('runs what a task asks for in the same drain, after what was asked before', () => {
    const { turn, end, asked } = byHand();
    const log: string[] = [];
    turn.atEnd(() => {
      log.push('a');
      turn.atEnd(() => log.push('from a'));
    });
    turn.atEnd(() => log.push('b'));
    end();
    expect(log).toEqual(['a', 'b', 'from a']);
    expect(asked()).toBe(1);
  });

  it('asks the host again for the next turn', () => {
    const { turn, end, asked } = byHand();
    const log: string[] = [];
    turn.atEnd(() => log.push('a'));
    end();
    turn.atEnd(() => log.push('b'));
    expect(asked()).toBe(2);
    end();
    expect(log).toEqual(['a', 'b']);
  });

  it('a chain of tasks without end lets the sockets be read every 16 rounds', () => {
    const { turn, end, asked } = byHand();
    let rounds = 0;
    const again = (): void => {
      rounds += 1;
      turn.atEnd(again);
    };
    turn.atEnd(again);
    end();
    expect([rounds, asked()]).toEqual([16, 2]);
    turn.atEnd(() => {});
    expect(asked()).toBe(2);
    end();
    expect([rounds, asked()]).toEqual([32, 3]);
  });

  it('a task that throws stops no other; the first error comes out, and the next turn is as ever', () => {
    const { turn, end } = byHand();
    const log: string[] = [];
    turn.atEnd(() => {
      throw new Error('one');
    });
    turn.atEnd(() => {
      throw new Error('two');
    });
    turn.atEnd(() => log.push('a'));
    let thrown: unknown;
    try {
      end();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toEqual(new Error('one'));
    expect(log).toEqual(['a']);
    turn.atEnd(() => log.push('b'));
    end();
    expect(log).toEqual(['a', 'b']);
  });

  it('on Node comes after the code that runs now, and its microtasks', async () => {
    const log: string[] = [];
    const ended = new Promise<void>((resolve) => {
      nodeTurn.atEnd(() => log.push('end of turn'));
      nodeTurn.atEnd(resolve);
    });
    log.push('now');
    queueMicrotask(() => log.push('microtask'));
    await ended;
    expect(log).toEqual(['now', 'microtask', 'end of turn']);
  });
});

it('a pace gives each of its callers a turn of its own, in order', async () => {
  const turns: (() => void)[] = [];
  const pace = createPace((go) => turns.push(go));
  const log: string[] = [];
  const all = ['a', 'b', 'c'].map((name) => pace().then(() => log.push(name)));
  for (const so of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await flushed();
    expect(turns.length).toBe(1);
    turns.shift()?.();
    await flushed();
    expect(log).toEqual(so);
  }
  await Promise.all(all);
});

/** What is resolved has been told. */
async function flushed(): Promise<void> {
  for (let at = 0; at < 10; at += 1) await Promise.resolve();
}
