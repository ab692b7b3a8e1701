import { createAlarmQueue } from '../../src/runtime/alarm-queue.js';
import type { Alarms, Clock, Turn } from '../../src/runtime/ports.js';
import { createTurn } from '../../src/runtime/turn.js';

/** A clock, alarms and a turn that move only when a test moves them. */
export interface VirtualTime {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly turn: Turn;
  /** Ends the turn: runs what was put off to its end, and what that puts off in turn. */
  endTurn(): void;
  /** Lets `ms` pass: each alarm rings at its own time, and a turn ends after each. */
  advance(ms: number): void;
  /** Lets time pass until no alarm is pending, or throws after `limit` instants at which one rang: it never ends. */
  runOut(limit?: number): void;
}

/** @param startAt milliseconds on the virtual clock; not 0 unless asked, so that no test takes an instant for a duration */
export function createVirtualTime(startAt = 1_000_000): VirtualTime {
  const queue = createAlarmQueue();
  let now = startAt;
  const drains: (() => void)[] = [];
  const turn = createTurn((drain) => {
    drains.push(drain);
  });

  function endTurn(): void {
    for (let drain = drains.shift(); drain !== undefined; drain = drains.shift()) drain();
  }

  function ringUpTo(until: number): boolean {
    if (queue.next > until) return false;
    now = Math.max(now, queue.next);
    queue.ringDue(now);
    endTurn();
    return true;
  }

  return {
    clock: { now: () => now },
    alarms: queue,
    turn,
    endTurn,
    advance(ms) {
      const until = now + ms;
      endTurn();
      while (ringUpTo(until));
      now = until;
    },
    runOut(limit = 10_000) {
      endTurn();
      for (let i = 0; i < limit; i += 1) {
        if (queue.next === Number.POSITIVE_INFINITY) return;
        ringUpTo(queue.next);
      }
      throw new Error(`virtual time: alarms are still pending after ${limit} instants`);
    },
  };
}
