import { type AlarmQueue, createAlarmQueue } from './alarm-queue.js';
import { nodeClock } from './clock.js';
import type { Alarms, Clock } from './ports.js';

/** One timer of the host. */
export interface Timer {
  /** Fires once, about `ms` from now and never synchronously. Replaces what was set before. @param ms a whole number in [1, 2^31 - 1] */
  set(ms: number, fire: () => void): void;
}

/** The most that a host's timer takes: beyond it Node's fires at once (PRX-22). */
const longest = 2_147_483_647;

/**
 * Any number of alarms on one timer. Cancelling leaves the timer as it is, and setting moves it only to an earlier time:
 * where each call sets and cancels a deadline, the timer is touched once a deadline's length, not once a call.
 */
export function createAlarms(clock: Clock, timer: Timer): Alarms {
  const queue: AlarmQueue = createAlarmQueue();
  /** When the timer fires; Infinity while it is not set. */
  let armedFor = Number.POSITIVE_INFINITY;

  function arm(): void {
    const { next } = queue;
    if (next >= armedFor) return;
    armedFor = next;
    // Rounded up: an alarm rings late rather than early.
    timer.set(Math.min(Math.max(Math.ceil(next - clock.now()), 1), longest), fire);
  }

  function fire(): void {
    armedFor = Number.POSITIVE_INFINITY;
    try {
      // Hosts fire up to a millisecond early, and a long wait in several parts: what is not due stays.
      queue.ringDue(clock.now());
    } finally {
      arm();
    }
  }

  return {
    set(at, ring) {
      const handle = queue.set(at, ring);
      if (at < armedFor) arm();
      return handle;
    },
    cancel(handle) {
      queue.cancel(handle);
    },
    get pending() {
      return queue.pending;
    },
  };
}

/** Node's timer. It does not keep the process alive: sockets do. */
export function createNodeTimer(): Timer {
  let timeout: NodeJS.Timeout | undefined;
  return {
    set(ms, fire) {
      clearTimeout(timeout);
      timeout = setTimeout(fire, ms).unref();
    },
  };
}

/** Alarms by Node's clock. */
export function createNodeAlarms(): Alarms {
  return createAlarms(nodeClock, createNodeTimer());
}
