/** Counts of values by fixed buckets, as OpenTelemetry's explicit-bucket histogram has them: bounds are inclusive, the last bucket open. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One more than there are bounds; not cumulative. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value > (bounds[middle] as number)) low = middle + 1;
      else high = middle;
    }
    counts[low] = (counts[low] as number) + 1;
    this.sum += value;
    this.count += 1;
  }

  /** @param other of the same bounds */
  add(other: Histogram): void {
    const { counts } = this;
    for (let at = 0; at < counts.length; at += 1) counts[at] = (counts[at] as number) + (other.counts[at] as number);
    this.sum += other.sum;
    this.count += other.count;
  }
}
