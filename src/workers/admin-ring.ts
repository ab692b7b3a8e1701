import { CallLanes } from '../admin/call-lanes.js';
import type { CallRing } from '../admin/call-ring.js';
import type { RecentCall } from '../admin/live.js';
import { sizeOf } from '../admin/recent-call.js';

/** The calls of all workers that ended last, as each has put them into words. */
export class ToldRing implements Pick<CallRing, 'newest' | 'since'> {
  newest = 0;
  private readonly lanes: CallLanes;

  /** @param size calls kept, 0 or more */
  constructor(size: number) {
    this.lanes = new CallLanes(size);
  }

  /** Numbers anew, in the order in which they ended, what the workers have told at one time. */
  take(calls: readonly RecentCall[]): void {
    for (const call of [...calls].sort((a, b) => endOf(a) - endOf(b))) {
      this.newest += 1;
      const isPlain = call.code === 'OK' && call.attempts.length <= 1;
      this.lanes.add({ seq: this.newest, bytes: sizeOf(call).bytes, call: { ...call, seq: this.newest } }, isPlain);
    }
  }

  since(seq: number): Generator<RecentCall, void> {
    return this.lanes.since(seq);
  }
}

/** Wall clock (ms since 1970). The start of a call is told to the millisecond. */
function endOf({ started, ms }: RecentCall): number {
  return started + ms;
}
