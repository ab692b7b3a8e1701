import type { Millis } from '../grpc/millis.js';

/** The lesser of two limits; null is none. */
export function least(a: Millis | null, b: Millis | null): Millis | null;
export function least(a: number | null, b: number | null): number | null;
export function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
