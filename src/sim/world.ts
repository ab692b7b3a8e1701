import type { BalancingConfig } from '../grpc/balancing-config.js';
import type { Distribution } from './distribution.js';
import type { Failure, Outage, Slowness } from './faults.js';

/** What a simulation assumes of clients and backends. */
export interface World {
  /** How many are made; each arrives whether or not others are answered. */
  readonly calls: number;
  /** Calls a second. */
  readonly rate: number;
  /** By chance, with exponential gaps, or one after each gap. */
  readonly arrivals: 'poisson' | 'even';
  /** They are called b1, b2 and so on. */
  readonly backends: number;
  readonly balancing: BalancingConfig;
  /** How long a backend works for an answer. */
  readonly latency: Distribution;
  readonly failures: readonly Failure[];
  readonly outages: readonly Outage[];
  readonly slownesses: readonly Slowness[];
  /** grpc-retry-pushback-ms in each failure that a backend tells; null: none. */
  readonly pushback: string | null;
  /** Attempts that a backend works on at a time, the others wait there; null: all. */
  readonly capacity: number | null;
  /** What becomes of the work for an attempt that is cancelled. */
  readonly cancelledWork: 'stops' | 'goes on';
  readonly requestBytes: number;
  /** What is kept of a request, for a call and for all (docs/limits.md). */
  readonly perCallBufferLimit: number;
  readonly bufferLimit: number;
  /** The same seed and terms give the same run. */
  readonly seed: number;
}

/**
 * A seed for one purpose of one call, so that a call meets the same luck whatever the policy and the calls before it.
 *
 * @param part an attempt's number from 1; 0 is the call's own
 */
export function partSeed(seed: number, call: number, part: number): number {
  let mixed = stir(seed ^ 0x9e3779b9);
  mixed = stir(mixed + Math.imul(call + 1, 0x85ebca6b));
  return stir(mixed + Math.imul(part + 1, 0xc2b2ae35));
}

/** The finalizer of MurmurHash3: each bit comes to depend on each. */
function stir(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
