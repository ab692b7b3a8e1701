import { describe, expect, it } from 'vitest';
import { createVirtualTime } from '../../support/virtual-time.js';

describe('virtual time, as the tests use it', () => {
  it('passes from alarm to alarm, each at its own time, the turn ended after each', () => {
    const time = createVirtualTime(0);
    const log: string[] = [];
    const say = (what: string) => () => log.push(`${what} ${time.clock.now()}`);
    time.alarms.set(5, () => {
      time.turn.atEnd(say('turn'));
      time.alarms.set(7, say('inner'));
    });
    time.alarms.set(9, say('outer'));
    time.advance(8);
    expect(log).toEqual(['turn 5', 'inner 7']);
    expect(time.clock.now()).toBe(8);
    time.runOut();
    expect(log).toEqual(['turn 5', 'inner 7', 'outer 9']);
    expect(time.alarms.pending).toBe(0);
  });

  it('never goes back for an alarm that was due before', () => {
    const time = createVirtualTime(100);
    const rang: number[] = [];
    time.alarms.set(50, () => rang.push(time.clock.now()));
    time.advance(0);
    expect(rang).toEqual([100]);
  });

  it('says so where alarms go on for ever', () => {
    const time = createVirtualTime();
    const again = (): void => {
      time.alarms.set(time.clock.now() + 1, again);
    };
    again();
    expect(() => time.runOut(10)).toThrow('still pending after 10 instants');
  });
});
