import { millis } from '../grpc/millis.js';
import type { Throttle } from '../policy/throttle.js';
import type { Env } from '../policy/types.js';
import type { Random } from '../runtime/ports.js';

/** What the machine is lent for one transition at a time, the same for all calls: `now` is written before each. */
export type MachineEnv = { -readonly [Key in keyof Env]: Env[Key] };

/** Once for all calls: an object for each would be a tenth of what a call that waits takes. */
export function createMachineEnv(random: Random, throttle: Pick<Throttle, 'isShut'>): MachineEnv {
  return { now: millis(0), random: () => random.next(), throttled: (debit) => throttle.isShut(debit) };
}
