/** The first wait (ms), and how waits grow and spread. Contract, --connect-backoff-max. */
const initialDelay = 250;
const multiplier = 1.6;
const jitter = 0.2;

/**
 * How long to wait before the next connect.
 *
 * @param failures failures in a row before the one that is waited after
 * @param max milliseconds; no wait is longer, and the longest ones spread as much as the others do
 * @param random in [0, 1)
 * @returns milliseconds: 250 × 1.6^failures ± 20 %, up to `max`
 */
export function connectDelay(failures: number, max: number, random: number): number {
  const base = Math.min(initialDelay * multiplier ** failures, max / (1 + jitter));
  // The product may be a rounding error over the maximum.
  return Math.min(base * (1 - jitter + 2 * jitter * random), max);
}

/** How soon one backend may be connected to again: at once after a connection that worked, else after a growing wait. */
export class ConnectPace {
  private readonly max: number;
  private readonly random: () => number;
  /** Connects that failed in a row. */
  private failures = 0;
  /** Connections in a row that came up and ended before they were of use. */
  private useless = 0;

  /** @param max milliseconds */
  constructor(max: number, random: () => number) {
    this.max = max;
    this.random = random;
  }

  /** A connect failed and none has succeeded since. */
  get failing(): boolean {
    return this.failures > 0;
  }

  /** A connection is up. */
  connected(): void {
    this.failures = 0;
  }

  /** A connect failed. Returns the wait before the next one (ms). */
  connectFailed(): number {
    this.failures += 1;
    return connectDelay(this.failures - 1, this.max, this.random());
  }

  /**
   * A connection that had been up takes no more streams. Returns the wait before the next connect (ms): none where it had
   * been of use. A peer that accepts and closes again must not be connected to in a hot loop (BR-31): one that was of no use
   * is made good at once only the first time.
   */
  ended(useful: boolean): number {
    this.failures = 0;
    if (useful) {
      this.useless = 0;
      return 0;
    }
    this.useless += 1;
    return this.useless === 1 ? 0 : connectDelay(this.useless - 2, this.max, this.random());
  }
}
