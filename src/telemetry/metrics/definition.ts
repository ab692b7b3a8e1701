/** What one metric is: the row of docs/metrics.md, and what /metrics says of it. */
export interface MetricDefinition {
  /** As Prometheus has it: OpenTelemetry's name with its unit, and `_total` on counters. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Empty: a plain number. */
  readonly unit: '' | 'seconds' | 'bytes';
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds of a histogram's buckets, the last one open. */
  readonly buckets?: readonly number[];
}

/** A66, Units: seconds. */
export const latencyBuckets = [
  0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013,
  0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10,
  20, 50, 100,
] as const;
/** A66, Units: bytes. */
export const sizeBuckets = [
  0, 1024, 2048, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
  1_073_741_824, 4_294_967_296,
] as const;
/** A96: retries and hedges of one call; D23: attempts of one call. */
export const countBuckets = [1, 2, 3, 4, 5] as const;
/** A96. */
export const transparentBuckets = [1, 2, 3, 4, 5, 10] as const;
/** How late the event loop was (s). */
export const lagBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
/** Calls' latency on the live pages (ms): 0.25 ms to about 60 s, each bound 1.4 times the one before. */
export const liveBuckets = Array.from({ length: 38 }, (_, at) => Math.round(0.25 * 1.4 ** at * 1000) / 1000);
