import type { Random } from './ports.js';

/** For spreading load, not for secrets. */
export const nodeRandom: Random = {
  next: Math.random,
};
