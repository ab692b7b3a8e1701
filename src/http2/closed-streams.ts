/** Who ended a stream before its time. */
export const ResetBy = { us: 1, peer: 2 } as const;
export type ResetBy = (typeof ResetBy)[keyof typeof ResetBy];

/** What may still be under way on a stream: nothing, as the peer knows that it is over. */
const nothing = -1;

/** One stream that is over. */
interface PastStream {
  readonly by: ResetBy;
  /** Bytes of DATA that the peer may have sent before it heard of the end; `nothing` when none can be. */
  window: number;
  /** Header blocks likewise. */
  blocks: number;
  /** How many PINGs we had sent by then: when one after them is answered, the peer has heard. */
  readonly pings: number;
}

const resetByPeer: PastStream = { by: ResetBy.peer, window: nothing, blocks: 0, pings: 0 };
const resetByUs: PastStream = { by: ResetBy.us, window: nothing, blocks: 0, pings: 0 };

/**
 * What is still known of streams that are over: frames on those that we have reset are expected for a while and ignored
 * (RFC 9113 5.1, closed); frames on others are the peer's fault.
 */
export class ClosedStreams {
  private readonly resets = new Map<number, PastStream>();
  private readonly most: number;
  /** The highest id that fell out of the memory: at or below it nothing is certain. */
  private forgotten = 0;
  /** The last ids that the peer passed over when it opened a higher one (RFC 9113 5.1.1: closed, never used). */
  private skippedFrom = 0;
  private skippedTo = 0;

  /** @param most streams remembered: a peer may have frames under way for many that we have reset within one round trip */
  constructor(most: number) {
    this.most = most;
  }

  /** The stream was reset or refused, and the peer has nothing under way on it that it could not know of. */
  remember(id: number, by: ResetBy): void {
    this.put(id, by === ResetBy.us ? resetByUs : resetByPeer);
  }

  /**
   * We have reset the stream while the peer could still send.
   *
   * @param window bytes of DATA that it may send by the windows we gave it
   * @param blocks header blocks that it may send
   * @param pings how many PINGs we have sent so far on this connection
   */
  rememberOpen(id: number, window: number, blocks: number, pings: number): void {
    this.put(id, window < 0 ? resetByUs : { by: ResetBy.us, window, blocks, pings });
  }

  /** Who reset this closed stream, as far as it is remembered. */
  resetBy(id: number): ResetBy | undefined {
    return this.resets.get(id)?.by;
  }

  /**
   * Whether this DATA was under way before the peer could know of our reset. Takes it off what may come.
   *
   * @param size bytes that count against the window
   * @param empty nothing but padding, if that
   * @param pings how many of our PINGs are answered
   */
  expectsData(id: number, size: number, empty: boolean, endStream: boolean, pings: number): boolean {
    const past = this.resets.get(id);
    if (past === undefined || past.window < 0 || pings > past.pings || (empty && !endStream)) return false;
    past.window = endStream ? nothing : past.window - size;
    return endStream || past.window >= 0;
  }

  /** The same for a header block. */
  expectsHeaders(id: number, endStream: boolean, pings: number): boolean {
    const past = this.resets.get(id);
    if (past === undefined || past.window < 0 || pings > past.pings || past.blocks === 0) return false;
    past.blocks -= 1;
    if (endStream) past.window = nothing;
    return true;
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

  private put(id: number, past: PastStream): void {
    this.resets.set(id, past);
    if (this.resets.size <= this.most) return;
    for (const oldest of this.resets.keys()) {
      this.resets.delete(oldest);
      if (oldest > this.forgotten) this.forgotten = oldest;
      return;
    }
  }
}
