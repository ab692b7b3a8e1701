/** Which limit a byte did not fit under. */
export type ReplayLimit = 'call' | 'client' | 'total';

/** Counts kept bytes against a limit and, through `parent`, against the limits above it. */
export interface ReplayBudget {
  /** All or nothing: the first limit, from the nearest to the farthest, that `bytes` would pass, or null when they were reserved. */
  reserve(bytes: number): ReplayLimit | null;
  release(bytes: number): void;
  /** Bytes that may still be reserved, here and in every limit above. */
  readonly room: number;
  readonly held: number;
  readonly peak: number;
}

/**
 * The request bytes of one call: their only owner. Until the call is committed all are kept, within the limits, and any
 * number of readers reads them from the start; after it they are freed as the one reader left passes them on.
 */
export interface ReplayBuffer {
  /**
   * Takes the bytes [start, end) of `chunk` (no copy where that would not pin a much larger chunk). Returns the bytes of
   * stream window to give back now: what was kept. At the first byte that fits no more, `overflow` is set and nothing
   * further is kept: that byte and later ones wait, uncounted, until they are passed on.
   */
  append(chunk: Uint8Array, start: number, end: number): number;
  /** The client half-closed. */
  end(): void;
  readonly ended: boolean;
  readonly overflow: ReplayLimit | null;
  /** Bytes appended so far. */
  readonly total: number;
  /** Bytes now counted against the budget; and the most there were. */
  readonly held: number;
  readonly peakHeld: number;
  /** A reader at the first byte. Throws (a defect, not an input) once bytes have been freed. */
  open(): ReplayReader;
  /** False once any byte was freed: no attempt can start from the beginning any more. */
  readonly replayable: boolean;
  /**
   * The call is committed to `reader` (null: to the next one opened): nothing is kept from now on, and what it has read
   * is freed by `free`.
   */
  commit(reader: ReplayReader | null): void;
  /** After commit: frees what the committed reader has read. Returns the bytes of stream window to give back now. */
  free(): number;
  /** Drops everything and returns all budget. Returns the bytes of stream window never given back. Idempotent. */
  dispose(): number;
}

/** One attempt's place in the request. */
export interface ReplayReader {
  /** Bytes read so far: what this attempt was sent. */
  readonly position: number;
  /** The next unread slice, or null where nothing waits. Valid until `advance`. */
  readonly chunk: Uint8Array | null;
  readonly start: number;
  readonly end: number;
  /** Whether the slice is the last byte of a request that has ended (END_STREAM belongs to it). */
  readonly last: boolean;
  /** Everything has been read and the request has ended. */
  readonly finished: boolean;
  advance(bytes: number): void;
  close(): void;
}
