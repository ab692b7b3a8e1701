import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAlarms, createNodeTimer, type Timer } from '../../../src/runtime/alarms.js';

/** A host with one timer that fires `early` ms too soon, and counts how often it was set. */
class Host implements Timer {
  time = 1000;
  sets = 0;
  early = 0;
  private at = Number.POSITIVE_INFINITY;
  private fire: () => void = () => {};
  readonly now = (): number => this.time;

  set(ms: number, fire: () => void): void {
    expect(Number.isInteger(ms) && ms >= 1 && ms <= 2 ** 31 - 1).toBe(true);
    this.sets += 1;
    this.at = this.time + ms - this.early;
    this.fire = fire;
  }

  pass(ms: number): void {
    const until = this.time + ms;
    while (this.at <= until) {
      this.time = Math.max(this.time, this.at);
      this.at = Number.POSITIVE_INFINITY;
      this.fire();
    }
    this.time = until;
  }
}

describe('alarms on one timer', () => {
  it('ring at their time, rounded up to the timer’s milliseconds', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    alarms.set(1000.2, () => rang.push(host.time));
    alarms.set(1010, () => rang.push(host.time));
    host.pass(20);
    expect(rang).toEqual([1001, 1010]);
  });

  it('do not ring early on a host whose timer does', () => {
    const host = new Host();
    host.early = 0.95;
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    alarms.set(1005.1, () => rang.push(host.time));
    host.pass(20);
    expect(rang).toHaveLength(1);
    expect(rang[0]).toBeGreaterThanOrEqual(1005.1);
    expect(rang[0]).toBeLessThan(1007);
    expect(host.sets).toBeGreaterThan(1);
  });

  it('an alarm that is due already rings on the next tick, not at once', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: string[] = [];
    alarms.set(500, () => rang.push('past'));
    alarms.set(1000, () => rang.push('now'));
    expect(rang).toEqual([]);
    host.pass(1);
    expect(rang).toEqual(['past', 'now']);
  });

  it('an earlier alarm moves the timer, a later one does not', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    const ring = (): number => rang.push(host.time);
    alarms.set(1500, ring);
    alarms.set(1600, ring);
    expect(host.sets).toBe(1);
    alarms.set(1200, ring);
    expect(host.sets).toBe(2);
    host.pass(1000);
    expect(rang).toEqual([1200, 1500, 1600]);
  });

  it('a thousand calls that set and cancel a deadline touch the timer once', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    for (let i = 0; i < 1000; i += 1) {
      const handle = alarms.set(host.time + 5000, () => expect.unreachable('cancelled alarms do not ring'));
      host.pass(0.5);
      alarms.cancel(handle);
    }
    expect(host.sets).toBe(1);
    expect(alarms.pending).toBe(0);
    host.pass(20_000);
    expect(host.sets).toBe(1);
  });

  it('an alarm cancelled before its time leaves the others theirs', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    const first = alarms.set(1100, () => expect.unreachable('it was cancelled'));
    alarms.set(1200, () => rang.push(host.time));
    alarms.cancel(first);
    host.pass(500);
    expect(rang).toEqual([1200]);
  });

  it('waits longer than a timer can are made of several', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    const span = 5 * 2 ** 31;
    alarms.set(1000 + span, () => rang.push(host.time));
    host.pass(span - 1);
    expect(rang).toEqual([]);
    host.pass(1);
    expect(rang).toEqual([1000 + span]);
  });

  it('an alarm at infinity never rings and sets no timer', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    alarms.set(Number.POSITIVE_INFINITY, () => expect.unreachable('never'));
    expect(host.sets).toBe(0);
    expect(alarms.pending).toBe(1);
  });

  it('one that rings may set the next', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    const again = (): void => {
      rang.push(host.time);
      if (rang.length < 4) alarms.set(host.time + 10, again);
    };
    alarms.set(1010, again);
    host.pass(100);
    expect(rang).toEqual([1010, 1020, 1030, 1040]);
    expect(alarms.pending).toBe(0);
  });

  it('go on after one that throws', () => {
    const host = new Host();
    const alarms = createAlarms(host, host);
    const rang: number[] = [];
    alarms.set(1010, () => {
      throw new Error('a defect');
    });
    alarms.set(1010, () => rang.push(host.time));
    alarms.set(1020, () => rang.push(host.time));
    expect(() => host.pass(15)).toThrow('a defect');
    host.pass(15);
    expect(rang).toEqual([1010, 1020]);
  });
});

describe('Node’s timer', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('setting replaces what was set', () => {
    const fired: string[] = [];
    const timer = createNodeTimer();
    timer.set(100, () => fired.push('first'));
    timer.set(50, () => fired.push('second'));
    vi.advanceTimersByTime(1000);
    expect(fired).toEqual(['second']);
  });

  it('does not keep the process alive', () => {
    const made = vi.spyOn(globalThis, 'setTimeout');
    createNodeTimer().set(100, () => {});
    expect(made.mock.results[0]?.value.hasRef()).toBe(false);
  });
});
