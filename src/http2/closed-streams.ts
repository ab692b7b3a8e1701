/** Streams remembered. A peer may have many frames under way for streams that we have reset within one round trip. */
const remembered = 2000;

/** Who ended a stream before its time. */
export const ResetBy = { us: 1, peer: 2 } as const;
export type ResetBy = (typeof ResetBy)[keyof typeof ResetBy];

/**
 * What is still known of streams that are over: frames on those that we have reset are expected for a while and ignored
 * (RFC 9113 5.1, closed); frames on others are the peer's fault.
 */
export class ClosedStreams {
  private readonly resets = new Map<number, ResetBy>();
  /** The highest id that fell out of the memory: at or below it nothing is certain. */
  private forgotten = 0;
  /** The last ids that the peer passed over when it opened a higher one (RFC 9113 5.1.1: closed, never used). */
  private skippedFrom = 0;
  private skippedTo = 0;

  /** The stream was reset or refused. */
  remember(id: number, by: ResetBy): void {
    this.resets.set(id, by);
    if (this.resets.size <= remembered) return;
    for (const oldest of this.resets.keys()) {
      this.resets.delete(oldest);
      if (oldest > this.forgotten) this.forgotten = oldest;
      return;
    }
  }

  /** Who reset this closed stream, as far as it is remembered. */
  resetBy(id: number): ResetBy | undefined {
    return this.resets.get(id);
  }

  /** Whether this closed stream may have been reset too long ago to know. */
  uncertain(id: number): boolean {
    return id <= this.forgotten;
  }

  /** The ids from `from` on and below `to` were passed over. */
  skip(from: number, to: number): void {
    this.skippedFrom = from;
    this.skippedTo = to;
  }

  wasSkipped(id: number): boolean {
    return id >= this.skippedFrom && id < this.skippedTo;
  }
}
