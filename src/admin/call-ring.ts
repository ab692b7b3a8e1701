import { Status } from '../grpc/status.js';
import type { CallObserver, CallRecord } from '../proxy/observer.js';
import type { RecentCall } from './live.js';
import { describeRecent, sizeOf } from './recent-call.js';

/** The calls that ended last, for `/calls`, the dashboard and `hedgerow top`. */
export interface CallRing extends CallObserver {
  /** The number of the newest call that was kept; 0: none was. */
  readonly newest: number;
  /** Those kept after `seq`, newest first. What was kept longest ago may be gone. */
  since(seq: number): Generator<RecentCall, void>;
}

/** Plain calls, which were answered at once, are kept at least so far apart (ms): five a second. */
const plainEvery = 200;

/** So much of the ring is for plain calls, which no others give way to. */
const plainShare = 0.2;

/** Bytes for each call that the ring has room for, about: calls with more take the room of others. */
const bytesPerCall = 4096;

/**
 * Keeps the last calls: each notable one, which failed or took more than one attempt, and of the plain ones a sample, so that
 * the ring is not empty on a good day. Each kind has a part of the room: a burst of one does not push out the other.
 *
 * @param size calls kept, 1 or more
 * @param wallClock milliseconds since 1970 at `now` of the clock that the records are written by
 */
export function createCallRing(size: number, wallClock: (now: number) => number): CallRing {
  const plainSize = Math.floor(size * plainShare);
  const plain = new Lane(plainSize);
  const notable = new Lane(size - plainSize);
  let newest = 0;
  let plainAt = plainSize > 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;

  return {
    wants: (code, attempts, now) => code !== Status.OK || attempts > 1 || now >= plainAt,
    onCallEnded(record) {
      newest += 1;
      const entry = new Entry(newest, wallClock(record.startedAt), record);
      if (record.code !== Status.OK || record.attempts.length > 1) notable.add(entry);
      else {
        plainAt = record.endedAt + plainEvery;
        plain.add(entry);
      }
    },
    get newest() {
      return newest;
    },
    *since(seq) {
      for (let [a, b] = [notable.count - 1, plain.count - 1]; ; ) {
        const first = notable.at(a);
        const second = plain.at(b);
        const next = first !== null && (second === null || first.seq > second.seq) ? first : second;
        if (next === null || next.seq <= seq) return;
        if (next === first) a -= 1;
        else b -= 1;
        yield next.call;
      }
    },
  };
}

/** One call that is kept. It is put into words when somebody asks, which for most never happens. */
class Entry {
  readonly seq: number;
  readonly bytes: number;
  private readonly started: number;
  private kept: { readonly record: CallRecord } | { readonly call: RecentCall };

  constructor(seq: number, started: number, record: CallRecord) {
    this.seq = seq;
    this.started = started;
    const { bytes, large } = sizeOf(record);
    this.bytes = bytes;
    // The words of a large one are cut, so they are less to keep than the record.
    this.kept = large ? { call: describeRecent(record, seq, started) } : { record };
  }

  get call(): RecentCall {
    if ('record' in this.kept) this.kept = { call: describeRecent(this.kept.record, this.seq, this.started) };
    return this.kept.call;
  }
}

/** A queue that drops its oldest where it is over its calls or bytes. */
class Lane {
  private readonly entries: (Entry | undefined)[];
  private readonly maxBytes: number;
  private oldest = 0;
  private bytes = 0;
  count = 0;

  constructor(size: number) {
    this.entries = new Array<Entry | undefined>(size);
    this.maxBytes = size * bytesPerCall;
  }

  /** @param index 0 is the oldest; null where there is none */
  at(index: number): Entry | null {
    return index < 0 || index >= this.count ? null : (this.entries[this.place(index)] ?? null);
  }

  add(entry: Entry): void {
    if (this.count === this.entries.length) this.drop();
    this.entries[this.place(this.count)] = entry;
    this.count += 1;
    this.bytes += entry.bytes;
    // The newest stays, whatever its size.
    while (this.bytes > this.maxBytes && this.count > 1) this.drop();
  }

  private drop(): void {
    this.bytes -= this.at(0)?.bytes ?? 0;
    this.entries[this.oldest] = undefined;
    this.oldest = (this.oldest + 1) % this.entries.length;
    this.count -= 1;
  }

  private place(index: number): number {
    return (this.oldest + index) % this.entries.length;
  }
}
