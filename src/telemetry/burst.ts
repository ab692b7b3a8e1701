/** Lets through so many a window, and counts the rest: a scanner must not fill a disk. */
export interface Burst {
  /**
   * Whether one more may pass at `now` (ms).
   * @returns null to hold it back, else how many were held back since the last one that passed
   */
  take(now: number): number | null;
}

/**
 * @param most per window, at least 1
 * @param window ms
 */
export function createBurst(most: number, window: number): Burst {
  let windowEnd = Number.NEGATIVE_INFINITY;
  let passed = 0;
  let held = 0;
  return {
    take(now) {
      if (now >= windowEnd) {
        windowEnd = now + window;
        passed = 0;
      }
      if (passed >= most) {
        held += 1;
        return null;
      }
      passed += 1;
      const before = held;
      held = 0;
      return before;
    },
  };
}
