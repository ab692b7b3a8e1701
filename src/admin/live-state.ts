import type { LiveNumbers } from '../proxy/live-numbers.js';
import type { AdminState } from './admin-state.js';
import { isReady, rowsOf } from './backend-rows.js';
import type { LiveSnapshot } from './live.js';
import { mostMethods } from './live-math.js';

/** What the app reads off itself for a snapshot. */
export interface LiveReadings {
  readonly instance: string;
  readonly numbers: LiveNumbers;
  /** Wall clock (ms since 1970). */
  readonly at: number;
  /** Since the app was made (ms). */
  readonly uptime: number;
  readonly inFlight: number;
  readonly clients: number;
  /** Bytes. */
  readonly replayHeld: number;
  readonly replayLimit: number;
}

/** How things are. */
export function describeLive(readings: LiveReadings, state: Omit<AdminState, 'watch'>): LiveSnapshot {
  const { instance, numbers, at, uptime, inFlight, clients, replayHeld, replayLimit } = readings;
  return {
    ...numbers,
    instance,
    at: Math.round(at),
    uptime_ms: Math.round(uptime),
    draining: state.draining(),
    drained: state.program?.phase === 'drained',
    ready: isReady(state),
    config: configOf(state),
    in_flight: inFlight,
    clients,
    throttle: state.throttle(),
    replay: { held: replayHeld, limit: replayLimit },
    backends: rowsOf(state.pool.backends, state),
    methods: numbers.methods.slice(0, mostMethods),
  };
}

function configOf({ program }: Pick<AdminState, 'program'>): LiveSnapshot['config'] {
  if (program === null) return { path: null, version: '', rejected: false };
  const { path, version, problem } = program.configBrief();
  return { path, version, rejected: problem !== null };
}
