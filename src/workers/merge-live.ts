import type { LiveSnapshot } from '../admin/live.js';
import { mostMethods } from '../admin/live-math.js';
import type { LiveCalls, LiveHistogram, LiveMethod } from '../proxy/live-numbers.js';
import { type BackendTotals, mergeBackendRows, sumTotals } from './merge-backends.js';
import { sumByName, sumByPlace, sumOf } from './merge-counts.js';
import { sumThrottles } from './merge-throttle.js';

/** What the primary knows of the program as a whole. */
export type OwnFacts = Pick<LiveSnapshot, 'instance' | 'at' | 'uptime_ms' | 'draining' | 'drained' | 'config'>;

/** What is counted since the start. */
type LiveTotals = Pick<LiveSnapshot, 'calls' | 'codes' | 'reasons' | 'attempts' | 'latency' | 'methods'>;

/** Names that are kept of backends, and of methods, that workers which are gone had calls of. */
const mostBackends = 500;
const mostRetiredMethods = 500;

/** The totals of workers that are gone: without them totals would fall when one dies, and readers take differences. */
export class RetiredTotals {
  private sum: LiveTotals | null = null;
  private held = 0;
  private counted: ReadonlyMap<string, BackendTotals> = new Map();

  /** Null: none is gone. */
  get totals(): LiveTotals | null {
    return this.sum;
  }

  /** Calls whose next attempt their throttles held back. */
  get suppressed(): number {
    return this.held;
  }

  /** By name. */
  get backends(): ReadonlyMap<string, BackendTotals> {
    return this.counted;
  }

  /** @param last what a worker that is gone told last; once for each */
  retire(last: LiveSnapshot): void {
    const { calls, codes, reasons, attempts, latency, methods } = last;
    const sum = sumLive([
      ...(this.sum === null ? [] : [this.sum]),
      { calls, codes, reasons, attempts, latency, methods },
    ]);
    this.sum = { ...sum, methods: sum.methods.slice(0, mostRetiredMethods) };
    this.held += last.throttle?.suppressed ?? 0;
    const backends = new Map(this.counted);
    for (const row of last.backends) {
      const known = backends.get(row.name);
      backends.set(row.name, sumTotals(known === undefined ? [row] : [known, row]));
    }
    // Registered backends come and go for ever.
    if (backends.size > mostBackends) {
      const there = new Set(last.backends.map(({ name }) => name));
      for (const name of backends.keys()) if (!there.has(name)) backends.delete(name);
    }
    this.counted = backends;
  }
}

/** `/live` over all workers: one snapshot as a single process would tell it. */
export function mergeLive(
  perWorker: readonly LiveSnapshot[],
  own: OwnFacts,
  retired: RetiredTotals = new RetiredTotals(),
): LiveSnapshot {
  const { instance, at, uptime_ms, draining, drained, config } = own;
  const past = retired.totals;
  const totals = sumLive(past === null ? perWorker : [...perWorker, past]);
  const buckets = perWorker.flatMap(({ throttle }) => throttle ?? []);
  return {
    version: perWorker.find(({ version }) => version !== '')?.version ?? '',
    ...totals,
    methods: totals.methods.slice(0, mostMethods),
    instance,
    at,
    uptime_ms,
    draining,
    drained,
    // As /readyz has it: a connection in any worker.
    ready: !draining && perWorker.some(({ ready }) => ready),
    config,
    in_flight: sumOf(perWorker, ({ in_flight }) => in_flight),
    clients: sumOf(perWorker, ({ clients }) => clients),
    throttle: sumThrottles(buckets, retired.suppressed),
    replay: {
      held: sumOf(perWorker, ({ replay }) => replay.held),
      limit: sumOf(perWorker, ({ replay }) => replay.limit),
    },
    backends: mergeBackendRows(
      perWorker.map(({ backends }) => backends),
      retired.backends,
    ),
  };
}

function sumLive(all: readonly LiveTotals[]): LiveTotals {
  return {
    calls: sumCalls(all.map(({ calls }) => calls)),
    codes: sumByName(all.map(({ codes }) => codes)),
    reasons: sumByName(all.map(({ reasons }) => reasons)),
    attempts: sumByPlace(all.map(({ attempts }) => attempts)),
    latency: {
      calls: sumHistograms(all.map(({ latency }) => latency.calls)),
      first_ended: sumHistograms(all.map(({ latency }) => latency.first_ended)),
      first_cut: sumHistograms(all.map(({ latency }) => latency.first_cut)),
    },
    methods: sumMethods(all.flatMap(({ methods }) => methods)),
  };
}

function sumCalls(all: readonly LiveCalls[]): LiveCalls {
  return {
    ended: sumOf(all, ({ ended }) => ended),
    ok: sumOf(all, ({ ok }) => ok),
    cancelled: sumOf(all, ({ cancelled }) => cancelled),
    saved: sumOf(all, ({ saved }) => saved),
    retried: sumOf(all, ({ retried }) => retried),
    hedged: sumOf(all, ({ hedged }) => hedged),
    hedges_won: sumOf(all, ({ hedges_won }) => hedges_won),
  };
}

/** Those with most calls first. */
function sumMethods(all: readonly LiveMethod[]): LiveMethod[] {
  const byName = new Map<string, LiveMethod[]>();
  for (const one of all) {
    const rows = byName.get(one.method);
    if (rows === undefined) byName.set(one.method, [one]);
    else rows.push(one);
  }
  return [...byName].map(([method, rows]) => ({ method, ...sumCalls(rows) })).sort((a, b) => b.ended - a.ended);
}

/** Bounds are one list in all processes of a version. */
function sumHistograms(all: readonly LiveHistogram[]): LiveHistogram {
  return { bounds_ms: all[0]?.bounds_ms ?? [], counts: sumByPlace(all.map(({ counts }) => counts)) };
}
