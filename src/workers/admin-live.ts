import type { BackendRow } from '../admin/backend-state.js';
import type { LiveSnapshot } from '../admin/live.js';
import type { Told } from './admin-group.js';
import { type BackendTotals, mergeBackendRows, sumTotals } from './merge-backends.js';
import { sumOf } from './merge-counts.js';
import { mergeLive, type OwnFacts, RetiredTotals } from './merge-live.js';
import { mergeThrottle, type ThrottleBody } from './merge-throttle.js';

/** How things are over all workers. */
export interface GroupLive {
  readonly snapshot: LiveSnapshot;
  /** The body of `/throttle`. */
  readonly throttle: ThrottleBody;
}

/**
 * What the workers told of themselves last. Of one that does not answer now, or is gone, what it counted counts on, as readers
 * take differences of totals; how it is does not.
 */
export class LiveBook {
  /** Of workers that are not gone. */
  private readonly last = new Map<number, LiveSnapshot>();
  private readonly retired = new RetiredTotals();
  private version = '';

  hear(worker: number, snapshot: LiveSnapshot): void {
    this.last.set(worker, snapshot);
    if (snapshot.version !== '') this.version = snapshot.version;
  }

  /** A worker is gone, and nothing that it told is to come any more. */
  leave(worker: number): void {
    const last = this.last.get(worker);
    if (last === undefined) return;
    this.last.delete(worker);
    this.retired.retire(last);
  }

  /** @param told what all that answer have just told; it has been heard */
  merge(told: readonly Told<LiveSnapshot>[], own: OwnFacts): GroupLive {
    const silent = this.silent(told);
    const held = sumOf(silent, ({ throttle }) => throttle?.suppressed ?? 0);
    const throttle = mergeThrottle(
      told.map(({ worker, answer }) => ({ worker, throttle: answer.throttle })),
      this.retired.suppressed + held,
    );
    const counts = [...told.map(({ answer }) => answer), ...silent.map(countsOf)].map(countedAlone);
    const rows = told.map(({ worker, answer }) => ({ worker, answer: answer.backends }));
    return {
      snapshot: {
        ...mergeLive(counts, own, this.retired),
        version: this.version,
        throttle: throttle.throttle,
        backends: this.mergeRows(rows),
      },
      throttle,
    };
  }

  /** @param told rows of those that answer */
  mergeRows(told: readonly Told<readonly BackendRow[]>[]): BackendRow[] {
    const totals = new Map<string, BackendTotals>(this.retired.backends);
    for (const { backends } of this.silent(told))
      for (const row of backends) {
        const known = totals.get(row.name);
        totals.set(row.name, known === undefined ? row : sumTotals([known, row]));
      }
    return mergeBackendRows(
      told.map(({ answer }) => answer),
      totals,
    );
  }

  private silent(told: readonly Told<unknown>[]): readonly LiveSnapshot[] {
    const heard = new Set(told.map(({ worker }) => worker));
    return [...this.last].flatMap(([worker, snapshot]) => (heard.has(worker) ? [] : [snapshot]));
  }
}

/** What has been counted, without how things are. */
function countsOf(snapshot: LiveSnapshot): LiveSnapshot {
  return { ...snapshot, ready: false, in_flight: 0, clients: 0, replay: { held: 0, limit: 0 } };
}

/** Without what is merged otherwise. */
function countedAlone(snapshot: LiveSnapshot): LiveSnapshot {
  return { ...snapshot, throttle: null, backends: [] };
}
