import { WireTally } from './wire-tally.js';

/**
 * The size of a connection's first block, and the most one grows to unless more is asked for at once (bytes). The first is
 * for SETTINGS and their answer, and what is left of it is not worth keeping.
 */
const firstBlock = 256;
const lastBlock = 32 * 1024;
/** A block with less room than this left is not begun again after `take`. */
const worthKeeping = 256;
/**
 * A payload up to this many bytes is copied behind its frame header, a longer one goes out as a slice of its own. A slice
 * costs two more buffers in the gathered write; measured on loopback, one frame a write and eight, copying is cheaper up to
 * about here (512 bytes: 0.59 against 0.72 µs a frame; 2 KiB: the same; 16 KiB: 7.3 against 4.9 µs).
 */
export const copyLimit = 2 * 1024;
/** Below this a byte loop beats the typed-array call, which needs a view of the source. */
const loopLimit = 96;

/**
 * A connection's pending output. Frames are written one behind the other into blocks; `take` hands out the written parts.
 * The rest of a block is filled further, so that one block serves many turns; bytes handed out are never written again,
 * because the socket may still hold them.
 */
export class Outbox {
  /** Write frames here, from `at` on, after `reserve`; move `at` past them. */
  block: Uint8Array = Buffer.alloc(0);
  at = 0;
  /** Where in the block the bytes not yet handed out begin. */
  private from = 0;
  private nextBlock = firstBlock;
  private parts: Uint8Array[] = [];
  private partBytes = 0;
  /** Counts the frames that are written. */
  readonly tally: WireTally;

  constructor(tally: WireTally = new WireTally()) {
    this.tally = tally;
  }

  /** Bytes waiting. */
  get bytes(): number {
    return this.partBytes + this.at - this.from;
  }

  /** Makes room for `bytes` in one piece at `at`. */
  reserve(bytes: number): void {
    if (this.block.length - this.at >= bytes) return;
    this.cut();
    this.block = Buffer.allocUnsafeSlow(Math.max(this.nextBlock, bytes));
    this.nextBlock = Math.min(this.nextBlock * 2, lastBlock);
    this.at = 0;
    this.from = 0;
  }

  /** Appends the bytes [start, end) of `chunk`: a copy of few, a slice of many. The chunk must not change until written. */
  append(chunk: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (length > copyLimit) {
      this.cut();
      this.parts.push(chunk.subarray(start, end));
      this.partBytes += length;
      return;
    }
    this.reserve(length);
    const { block } = this;
    if (length > loopLimit) {
      block.set(chunk.subarray(start, end), this.at);
    } else {
      // The indexes are in range: `reserve` made the room, the caller vouches for the chunk.
      for (let from = start, to = this.at; from < end; from += 1, to += 1) block[to] = chunk[from] as number;
    }
    this.at += length;
  }

  /** Everything that waits, in order. The caller owns it. */
  take(): Uint8Array[] {
    this.cut();
    const taken = this.parts;
    this.parts = [];
    this.partBytes = 0;
    if (this.block.length - this.at < worthKeeping) {
      this.block = none;
      this.at = 0;
      this.from = 0;
    }
    return taken;
  }

  /** Closes the part of the block that has been written. */
  private cut(): void {
    if (this.at === this.from) return;
    this.parts.push(this.block.subarray(this.from, this.at));
    this.partBytes += this.at - this.from;
    this.from = this.at;
  }
}

const none: Uint8Array = Buffer.alloc(0);
