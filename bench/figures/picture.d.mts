import type { Spread } from './statistics.mjs';

export interface Bar {
  label: string;
  spread: Spread;
  ours: boolean;
  /** What stands in the place of a bar without a figure. */
  missing?: string;
}

export interface Picture {
  title: string;
  unit: string;
  better: 'less' | 'more';
  bars: Bar[];
  /** A line across all bars. */
  bound?: number;
}

export function xmlText(text: string): string;
export function barChart(picture: Picture): string;
