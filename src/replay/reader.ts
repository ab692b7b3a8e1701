import type { Slice } from './slice.js';
import type { ReplayReader } from './types.js';

/** What a reader asks of its buffer. */
export interface ReaderSource {
  /** The first slice not freed; null where none waits. */
  readonly head: Slice | null;
  /** Bytes freed so far: where `head` begins. */
  readonly freed: number;
  readonly total: number;
  readonly ended: boolean;
  readonly disposed: boolean;
  forget(reader: SliceReader): void;
}

/** A place in a request's list of slices. */
export class SliceReader implements ReplayReader {
  position = 0;
  /** The slice being read, or the last one read while none follows; null before the first, and after all were freed. */
  private slice: Slice | null = null;
  /** Offset of the next byte in the slice's chunk. */
  private at = 0;
  closed = false;
  private readonly source: ReaderSource;

  constructor(source: ReaderSource) {
    this.source = source;
  }

  get chunk(): Uint8Array | null {
    return this.seek()?.chunk ?? null;
  }

  get start(): number {
    return this.seek() === null ? 0 : this.at;
  }

  get end(): number {
    return this.seek()?.end ?? 0;
  }

  get last(): boolean {
    const slice = this.seek();
    return slice !== null && this.source.ended && this.position + slice.end - this.at === this.source.total;
  }

  get finished(): boolean {
    return !this.closed && this.source.ended && this.position === this.source.total;
  }

  advance(bytes: number): void {
    if (bytes === 0) return;
    const slice = this.seek();
    if (slice === null || bytes < 0 || bytes > slice.end - this.at)
      throw new Error(`replay: advance by ${bytes} where ${slice === null ? 0 : slice.end - this.at} bytes wait`);
    this.at += bytes;
    this.position += bytes;
  }

  close(): void {
    this.closed = true;
    this.slice = null;
    this.source.forget(this);
  }

  /** The slice that the next byte is in, for the buffer to free what is before it; lets go of a slice that is read through. */
  drop(): Slice | null {
    const slice = this.seek();
    if (slice === null) this.slice = null;
    return slice;
  }

  /** The slice with the next unread byte, or null where nothing waits. */
  private seek(): Slice | null {
    let { slice } = this;
    if (slice !== null && this.at < slice.end) return this.source.disposed ? null : slice;
    if (this.closed || this.source.disposed) return null;
    if (slice !== null) slice = slice.next;
    else if (this.position === this.source.freed) slice = this.source.head;
    if (slice === null) return null;
    this.slice = slice;
    this.at = slice.start;
    return slice;
  }
}
