/** Length of a message's prefix: one byte of flags, four of length (gRPC PROTOCOL-HTTP2, Length-Prefixed-Message). */
const prefixLength = 5;

/** Takes bytes [start, end) of `chunk`. */
export type PassOn = (chunk: Uint8Array, start: number, end: number) => void;

/**
 * Passes on the messages of one direction of a call, whole prefixes first looked at, until one announces more bytes than are
 * allowed: of that one nothing is passed on (CFG-86). Bodies are cut through as they come.
 */
export class MessageLimit {
  private readonly most: number;
  /** The prefix that is under way, and how much of it has come; kept back until it is whole. */
  private readonly prefix = new Uint8Array(prefixLength);
  private seen = 0;
  /** Bytes of the current body still to come. */
  private rest = 0;
  /** What the message that was too large announced, in bytes; null while none was. */
  refused: number | null = null;

  /** @param most bytes of one message without its prefix; 0 allows only empty ones */
  constructor(most: number) {
    this.most = most;
  }

  /** Passes on what may be; false once a message was too large. */
  pass(chunk: Uint8Array, start: number, end: number, passOn: PassOn): boolean {
    if (this.refused !== null) return false;
    let at = start;
    while (at < end) {
      if (this.rest > 0) {
        const body = Math.min(this.rest, end - at);
        this.rest -= body;
        at += body;
        continue;
      }
      const kept = this.seen;
      const here = Math.min(prefixLength - kept, end - at);
      this.prefix.set(chunk.subarray(at, at + here), kept);
      this.seen += here;
      if (this.seen < prefixLength) {
        // Kept back: what follows decides whether it may go.
        if (at > start) passOn(chunk, start, at);
        return true;
      }
      const length = this.announced();
      if (length > this.most) {
        if (at > start) passOn(chunk, start, at);
        this.refused = length;
        return false;
      }
      if (kept > 0) passOn(this.prefix.slice(0, kept), 0, kept);
      this.seen = 0;
      this.rest = length;
      at += here;
    }
    if (end > start) passOn(chunk, start, end);
    return true;
  }

  /** The bytes of a prefix that was never finished: they came, so they go. Nothing comes after them. */
  flush(passOn: PassOn): void {
    const { seen } = this;
    this.seen = 0;
    if (seen > 0) passOn(this.prefix, 0, seen);
  }

  /** Multiplied up, not shifted: lengths reach 2^32 - 1. */
  private announced(): number {
    let length = 0;
    for (let i = 1; i < prefixLength; i += 1) length = length * 256 + (this.prefix[i] as number);
    return length;
  }
}
