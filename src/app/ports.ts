import type { ReadAsset } from '../admin/admin-state.js';
import type { Alarms, Clock, Random, Turn } from '../runtime/ports.js';

/** The outside, as the app sees it. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
  /** IP literals of this machine's interfaces, for what a name may lead to; absent: unknown. */
  readonly localAddresses?: readonly string[];
  /** The dashboard's files; absent: there are none, as when the program runs from its source. */
  readonly readAsset?: ReadAsset;
}
