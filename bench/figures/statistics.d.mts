/** A measure over its rounds. NaN where there was no round. */
export interface Spread {
  median: number;
  low: number;
  high: number;
  rounds: number;
}

export function median(numbers: readonly number[]): number;
export function quantile(numbers: readonly number[], q: number): number;
export function spread(rounds: readonly number[]): Spread;
export function ratios(ours: readonly number[], theirs: readonly number[]): Spread;
