import { maxUint31 } from './frame/kinds.js';

/**
 * What a peer may still send us, on one stream or the connection (RFC 9113 6.9). Bytes given back are announced in batches
 * of half the window: a peer never waits for less, and a small message costs no frame.
 */
export class ReceiveWindow {
  /** What the peer may send now. */
  left: number;
  /** Given back, not yet announced. */
  private owed = 0;
  private readonly batch: number;

  /**
   * @param size the window's full size
   * @param left what the peer holds at first, where that differs (before it has read our SETTINGS)
   */
  constructor(size: number, left: number) {
    this.left = left;
    this.batch = Math.max(1, size >>> 1);
  }

  /** The peer sent this much. False: it had no leave to. */
  take(bytes: number): boolean {
    this.left -= bytes;
    return this.left >= 0;
  }

  /** Gives back; returns the increment to announce now, 0 for none. */
  giveBack(bytes: number): number {
    this.owed += bytes;
    if (this.owed < this.batch) return 0;
    const increment = this.owed;
    this.owed = 0;
    this.left += increment;
    return increment;
  }
}

/** Whether a send window may grow so (RFC 9113 6.9.1: more than 2^31-1 is an error). `by` may be negative (6.9.2). */
export function mayGrow(window: number, by: number): boolean {
  return window + by <= maxUint31;
}
