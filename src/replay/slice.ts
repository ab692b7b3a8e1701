/**
 * Bytes [start, end) of a chunk, and what comes after them. A list of these is a request: a reader is a place in it, and
 * what no reader is at or before is garbage.
 */
export interface Slice {
  readonly chunk: Uint8Array;
  readonly start: number;
  /** Grows while later bytes are put right behind it. */
  end: number;
  next: Slice | null;
}

/** A chunk up to this size may be pinned by a slice of any size: a call's own state is no smaller. Bytes. */
const smallChunk = 4096;
/** A slice is copied where the memory behind its chunk is more than this many times its size. */
const worstPin = 4;
/** Slices up to this size are gathered in blocks rather than given memory of their own. Bytes. */
const smallSlice = 1024;
/** A call's second block and later ones double up to this size. Bytes. */
const largestBlock = 16_384;

/**
 * Where copies of first slices lie, those of many calls in one block: no allocation per call, and no call pins more than
 * `smallChunk` bytes of others'. Never written twice.
 */
let shared = new Uint8Array(0);
let sharedUsed = 0;

/** Decides for each slice of one call whether it is kept where it is or copied. */
export class SliceKeeper {
  /** A block of the call's own, for small slices after the first. */
  private block: Uint8Array | null = null;
  private used = 0;

  /**
   * Keeps [start, end) of `chunk` behind `tail`. Returns the new tail, which is `tail` itself where that could grow.
   * Without copies a call that waits would pin a whole socket read for each small message, and a slice object for each byte
   * of a client that sends them one by one: many times what the limits count.
   */
  keep(tail: Slice | null, chunk: Uint8Array, start: number, end: number): Slice {
    const size = end - start;
    if (tail !== null && size <= smallSlice) return this.gather(tail, chunk, start, end);
    const behind = chunk.buffer.byteLength;
    if (behind <= smallChunk || size * worstPin >= behind) return append(tail, chunk, start, end);
    if (size > smallSlice) {
      const own = new Uint8Array(size);
      own.set(chunk.subarray(start, end));
      return append(tail, own, 0, size);
    }
    if (sharedUsed + size > shared.length) {
      shared = new Uint8Array(smallChunk);
      sharedUsed = 0;
    }
    const at = sharedUsed;
    sharedUsed = copy(chunk, start, end, shared, at);
    return append(tail, shared, at, sharedUsed);
  }

  private gather(tail: Slice, chunk: Uint8Array, start: number, end: number): Slice {
    const size = end - start;
    let { block } = this;
    if (block === null || this.used + size > block.length) {
      block = new Uint8Array(block === null ? smallSlice : Math.min(block.length * 2, largestBlock));
      this.block = block;
      this.used = 0;
    }
    const at = this.used;
    this.used = copy(chunk, start, end, block, at);
    if (tail.chunk === block) {
      tail.end = this.used;
      return tail;
    }
    return append(tail, block, at, this.used);
  }
}

function append(tail: Slice | null, chunk: Uint8Array, start: number, end: number): Slice {
  const slice: Slice = { chunk, start, end, next: null };
  if (tail !== null) tail.next = slice;
  return slice;
}

/** Returns the offset after the copied bytes. By hand where that is faster than a view for `set`, as measured up to 64 bytes. */
function copy(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  if (end - start > 64) {
    to.set(from.subarray(start, end), at);
    return at + end - start;
  }
  let offset = at;
  for (let i = start; i < end; i += 1, offset += 1) to[offset] = from[i] as number;
  return offset;
}
