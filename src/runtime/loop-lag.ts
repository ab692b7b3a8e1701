import type { Timer } from './alarms.js';
import type { Clock } from './ports.js';

/** Between two looks (ms). */
const interval = 100;

/**
 * Tells ten times a second how much later than due a timer fired: what the event loop was kept from by work.
 *
 * @param tell milliseconds, at least 0
 */
export function watchLoopLag(clock: Clock, timer: Timer, tell: (late: number) => void): void {
  let due = 0;
  const wait = (): void => {
    due = clock.now() + interval;
    timer.set(interval, look);
  };
  const look = (): void => {
    tell(Math.max(0, clock.now() - due));
    wait();
  };
  wait();
}
