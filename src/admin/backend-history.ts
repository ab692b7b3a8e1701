import type { HealthChange, ReleaseRoute } from '../balance/health-types.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { UpstreamBackend } from '../upstream/types.js';
import { type BackendPast, type BackendState, stateOf } from './backend-state.js';

/** What of a backend a look at it takes. */
export interface Sight {
  readonly backend: UpstreamBackend;
  readonly stats: Parameters<typeof stateOf>[1] & {
    readonly parked_for_ms: number | null;
    readonly rate_limited_for_ms: number;
  };
}

/** An attempt's loss, as the loss book tells it (D34). */
export interface Loss {
  readonly backend: BackendId;
  readonly outcomes: Readonly<Partial<Record<string, number>>>;
}

interface Seen {
  state: BackendState;
  since: number;
  /** When the state ends by time alone, clock milliseconds; Infinity: it does not. */
  until: number;
}

/** Names whose losses are kept: a backend that registers again has its own, one that never does is forgotten in the end. */
const mostLosses = 4096;

/**
 * Since when each backend is as it is, and what its losses came to. It is to look at a backend whenever anything happened to
 * it; what ends by time alone, a park, is dated by the end that was known before.
 */
export class BackendHistory {
  private readonly outcomes: readonly string[];
  private readonly seen = new Map<BackendId, Seen>();
  private readonly routes = new Map<BackendId, ReleaseRoute>();
  private readonly totals = new Map<BackendId, Readonly<Record<string, number>>>();

  /** @param outcomes the closed set of what becomes of a lost attempt */
  constructor(outcomes: readonly string[]) {
    this.outcomes = outcomes;
  }

  /** Looks at a backend. @param now clock milliseconds, as everywhere here */
  look(sight: Sight, now: number): BackendPast {
    const { id, downSince } = sight.backend;
    const state = stateOf(sight.backend, sight.stats);
    const until = endOf(state, sight.stats, now);
    let seen = this.seen.get(id);
    if (seen === undefined) {
      seen = { state, since: now, until };
      this.seen.set(id, seen);
    } else if (seen.state !== state) {
      seen.since = Math.min(now, seen.until);
      seen.state = state;
    } else if (now >= seen.until) seen.since = now;
    seen.until = until;
    const unconnected = state === 'down' || state === 'connecting';
    return {
      since: unconnected && downSince !== null ? downSince : seen.since,
      releaseRoute: this.routes.get(id) ?? null,
      losses: this.totals.get(id) ?? this.none(),
    };
  }

  /** A park begins or ends. */
  changed(change: HealthChange): void {
    if (change.kind === 'released' && change.route !== 'removed') this.routes.set(change.id, change.route);
    else this.routes.delete(change.id);
  }

  lost({ backend, outcomes }: Loss): void {
    const total = { ...(this.totals.get(backend) ?? this.none()) };
    for (const outcome of this.outcomes) total[outcome] = (total[outcome] ?? 0) + (outcomes[outcome] ?? 0);
    // Last in the order of the map: the one whose last loss is longest ago goes first.
    this.totals.delete(backend);
    this.totals.set(backend, total);
    for (const id of this.totals.keys()) {
      if (this.totals.size <= mostLosses) break;
      this.totals.delete(id);
    }
  }

  /** Forgets all but these, their losses excepted. */
  keepOnly(ids: ReadonlySet<BackendId>): void {
    for (const map of [this.seen, this.routes]) for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
  }

  private none(): Record<string, number> {
    return Object.fromEntries(this.outcomes.map((outcome) => [outcome, 0]));
  }
}

function endOf(state: BackendState, stats: Sight['stats'], now: number): number {
  if (state === 'parked') return stats.parked_for_ms === null ? Number.POSITIVE_INFINITY : now + stats.parked_for_ms;
  return state === 'rate_limited' ? now + stats.rate_limited_for_ms : Number.POSITIVE_INFINITY;
}
