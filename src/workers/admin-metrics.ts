import { SharedText } from '../admin/shared-text.js';
import type { WorkerGroup } from './admin-group.js';
import { MetricsSum, RetiredMetrics } from './merge-metrics.js';

/** The primary among those whose numbers are added up; workers count from 1. */
const primary = 0;

/** `/metrics` over the primary and all workers: one text, whose totals do not fall when a worker dies or is silent. */
export class GroupMetrics {
  /** Who asks while it is made reads the same one. */
  readonly text: SharedText;
  private readonly retired = new RetiredMetrics();
  private readonly group: Pick<WorkerGroup, 'ready' | 'collect'>;
  private readonly own: () => Iterable<string>;

  /**
   * @param own the text of the primary's own numbers, in pieces
   * @param turn resolves when a piece may be made
   * @param now clock milliseconds
   */
  constructor(
    group: Pick<WorkerGroup, 'ready' | 'collect'>,
    own: () => Iterable<string>,
    turn: () => Promise<void>,
    now: () => number,
  ) {
    this.group = group;
    this.own = own;
    this.text = new SharedText(() => this.render(), turn, now);
  }

  /** A worker is gone: what it told last counts on. */
  leave(worker: number): void {
    this.retired.retire(worker);
  }

  /** Empty pieces give way to other work. */
  private async *render(): AsyncGenerator<string, void> {
    const sum = new MetricsSum(this.retired, [primary, ...this.group.ready]);
    const collected = this.group.collect(
      { kind: 'metrics' },
      (worker, text) => sum.take(worker, text),
      (worker) => sum.end(worker),
    );
    for (const piece of this.own()) {
      sum.take(primary, piece);
      yield '';
    }
    sum.end(primary);
    await collected;
    yield* sum.text();
  }
}
