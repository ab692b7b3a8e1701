import { formatEndpoint } from '../upstream/endpoint.js';
import type { UpstreamBackend } from '../upstream/types.js';

/** One row of `/backends`. Names are stable (contract, Admin HTTP). */
export interface BackendRow {
  readonly name: string;
  /** The group's name; for a literal address the backend's own. */
  readonly group: string;
  readonly address: string;
  readonly target: string;
  readonly state: 'ready' | 'connecting' | 'down';
  readonly in_flight: number;
  readonly queued: number;
  readonly connections: number;
  readonly generation: number;
  readonly last_error: string | null;
  readonly next_connect_in_ms: number | null;
}

/** Whether a connection is up. `link` does not say: a queue may be full before the first connection is made. */
export function isUp({ connections }: UpstreamBackend): boolean {
  return connections > 0;
}

/** @param now clock milliseconds */
export function describeBackend(backend: UpstreamBackend, now: number): BackendRow {
  const { id, name, target, endpoint, link, inFlight, queued, connections, generation, lastError } = backend;
  const { nextConnectAt } = backend;
  return {
    name: id,
    group: name,
    address: formatEndpoint(endpoint),
    target,
    state: isUp(backend) ? 'ready' : link === 'backoff' ? 'down' : 'connecting',
    in_flight: inFlight,
    queued,
    connections,
    generation,
    last_error: lastError,
    next_connect_in_ms: nextConnectAt === null ? null : Math.max(0, Math.round(nextConnectAt - now)),
  };
}
