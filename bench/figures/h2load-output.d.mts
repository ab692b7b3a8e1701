export interface Summary {
  seconds: number;
  /** Calls a second. */
  rate: number;
  /** Those that succeeded. */
  calls: number;
  failed: number;
  /** µs; NaN where it printed none. */
  mean: number;
}

export function parseSummary(text: string): Summary;
export function parseLog(text: string, skip?: number): { latencies: number[]; failed: number };
