interface Slice {
  readonly chunk: Uint8Array;
  start: number;
  readonly end: number;
}

/** Received bytes that a peer could not take yet, in order. Empty nearly always, so that its array is made on need. */
export class SliceQueue {
  private slices: Slice[] | null = null;
  private head = 0;
  /** Bytes waiting. */
  bytes = 0;

  push(chunk: Uint8Array, start: number, end: number): void {
    if (end === start) return;
    this.slices ??= [];
    this.slices.push({ chunk, start, end });
    this.bytes += end - start;
  }

  /** Offers the slices to `take` in order, until it takes less than it was offered. Returns the bytes taken. */
  drain(take: (chunk: Uint8Array, start: number, end: number) => number): number {
    const { slices } = this;
    if (slices === null) return 0;
    let total = 0;
    for (let slice = slices[this.head]; slice !== undefined; slice = slices[this.head]) {
      const taken = take(slice.chunk, slice.start, slice.end);
      total += taken;
      slice.start += taken;
      if (slice.start < slice.end) break;
      this.head += 1;
    }
    if (this.head === slices.length) {
      this.slices = null;
      this.head = 0;
    } else if (this.head > 64) {
      // Keeps a stream that never quite catches up from holding every slice it ever had.
      slices.splice(0, this.head);
      this.head = 0;
    }
    this.bytes -= total;
    return total;
  }

  /** Drops everything; returns the bytes dropped. */
  clear(): number {
    const dropped = this.bytes;
    this.slices = null;
    this.head = 0;
    this.bytes = 0;
    return dropped;
  }
}
