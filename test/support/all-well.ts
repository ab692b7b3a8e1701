import type { HealthView } from '../../src/balance/types.js';

/** The health of a pool whose backends are never judged: everyone is clean. */
export const allWell: HealthView = {
  calm: true,
  standing: () => 'clean',
  parkedUntil: () => 0,
  mayProbe: () => false,
};
