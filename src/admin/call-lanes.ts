import type { RecentCall } from './live.js';

/** A call that is kept. */
export interface KeptCall {
  readonly seq: number;
  /** What it takes in memory, about. */
  readonly bytes: number;
  readonly call: RecentCall;
}

/** So much of the room is for plain calls, which no others give way to. */
const plainShare = 0.2;

/** Bytes for each call that there is room for, about: calls with more take the room of others. */
const bytesPerCall = 4096;

/**
 * The last calls, of two kinds: plain ones, which were answered at once, and notable ones, which were not. Each kind has a part
 * of the room: a burst of one does not push out the other.
 */
export class CallLanes {
  private readonly plain: Lane;
  private readonly notable: Lane;

  /** @param size calls kept, 0 or more */
  constructor(size: number) {
    const plainSize = Math.floor(size * plainShare);
    this.plain = new Lane(plainSize);
    this.notable = new Lane(size - plainSize);
  }

  /** There is room for plain ones at all. */
  get keepsPlain(): boolean {
    return this.plain.size > 0;
  }

  /** @param kept its number is higher than that of any before */
  add(kept: KeptCall, isPlain: boolean): void {
    (isPlain ? this.plain : this.notable).add(kept);
  }

  /** Those kept after `seq`, newest first. */
  *since(seq: number): Generator<RecentCall, void> {
    const { plain, notable } = this;
    for (let [a, b] = [notable.count - 1, plain.count - 1]; ; ) {
      const first = notable.at(a);
      const second = plain.at(b);
      const next = first !== null && (second === null || first.seq > second.seq) ? first : second;
      if (next === null || next.seq <= seq) return;
      if (next === first) a -= 1;
      else b -= 1;
      yield next.call;
    }
  }
}

/** A queue that drops its oldest where it is over its calls or bytes. */
class Lane {
  private readonly entries: (KeptCall | undefined)[];
  private readonly maxBytes: number;
  private oldest = 0;
  private bytes = 0;
  count = 0;

  constructor(size: number) {
    this.entries = new Array<KeptCall | undefined>(size);
    this.maxBytes = size * bytesPerCall;
  }

  get size(): number {
    return this.entries.length;
  }

  /** @param index 0 is the oldest; null where there is none */
  at(index: number): KeptCall | null {
    return index < 0 || index >= this.count ? null : (this.entries[this.place(index)] ?? null);
  }

  add(entry: KeptCall): void {
    if (this.size === 0) return;
    if (this.count === this.size) this.drop();
    this.entries[this.place(this.count)] = entry;
    this.count += 1;
    this.bytes += entry.bytes;
    // The newest stays, whatever its size.
    while (this.bytes > this.maxBytes && this.count > 1) this.drop();
  }

  private drop(): void {
    this.bytes -= this.at(0)?.bytes ?? 0;
    this.entries[this.oldest] = undefined;
    this.oldest = (this.oldest + 1) % this.size;
    this.count -= 1;
  }

  private place(index: number): number {
    return (this.oldest + index) % this.size;
  }
}
