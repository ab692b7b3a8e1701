import type { Alarms, Clock, Random, Turn } from '../runtime/ports.js';

/** The outside, as the app sees it. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
  /** IP literals of this machine's interfaces, for what a name may lead to; absent: unknown. */
  readonly localAddresses?: readonly string[];
}
