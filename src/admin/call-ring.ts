import { Status } from '../grpc/status.js';
import type { CallObserver, CallRecord } from '../proxy/observer.js';
import { CallLanes, type KeptCall } from './call-lanes.js';
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

/**
 * Keeps the last calls: each notable one, which failed or took more than one attempt, and of the plain ones a sample, so that
 * the ring is not empty on a good day.
 *
 * @param size calls kept, 1 or more
 * @param wallClock milliseconds since 1970 at `now` of the clock that the records are written by
 */
export function createCallRing(size: number, wallClock: (now: number) => number): CallRing {
  const lanes = new CallLanes(size);
  let newest = 0;
  let plainAt = lanes.keepsPlain ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;

  return {
    wants: (code, attempts, now) => code !== Status.OK || attempts > 1 || now >= plainAt,
    onCallEnded(record) {
      newest += 1;
      const isPlain = record.code === Status.OK && record.attempts.length <= 1;
      if (isPlain) plainAt = record.endedAt + plainEvery;
      lanes.add(new Entry(newest, wallClock(record.startedAt), record), isPlain);
    },
    get newest() {
      return newest;
    },
    since: (seq) => lanes.since(seq),
  };
}

/** One call that is kept. It is put into words when somebody asks, which for most never happens. */
class Entry implements KeptCall {
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
