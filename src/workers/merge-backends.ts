import type { BackendRow, BackendState } from '../admin/backend-state.js';
import type { Standing } from '../balance/types.js';
import { round, sumByName, sumOf } from './merge-counts.js';

/** The order of BackendState: the lower, the more calls are kept away. */
const stateRank: Readonly<Record<BackendState, number>> = {
  draining: 0,
  down: 1,
  connecting: 2,
  parked: 3,
  rate_limited: 4,
  ready: 5,
};

/** From the one that keeps most calls away (4.4). */
const standingRank: Readonly<Record<Standing, number>> = {
  parked: 0,
  rate_limited: 1,
  breached: 2,
  probing: 3,
  lapsed: 4,
  recent: 5,
  clean: 6,
};

/** What is counted of a backend since the start. */
export type BackendTotals = Pick<
  BackendRow,
  'calls' | 'successes' | 'failures' | 'timeouts' | 'rate_limited' | 'losses'
>;

type Rows = readonly [BackendRow, ...BackendRow[]];

/**
 * `/backends` over all workers, in the order of the first one's list, what it does not have after that. A backend is what it is
 * in the worker where it is worst: it is ready only where no worker avoids it, and `why` says in how many it is so.
 *
 * @param retired by name, what workers that are gone had counted
 */
export function mergeBackendRows(
  perWorker: readonly (readonly BackendRow[])[],
  retired: ReadonlyMap<string, BackendTotals> = new Map(),
): BackendRow[] {
  const byName = new Map<string, [BackendRow, ...BackendRow[]]>();
  for (const row of perWorker.flat()) {
    const rows = byName.get(row.name);
    if (rows === undefined) byName.set(row.name, [row]);
    else rows.push(row);
  }
  return [...byName].map(([name, rows]) => mergeRows(rows, retired.get(name)));
}

/** How many of these have a connection, in any worker: `/readyz`. */
export function connectedRows(rows: readonly BackendRow[]): number {
  return rows.filter(({ connections }) => connections > 0).length;
}

/** What was counted of one backend in several processes. */
export function sumTotals(all: readonly BackendTotals[]): BackendTotals {
  return {
    calls: sumOf(all, ({ calls }) => calls),
    successes: sumOf(all, ({ successes }) => successes),
    failures: sumOf(all, ({ failures }) => failures),
    timeouts: sumOf(all, ({ timeouts }) => timeouts),
    rate_limited: sumOf(all, ({ rate_limited }) => rate_limited),
    losses: sumByName(all.map(({ losses }) => losses)),
  };
}

function mergeRows(rows: Rows, retired: BackendTotals | undefined): BackendRow {
  const told = rows.reduce((worst, row) => (isWorse(row, worst) ? row : worst));
  const { name, group, address, target, source, state, since_ms, weight, priority } = told;
  const park = rows.reduce((longest, row) => (parkLength(row) > parkLength(longest) ? row : longest));
  const most = (of: (row: BackendRow) => number): number => Math.max(...rows.map(of));
  return {
    name,
    group,
    address,
    target,
    source,
    state,
    why: whyOf(told, rows),
    since_ms,
    in_flight: sumOf(rows, (row) => row.in_flight),
    queued: sumOf(rows, (row) => row.queued),
    ...sumTotals(retired === undefined ? rows : [...rows, retired]),
    failure_rate: failureRate(rows),
    consecutive_failures: most((row) => row.consecutive_failures),
    consecutive_hard_failures: most((row) => row.consecutive_hard_failures),
    threshold_breached: rows.some((row) => row.threshold_breached),
    parked_for_ms: rows.some((row) => row.parked_for_ms === null) ? null : most((row) => row.parked_for_ms ?? 0),
    park_reason: park.park_reason,
    park_streak: most((row) => row.park_streak),
    rate_limited_for_ms: most((row) => row.rate_limited_for_ms),
    recent_failure: rows.some((row) => row.recent_failure),
    standing: rows.reduce((worst, row) => (standingRank[row.standing] < standingRank[worst.standing] ? row : worst))
      .standing,
    ewma_ms: meanLatency(rows),
    samples: sumOf(rows, ({ samples }) => samples),
    release_route: told.release_route ?? firstOf(rows, (row) => row.release_route),
    connections: sumOf(rows, ({ connections }) => connections),
    generation: most(({ generation }) => generation),
    weight,
    priority,
    max_calls: mostCalls(rows),
    last_error: told.last_error ?? firstOf(rows, (row) => row.last_error),
    next_connect_in_ms: soonest(rows),
  };
}

/** Of equals the one that has been so for longest. */
function isWorse(row: BackendRow, than: BackendRow): boolean {
  const by =
    stateRank[row.state] - stateRank[than.state] ||
    standingRank[row.standing] - standingRank[than.standing] ||
    than.since_ms - row.since_ms;
  return by < 0;
}

function whyOf(told: BackendRow, rows: Rows): string | null {
  // Words about one state differ in numbers alone; those about a ready one are of its standing.
  const alike = rows.filter(
    ({ state, standing }) => state === told.state && (state !== 'ready' || standing === told.standing),
  );
  if (alike.length === rows.length) return told.why;
  const where = `in ${alike.length} of ${rows.length} workers`;
  return told.why === null ? where : `${where}: ${told.why}`;
}

/** One without an end is above all others, one by failures above a rate limit. */
function parkLength({ parked_for_ms, park_reason }: BackendRow): number {
  if (parked_for_ms === null) return Number.POSITIVE_INFINITY;
  return parked_for_ms > 0 ? parked_for_ms : park_reason === null ? -1 : 0;
}

/** By attempts, as many more of them make a worker's own average mean more to calls. 0 where there were none. */
function failureRate(rows: Rows): number {
  const calls = sumOf(rows, (row) => row.calls);
  const failed = sumOf(rows, (row) => row.failure_rate * row.calls);
  return calls === 0 ? 0 : round(failed / calls, 3);
}

function meanLatency(rows: Rows): number | null {
  const known = rows.flatMap(({ ewma_ms, samples }) => (ewma_ms === null ? [] : [{ ewma_ms, samples }]));
  const samples = sumOf(known, (row) => row.samples);
  return samples === 0 ? null : round(sumOf(known, (row) => row.ewma_ms * row.samples) / samples, 1);
}

/** Each worker has its share of the limit. */
function mostCalls(rows: Rows): number | null {
  return rows.some(({ max_calls }) => max_calls === null) ? null : sumOf(rows, ({ max_calls }) => max_calls ?? 0);
}

function soonest(rows: Rows): number | null {
  const waits = rows.flatMap(({ next_connect_in_ms }) => next_connect_in_ms ?? []);
  return waits.length === 0 ? null : Math.min(...waits);
}

function firstOf<T>(rows: Rows, of: (row: BackendRow) => T | null): T | null {
  for (const row of rows) {
    const value = of(row);
    if (value !== null) return value;
  }
  return null;
}
