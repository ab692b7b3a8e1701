import { createThrottle, type Throttle, type ThrottleLimits } from '../policy/throttle.js';

/**
 * The throttle itself, standing at a level of its life that is not its beginning.
 *
 * @param limits null: nothing throttles
 * @param milliTokens null: full; else from 0 to the maximum
 */
export function throttleAt(limits: ThrottleLimits | null, milliTokens: number | null): Throttle {
  const throttle = createThrottle(limits);
  if (limits === null || milliTokens === null) return throttle;
  // Led there by its own rules: emptied, then given one credit of just that size.
  for (let left = limits.maxMilliTokens; left > 0; left -= 1000) throttle.count('failure');
  throttle.configure({ ...limits, milliTokensPerSuccess: milliTokens });
  throttle.count('success');
  throttle.configure(limits);
  return throttle;
}
