/** Length of a message's prefix: one byte of flags, four of length (gRPC PROTOCOL-HTTP2, Length-Prefixed-Message). */
export const prefixLength = 5;

/** Follows the messages in one direction of a call by their prefixes alone: bodies are neither looked at nor kept. */
export interface MessageScanner {
  /** Takes the next bytes, [start, end) of `chunk`, however they were cut. */
  scan(chunk: Uint8Array, start: number, end: number): void;
  /** Messages seen whole. */
  readonly messages: number;
  /** Whether a message has begun and not ended. */
  readonly midMessage: boolean;
  /** The greatest length that a prefix declared, in bytes without the prefix; known before the body comes (PRX-09). */
  readonly largest: number;
}

export function createMessageScanner(): MessageScanner {
  return new Scanner();
}

class Scanner implements MessageScanner {
  messages = 0;
  largest = 0;
  /** Bytes of the current prefix seen, 0 to 4; 0 while in a body. */
  private prefix = 0;
  /** The length as far as the prefix has told it. */
  private length = 0;
  /** Bytes of the current body still to come. */
  private rest = 0;

  get midMessage(): boolean {
    return this.prefix > 0 || this.rest > 0;
  }

  scan(chunk: Uint8Array, start: number, end: number): void {
    let at = start;
    while (at < end) {
      if (this.rest > 0) {
        const taken = Math.min(this.rest, end - at);
        this.rest -= taken;
        at += taken;
        if (this.rest === 0) this.messages += 1;
        continue;
      }
      if (this.prefix > 0) this.length = this.length * 256 + (chunk[at] as number);
      this.prefix += 1;
      at += 1;
      if (this.prefix === prefixLength) this.begin();
    }
  }

  /** The prefix is whole. Multiplied up, not shifted: lengths reach 2^32 - 1. */
  private begin(): void {
    const { length } = this;
    this.prefix = 0;
    this.length = 0;
    this.rest = length;
    if (length > this.largest) this.largest = length;
    if (length === 0) this.messages += 1;
  }
}
