import { readUint8, readUint24, readUint31 } from './bytes.js';
import { frameHeaderLength } from './kinds.js';

/** Who takes the frames. */
export interface FrameSink {
  /**
   * One whole frame; its payload is the bytes [start, end) of `chunk`, which nobody writes to afterwards. Returns whether
   * to read on.
   */
  onFrame(type: number, flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean;
  /** A frame header announced more than the limit; reading is over. */
  onOversizedFrame(type: number, length: number): void;
}

/**
 * Cuts a byte stream into frames, however it is split (RFC 9113 4.1). A frame that lies whole in a chunk is passed on where
 * it lies; only one that straddles chunks is copied together, at most one frame at a time.
 */
export class FrameReader {
  private readonly sink: FrameSink;
  /** SETTINGS_MAX_FRAME_SIZE that we advertised (RFC 9113 4.2). */
  private readonly maxFrameSize: number;
  /** The header of a frame of which not everything has come. */
  private readonly header = new Uint8Array(frameHeaderLength);
  private headerFilled = 0;
  /** Its payload so far; null while the header is not complete. */
  private payload: Uint8Array | null = null;
  private payloadFilled = 0;
  private stopped = false;

  constructor(sink: FrameSink, maxFrameSize: number) {
    this.sink = sink;
    this.maxFrameSize = maxFrameSize;
  }

  /** The type of the frame of which the header and not all of the payload has come; null: there is none. */
  get pending(): number | null {
    return this.payload === null ? null : readUint8(this.header, 3);
  }

  /** Takes the bytes of `chunk` from `at` on. Not to be called from within the sink. */
  read(chunk: Uint8Array, at: number): void {
    const { sink } = this;
    const end = chunk.length;
    let next = this.headerFilled === 0 ? at : this.resume(chunk, at);
    while (!this.stopped && end - next >= frameHeaderLength) {
      const length = readUint24(chunk, next);
      const type = readUint8(chunk, next + 3);
      if (length > this.maxFrameSize) {
        this.stopped = true;
        sink.onOversizedFrame(type, length);
        return;
      }
      const payloadAt = next + frameHeaderLength;
      if (payloadAt + length > end) break;
      next = payloadAt + length;
      const streamId = readUint31(chunk, payloadAt - 4);
      if (!sink.onFrame(type, readUint8(chunk, payloadAt - 5), streamId, chunk, payloadAt, next)) this.stopped = true;
    }
    if (next < end && !this.stopped) this.keep(chunk, next);
  }

  /** Completes the frame whose beginning is kept. Returns the offset after what it took. */
  private resume(chunk: Uint8Array, at: number): number {
    let next = at;
    if (this.payload === null) {
      next = this.fillHeader(chunk, at);
      if (this.payload === null) return next;
    }
    const { payload, header } = this;
    const taken = Math.min(payload.length - this.payloadFilled, chunk.length - next);
    payload.set(chunk.subarray(next, next + taken), this.payloadFilled);
    this.payloadFilled += taken;
    next += taken;
    if (this.payloadFilled < payload.length) return next;
    this.headerFilled = 0;
    this.payload = null;
    this.payloadFilled = 0;
    const streamId = readUint31(header, 5);
    if (!this.sink.onFrame(readUint8(header, 3), readUint8(header, 4), streamId, payload, 0, payload.length))
      this.stopped = true;
    return next;
  }

  /** Begins a frame that straddles chunks: fewer than its bytes are left from `at` on. */
  private keep(chunk: Uint8Array, at: number): void {
    const next = this.fillHeader(chunk, at);
    if (this.payload === null) return;
    this.payload.set(chunk.subarray(next), 0);
    this.payloadFilled = chunk.length - next;
  }

  private fillHeader(chunk: Uint8Array, at: number): number {
    const { header } = this;
    let next = at;
    while (this.headerFilled < frameHeaderLength && next < chunk.length) {
      header[this.headerFilled] = readUint8(chunk, next);
      this.headerFilled += 1;
      next += 1;
    }
    if (this.headerFilled < frameHeaderLength) return next;
    const length = readUint24(header, 0);
    if (length > this.maxFrameSize) {
      this.stopped = true;
      this.sink.onOversizedFrame(readUint8(header, 3), length);
      return next;
    }
    this.payload = Buffer.allocUnsafe(length);
    return next;
  }
}
