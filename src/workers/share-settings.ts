import type { Settings } from '../config/settings.js';

/** As many as the setting can ask for. */
const mostWorkers = 64;

/** The least that the settings may be: with less a worker would send away clients that ask for nothing unusual. Bytes. */
const leastRelayBuffer = 64 * 1024;
const leastClientMemory = 1024 ** 2;

/** @param cores how many the process may use; what `auto` comes to, up to the most that there can be */
export function workersOf(setting: Settings['workers'], cores: number): number {
  return setting === 'auto' ? Math.min(Math.max(1, Math.floor(cores)), mostWorkers) : setting;
}

/**
 * The settings of one worker: what limits the process as a whole is divided, rounded up (D25), so that all together may go
 * over a limit by less than one for each worker, or by more where a share would be too little to work with. What limits a
 * call, a client or a connection is whole, as are times and sessions, which the primary keeps. Each worker has its own
 * connections to backends, so their number is whole too. What is off stays off.
 *
 * @param place from 0, less than `workers`
 */
export function shareOf(settings: Settings, workers: number, place: number): Settings {
  const share = (limit: number): number => Math.ceil(limit / workers);
  const { bufferLimit, relayBufferLimit, clientMemoryLimit, maxConnections, maxTotalStreams, queueLimit } = settings;
  return {
    ...settings,
    bufferLimit: share(bufferLimit),
    relayBufferLimit: Math.max(share(relayBufferLimit), leastRelayBuffer),
    clientMemoryLimit: clientMemoryLimit === null ? null : Math.max(share(clientMemoryLimit), leastClientMemory),
    maxConnections: share(maxConnections),
    maxTotalStreams: share(maxTotalStreams),
    queueLimit: share(queueLimit),
    backend: settings.backend.map((entry) => ({ ...entry, maxCalls: shareOfCalls(entry.maxCalls, workers, place) })),
  };
}

/**
 * A worker's share of a backend's `max-calls`. The shares of all workers come to the number itself; where there are fewer
 * calls than workers each has one, and together they may go over it: a worker without any could use the backend for nothing.
 *
 * @param place from 0, less than `workers`
 * @returns 1 or more; null: no limit
 */
export function shareOfCalls(maxCalls: number | null, workers: number, place: number): number | null {
  if (maxCalls === null) return null;
  const more = place < maxCalls % workers ? 1 : 0;
  return Math.max(1, Math.floor(maxCalls / workers) + more);
}

/** What is to be said of backends whose calls cannot be shared: a line for each, for the log. */
export function callShareWarnings(
  backends: readonly { readonly name: string; readonly maxCalls: number | null }[],
  workers: number,
): readonly string[] {
  return backends.flatMap(({ name, maxCalls }) =>
    maxCalls === null || maxCalls >= workers
      ? []
      : [
          `backend ${name}: max-calls ${maxCalls} is less than the ${workers} workers; each of them sends it up to 1 at a time, so up to ${workers} together`,
        ],
  );
}
