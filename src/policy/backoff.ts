import { type Millis, millis } from '../grpc/millis.js';
import type { RetryPlan } from './types.js';

/**
 * The wait before a retry: `min(initialBackoff × multiplier^(n-1), maxBackoff) × (0.8 + 0.4 × random)` (A6, Exponential
 * Backoff). The maximum binds the first wait too (CFG-45); jitter may go a fifth over it (SM-17). A growth past what a
 * number can hold is Infinity, which the maximum tames (CFG-49).
 *
 * @param plan all three above 0
 * @param n the how manieth wait since the start or the last pushback, from 1
 * @param random in [0, 1)
 * @returns finite, never negative, in [0.8, 1.2) of the capped base
 */
export function backoffDelay(
  plan: Pick<RetryPlan, 'initialBackoff' | 'maxBackoff' | 'multiplier'>,
  n: number,
  random: number,
): Millis {
  const base = Math.min(plan.initialBackoff * plan.multiplier ** (n - 1), plan.maxBackoff);
  return millis(base * (0.8 + 0.4 * random));
}
