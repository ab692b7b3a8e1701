import { describe, expect, it } from 'vitest';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { baseOf, type History, remember, since } from '../../../src/dashboard/history.js';
import { snapshot } from './live.js';

/** So many seconds after the program's start. */
function after(seconds: number, rest: Partial<LiveSnapshot> = {}): LiveSnapshot {
  return snapshot({ uptime_ms: seconds * 1000, ...rest });
}

function historyOf(...seconds: readonly number[]): History {
  return seconds.reduce<History>((history, at) => remember(history, after(at)), []);
}

function secondsOf(history: History): number[] {
  return history.map(({ uptime_ms }) => uptime_ms / 1000);
}

describe('remember()', () => {
  it('keeps ten minutes and no more', () => {
    expect(secondsOf(historyOf(10, 11, 400, 610, 611))).toEqual([11, 400, 610, 611]);
  });

  it('forgets another run: its totals are others', () => {
    const history = remember(historyOf(10, 11), after(1, { instance: 'run2' }));
    expect(history.map(({ instance }) => instance)).toEqual(['run2']);
  });

  it('takes a snapshot that is no later in place of those after it', () => {
    expect(secondsOf(historyOf(10, 11, 12, 11))).toEqual([10, 11]);
  });
});

describe('since()', () => {
  it('is the oldest of the last so many ms', () => {
    const history = historyOf(100, 105, 110, 115);
    expect(since(history, 10_000)?.uptime_ms).toBe(105_000);
    expect(since(history, 60_000)?.uptime_ms).toBe(100_000);
  });

  it('is null where there is no other than the last', () => {
    expect(since([], 1000)).toBeNull();
    expect(since(historyOf(100), 60_000)).toBeNull();
    expect(since(historyOf(100, 115), 10_000)).toBeNull();
  });
});

describe('baseOf()', () => {
  it('is five minutes ago, as far as they are known', () => {
    expect(baseOf(historyOf(400, 450, 700, 720))?.uptime_ms).toBe(450_000);
    expect(baseOf(historyOf(1000, 1010))?.uptime_ms).toBe(1_000_000);
  });

  it('is the start of a program that is younger, and of one of which less than 10 s are known', () => {
    expect(baseOf([])).toBeNull();
    expect(baseOf(historyOf(10, 200, 300))).toBeNull();
    expect(baseOf(historyOf(1000))).toBeNull();
    expect(baseOf(historyOf(1000, 1009))).toBeNull();
  });
});
