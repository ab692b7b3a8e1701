/**
 * A header block in several frames: HEADERS, then CONTINUATION with nothing in between (RFC 9113 6.10). Blocks in one frame
 * never come here. It must be kept whole, even when it is larger than the limit, because HPACK has to see all of it; the
 * limit of frames bounds it.
 */
export class HeaderBlock {
  /** Of the block under way, else 0. */
  streamId = 0;
  endStream = false;
  dependsOnItself = false;
  /** Frames so far. */
  frames = 0;
  /** Bytes so far, in `bytes`. */
  length = 0;
  bytes: Uint8Array = empty;

  begin(streamId: number, endStream: boolean, dependsOnItself: boolean): void {
    this.streamId = streamId;
    this.endStream = endStream;
    this.dependsOnItself = dependsOnItself;
    this.frames = 0;
    this.length = 0;
  }

  append(chunk: Uint8Array, start: number, end: number): void {
    this.frames += 1;
    const needed = this.length + end - start;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    this.bytes.set(chunk.subarray(start, end), this.length);
    this.length = needed;
  }

  /** The block has been decoded. */
  finish(): void {
    this.streamId = 0;
    this.bytes = empty;
  }
}

const empty: Uint8Array = Buffer.alloc(0);
