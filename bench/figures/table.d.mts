import type { Spread } from './statistics.mjs';

export interface Bound {
  atMost?: number;
  atLeast?: number;
}

export function figure(value: number): string;
export function ranged(spread: Spread): string;
export function markdown(columns: readonly string[], rows: readonly (readonly string[])[]): string;
export function reaches(value: number, bound: Bound): boolean | null;
