/** Counts of values by fixed buckets, as OpenTelemetry's explicit-bucket histogram has them: bounds are inclusive, the last bucket open. */
export class Histogram {
  readonly bounds: Float64Array;
  /** One more than there are bounds; not cumulative. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = Float64Array.from(bounds);
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    this.observeAt(this.bucketOf(value), value);
  }

  /** Where a value goes: the same in all histograms of the same bounds. */
  bucketOf(value: number): number {
    const { bounds } = this;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value > (bounds[middle] as number)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param bucket the value's, from `bucketOf` */
  observeAt(bucket: number, value: number): void {
    const { counts } = this;
    counts[bucket] = (counts[bucket] as number) + 1;
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
