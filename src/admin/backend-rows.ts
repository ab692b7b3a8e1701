import type { UpstreamBackend } from '../upstream/types.js';
import type { AdminState } from './admin-state.js';
import { type BackendRow, describeBackend, isUp } from './backend-state.js';

/** The rows of `/backends` for these. */
export function rowsOf(
  backends: readonly UpstreamBackend[],
  state: Pick<AdminState, 'now' | 'sources' | 'health' | 'history' | 'pool'>,
): BackendRow[] {
  const now = state.now();
  const sources = state.sources();
  return backends.map((backend) => {
    const stats = state.health.of(backend.id).stats(now);
    const past = state.history.look({ backend, stats }, now);
    const row = describeBackend(backend, stats, past, sources.get(backend.id) ?? null, now);
    return { ...row, in_flight: state.pool.inFlightOf(backend.id) };
  });
}

/** Backends with a live connection. Parks do not count, nor do drains: sessions' calls go there still (contract, Admin HTTP). */
export function connectedBackends({ pool }: Pick<AdminState, 'pool'>): number {
  return pool.backends.filter(isUp).length;
}

/** Whether `/readyz` says 200. */
export function isReady(state: Pick<AdminState, 'pool' | 'draining'>): boolean {
  return !state.draining() && connectedBackends(state) > 0;
}
