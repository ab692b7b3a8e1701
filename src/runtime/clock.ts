import { performance } from 'node:perf_hooks';
import type { Clock } from './ports.js';

/** The process's monotonic clock: no step of the wall clock moves it. */
export const nodeClock: Clock = {
  now: () => performance.now(),
};
