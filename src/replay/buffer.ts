import { type ReaderSource, SliceReader } from './reader.js';
import { type Slice, SliceKeeper } from './slice.js';
import type { ReplayBudget, ReplayBuffer, ReplayLimit, ReplayReader } from './types.js';

/**
 * @param budget the client connection's, under the one for all
 * @param callLimit bytes of this call, at least 0, inclusive (BUF-06)
 */
export function createReplayBuffer(budget: ReplayBudget, callLimit: number): ReplayBuffer {
  return new CallBuffer(budget, callLimit);
}

/*
 * The request is one list of slices. Its bytes are [0, total); of them [0, kept) were counted and their window given back
 * when they came, the rest waits uncounted: nothing is kept any more once a byte did not fit or the call was committed, so
 * that the two never mix. [0, freed) has been dropped.
 */
class CallBuffer implements ReplayBuffer, ReaderSource {
  total = 0;
  ended = false;
  overflow: ReplayLimit | null = null;
  head: Slice | null = null;
  private tail: Slice | null = null;
  private readonly keeper = new SliceKeeper();
  private kept = 0;
  freed = 0;
  private committed = false;
  /** The one reader left after commit. */
  private reader: SliceReader | null = null;
  disposed = false;
  private readonly budget: ReplayBudget;
  private readonly callLimit: number;

  constructor(budget: ReplayBudget, callLimit: number) {
    this.budget = budget;
    this.callLimit = callLimit;
  }

  get held(): number {
    return this.disposed || this.freed > this.kept ? 0 : this.kept - this.freed;
  }

  /** What is kept only grows until something is freed, and nothing is kept after that. */
  get peakHeld(): number {
    return this.kept;
  }

  get replayable(): boolean {
    return this.freed === 0 && !this.disposed;
  }

  append(chunk: Uint8Array, start: number, end: number): number {
    const size = end - start;
    if (size <= 0) return 0;
    this.total += size;
    // Nobody will read it: its window is free at once.
    if (this.disposed) return size;
    this.tail = this.keeper.keep(this.tail, chunk, start, end);
    this.head ??= this.tail;
    return this.committed || this.overflow !== null ? 0 : this.count(size);
  }

  end(): void {
    this.ended = true;
  }

  open(): ReplayReader {
    if (!this.replayable) throw new Error('replay: the beginning of the request has been freed');
    const reader = new SliceReader(this);
    if (this.committed && this.reader === null) this.reader = reader;
    return reader;
  }

  commit(reader: ReplayReader | null): void {
    this.committed = true;
    this.reader = reader instanceof SliceReader && !reader.closed ? reader : null;
  }

  free(): number {
    if (this.reader === null || this.disposed) return 0;
    const before = this.freed;
    const after = this.reader.position;
    if (after === before) return 0;
    this.freed = after;
    this.head = this.reader.drop();
    if (this.head === null) this.tail = null;
    if (before >= this.kept) return after - before;
    const counted = Math.min(after, this.kept) - before;
    this.budget.release(counted);
    return after - before - counted;
  }

  dispose(): number {
    if (this.disposed) return 0;
    this.budget.release(this.held);
    this.disposed = true;
    this.head = null;
    this.tail = null;
    return this.total - Math.max(this.kept, this.freed);
  }

  /** A reader is done. A committed one that never left makes way for the next (D25). */
  forget(reader: SliceReader): void {
    if (this.reader === reader) this.reader = null;
  }

  /** Counts as many of `size` bytes as fit; the first that does not says which limit it was (D25). */
  private count(size: number): number {
    const room = this.callLimit - this.kept;
    if (size <= room && this.budget.reserve(size) === null) {
      this.kept += size;
      return size;
    }
    const fits = Math.min(room, this.budget.room);
    this.budget.reserve(fits);
    this.kept += fits;
    this.overflow = fits === room ? 'call' : this.budget.reserve(1);
    return fits;
  }
}
