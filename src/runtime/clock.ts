import { performance } from 'node:perf_hooks';
import type { Clock } from './ports.js';

/** Milliseconds since 1970; may step. */
export const nodeWallClock: Clock = {
  now: () => Date.now(),
};

/** The process's monotonic clock: no step of the wall clock moves it. */
export const nodeClock: Clock = {
  now: () => performance.now(),
};
