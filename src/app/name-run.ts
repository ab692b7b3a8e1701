import type { Random } from '../runtime/ports.js';

/** A name for a run of the program, by which its calls and events are told from another run's: six letters and digits. */
export function nameRun(random: Random): string {
  return Math.floor(random.next() * 36 ** 6)
    .toString(36)
    .padStart(6, '0');
}
