import type { HealthStats, ParkReason, ReleaseRoute } from '../balance/health-types.js';
import type { Standing } from '../balance/types.js';
import { formatEndpoint } from '../upstream/endpoint.js';
import type { UpstreamBackend } from '../upstream/types.js';

/** How a backend is in one word. Of several that hold, the one that keeps most calls away: their order here. */
export type BackendState = 'draining' | 'down' | 'connecting' | 'parked' | 'rate_limited' | 'ready';

/** Where a backend's name comes from. */
export type BackendSource = 'flags' | 'file' | 'registry';

/** What is known of a backend beside itself and its health. */
export interface BackendPast {
  /** Clock milliseconds. */
  readonly since: number;
  /** What ended its last park; null: it had none, or it lapsed. */
  readonly releaseRoute: ReleaseRoute | null;
  /** Attempts that its losses ended, by what became of them, since the start. */
  readonly losses: Readonly<Record<string, number>>;
}

/** One row of `/backends`. Names are stable (contract, Admin HTTP; E17). */
export interface BackendRow extends HealthStats {
  readonly name: string;
  /** The group's name; for a literal address the backend's own. */
  readonly group: string;
  readonly address: string;
  readonly target: string;
  /** Null: no source names it any more, and it leaves. */
  readonly source: BackendSource | null;
  readonly state: BackendState;
  /** A sentence; null where there is nothing to say. */
  readonly why: string | null;
  /** How long `state` has been what it is; of `down` and `connecting`, how long no connection has been up. */
  readonly since_ms: number;
  readonly in_flight: number;
  readonly queued: number;
  readonly connections: number;
  readonly generation: number;
  readonly weight: number;
  readonly priority: number;
  readonly max_calls: number | null;
  readonly last_error: string | null;
  readonly next_connect_in_ms: number | null;
  readonly release_route: ReleaseRoute | null;
  readonly losses: Readonly<Record<string, number>>;
}

/** Whether a connection is up. `link` does not say: a queue may be full before the first connection is made. */
export function isUp({ connections }: UpstreamBackend): boolean {
  return connections > 0;
}

export function stateOf(backend: UpstreamBackend, { standing }: Pick<HealthStats, 'standing'>): BackendState {
  if (backend.phase !== 'serving') return 'draining';
  if (!isUp(backend)) return backend.link === 'backoff' ? 'down' : 'connecting';
  return standing === 'parked' || standing === 'rate_limited' ? standing : 'ready';
}

/** @param now clock milliseconds */
export function describeBackend(
  backend: UpstreamBackend,
  stats: HealthStats,
  past: BackendPast,
  source: BackendSource | null,
  now: number,
): BackendRow {
  const { id, name, target, endpoint, inFlight, queued, connections, generation, lastError } = backend;
  const { weight, priority, maxCalls, nextConnectAt } = backend;
  const state = stateOf(backend, stats);
  return {
    name: id,
    group: name,
    address: formatEndpoint(endpoint),
    target,
    source,
    state,
    why: why(state, backend, stats, source),
    since_ms: Math.max(0, Math.round(now - past.since)),
    in_flight: inFlight,
    queued,
    ...stats,
    release_route: past.releaseRoute,
    losses: past.losses,
    connections,
    generation,
    weight,
    priority,
    max_calls: maxCalls,
    last_error: lastError,
    next_connect_in_ms: nextConnectAt === null ? null : Math.max(0, Math.round(nextConnectAt - now)),
  };
}

function why(
  state: BackendState,
  backend: UpstreamBackend,
  stats: HealthStats,
  source: BackendSource | null,
): string | null {
  switch (state) {
    case 'draining': {
      const cause = source === null ? 'no source names it any more' : 'drained by hand, until it is unparked';
      return backend.phase === 'left' ? `${cause}; its calls have ended` : `${cause}; its calls finish`;
    }
    case 'down':
      return backend.lastError ?? 'it cannot be connected to';
    case 'connecting':
      return backend.lastError ?? 'it has not been connected to yet';
    case 'parked':
    case 'rate_limited':
      return stats.park_reason === null ? null : parkWords(stats.park_reason, stats.consecutive_hard_failures);
    case 'ready':
      return standingWords[stats.standing];
    default:
      return state satisfies never;
  }
}

function parkWords(reason: ParkReason, failures: number): string {
  switch (reason) {
    case 'consecutive_failures':
      return `${failures} attempts in a row failed there`;
    case 'rate_limited':
      return 'it asked for patience';
    case 'operator':
      return 'parked by hand';
    case 'not_serving':
      return 'its health check says that it does not serve';
    default:
      return reason satisfies never;
  }
}

/** What a backend that is connected and not parked is like (4.4). */
const standingWords: Readonly<Record<Standing, string | null>> = {
  clean: null,
  recent: 'an attempt failed there a short while ago: retries and hedges prefer others',
  lapsed: 'its park is over: one call will probe it',
  probing: 'its park is over: one call probes it',
  breached: 'too many attempts in a row failed there: calls that have another backend go there',
  rate_limited: null,
  parked: null,
};
