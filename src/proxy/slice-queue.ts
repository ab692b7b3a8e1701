import { type Slice, SliceKeeper } from '../replay/slice.js';

/**
 * Received bytes that a peer could not take yet, in order. What waits costs about the memory that is counted: small slices
 * are gathered, and none pins a socket read much larger than itself (design §5, a slow reader's memory).
 */
export class SliceQueue {
  private keeper: SliceKeeper | null = null;
  private head: Slice | null = null;
  private tail: Slice | null = null;
  /** Where in the head the bytes not yet taken begin. */
  private at = 0;
  /** Bytes waiting. */
  bytes = 0;

  push(chunk: Uint8Array, start: number, end: number): void {
    if (end === start) return;
    this.keeper ??= new SliceKeeper();
    const tail = this.keeper.keep(this.tail, chunk, start, end);
    if (this.head === null) {
      this.head = tail;
      this.at = tail.start;
    }
    this.tail = tail;
    this.bytes += end - start;
  }

  /** Offers the slices to `take` in order, until it takes less than it was offered. Returns the bytes taken. */
  drain(take: (chunk: Uint8Array, start: number, end: number) => number): number {
    let total = 0;
    for (let slice = this.head; slice !== null; slice = this.head) {
      const taken = take(slice.chunk, this.at, slice.end);
      total += taken;
      this.at += taken;
      if (this.at < slice.end) break;
      this.head = slice.next;
      this.at = this.head?.start ?? 0;
    }
    if (this.head === null) this.tail = null;
    this.bytes -= total;
    return total;
  }

  /** Drops everything; returns the bytes dropped. */
  clear(): number {
    const dropped = this.bytes;
    this.keeper = null;
    this.head = null;
    this.tail = null;
    this.bytes = 0;
    return dropped;
  }
}
