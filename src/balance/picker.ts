import type { BackendId } from '../grpc/backend-id.js';
import type { BalancingConfig } from '../grpc/balancing-config.js';
import { allows } from './bounds.js';
import { createLeastRequest } from './least-request.js';
import { allFull, type Order } from './order.js';
import { createPickFirst } from './pick-first.js';
import { createRoundRobin } from './round-robin.js';
import { type Asker, isFailureParkedRank, isParkedRank, nowhere, priorityOf, rankOf, rankOfWell } from './tiers.js';
import type { Candidate, HealthView, Pick, Picker, PickQuery } from './types.js';

export interface PickerOptions {
  /** Hedges go to backends that their call has not tried, or nowhere (D16). */
  readonly hedgeDistinct: boolean;
  /** What becomes of a strict pin whose backend is parked (D8). */
  readonly pinOnParked: 'fail' | 'try';
}

const none: Pick = { kind: 'none' };
const overloaded: Pick = { kind: 'overloaded' };
const skipped: Pick = { kind: 'skipped' };

/** Askers of each kind, made once: a pick allocates nothing. */
const askers = {
  first: { first: true, sparing: false },
  later: { first: false, sparing: false },
  hedge: { first: false, sparing: true },
  pinnedFirst: { first: true, sparing: true },
  pinnedLater: { first: false, sparing: true },
} as const satisfies Record<string, Asker>;

/**
 * Chooses backends by the tiers of 4.4, inside a tier by the balancing policy.
 *
 * @param health how backends stand; it is asked, never told
 * @param random numbers in [0, 1)
 */
export function createPicker(
  config: BalancingConfig,
  health: HealthView,
  options: PickerOptions,
  random: () => number,
): Picker {
  return new TieredPicker(orderOf(config, random), health, options);
}

function orderOf(config: BalancingConfig, random: () => number): Order {
  switch (config.kind) {
    case 'round_robin':
      return createRoundRobin();
    case 'pick_first':
      return createPickFirst(config.shuffle, random);
    case 'least_request':
      return createLeastRequest(config.choiceCount, random);
    default:
      return config satisfies never;
  }
}

class TieredPicker implements Picker {
  private readonly order: Order;
  private readonly health: HealthView;
  private readonly options: PickerOptions;
  private known: readonly Candidate[] = [];
  /** Made once for each candidate: a pick allocates nothing. */
  private picks: readonly Pick[] = [];
  /** The order's shorter way, where no priorities stand against it. */
  private quick: Order['quick'] = null;

  // What `rank` found, for the pick that is being made.
  private ranks: number[] = [];
  private best = nowhere;
  /** A backend within reach has a full queue. */
  private full = false;
  /** A backend is left out for having been tried; `open`: it could have been used. */
  private tried: 'no' | 'closed' | 'open' = 'no';
  /** The lapsed backend that this call would be the probe of, as an index. */
  private probe = -1;

  constructor(order: Order, health: HealthView, options: PickerOptions) {
    this.order = order;
    this.health = health;
    this.options = options;
  }

  pick(candidates: readonly Candidate[], query: PickQuery): Pick {
    if (candidates !== this.known) this.learn(candidates);
    const { tried, failed, bounds, cause } = query;
    const steered = cause !== 'first' || bounds !== null || failed.length > 0 || tried.length > 0;
    // The hot path: a scan that ends at the first who is ready. No health is looked up, nothing is allocated.
    if (!steered && this.quick !== null && this.health.calm) return this.use(this.quick(candidates));
    const asker = askerOf(query);
    if (steered || !this.health.calm) this.rank(candidates, query, asker);
    else this.rankInCalm(candidates);
    if (this.probe >= 0 && this.isWorthProbing(candidates)) return this.use(this.probe);
    return this.choose(candidates, query, asker, steered);
  }

  private learn(candidates: readonly Candidate[]): void {
    this.order.learn(candidates);
    this.picks = candidates.map(({ id }) => ({ kind: 'use', id }));
    this.ranks = candidates.map(() => nowhere);
    const samePriority = candidates.every(({ priority }) => priority === candidates[0]?.priority);
    this.quick = samePriority ? this.order.quick : null;
    this.known = candidates;
  }

  private use(at: number): Pick {
    return this.picks[at] ?? (at === allFull ? overloaded : none);
  }

  /** As `rank`, for a first attempt that may go anywhere while all are well: the hot path of weights and of other orders. */
  private rankInCalm(candidates: readonly Candidate[]): void {
    const { ranks } = this;
    this.clear();
    for (let at = 0; at < candidates.length; at += 1) {
      const candidate = candidates[at];
      if (candidate === undefined) continue;
      const rank = rankOfWell(candidate);
      ranks[at] = rank;
      if (rank < this.best) this.best = rank;
      else if (rank === nowhere && candidate.link === 'full') this.full = true;
    }
  }

  private clear(): void {
    this.best = nowhere;
    this.full = false;
    this.tried = 'no';
    this.probe = -1;
  }

  private rank(candidates: readonly Candidate[], query: PickQuery, asker: Asker): void {
    const { tried, failed, bounds, cause, now } = query;
    const distinct = cause === 'hedge' && this.options.hedgeDistinct;
    // To a first attempt a recent failure is none.
    const unasked = asker.first && this.health.calm;
    this.clear();
    for (let at = 0; at < candidates.length; at += 1) {
      this.ranks[at] = nowhere;
      const candidate = candidates[at];
      if (candidate === undefined || (failed.length > 0 && failed.includes(candidate.id))) continue;
      if (bounds !== null && !allows(bounds, candidate)) continue;
      const { id, link } = candidate;
      const isTried = tried.includes(id);
      if (isTried && distinct) {
        if (link !== 'full' && link !== 'backoff') this.tried = 'open';
        else if (this.tried === 'no') this.tried = 'closed';
        continue;
      }
      if (link === 'full') this.full = true;
      let standing = unasked ? 'clean' : this.health.standing(id, now);
      // A strict pin has no alternative: the probe limit does not hold it back (D8).
      if (standing === 'probing' && bounds !== null && bounds.only !== null && bounds.strict) standing = 'lapsed';
      const mayProbe = standing === 'lapsed' && this.mayProbe(id, query);
      const rank = rankOf(candidate, standing, isTried, mayProbe, asker);
      this.ranks[at] = rank;
      if (rank < this.best) this.best = rank;
      if (mayProbe && link === 'ready' && !isTried && cause === 'first') this.offerProbe(candidates, at, query);
    }
  }

  private mayProbe(id: BackendId, { bounds, guarded, now }: PickQuery): boolean {
    // Who asks for this very backend is its probe, whenever that comes.
    return (bounds !== null && bounds.only !== null) || this.health.mayProbe(id, now, guarded);
  }

  /** Of several that lapsed, the one whose priority is used first, then the one that lapsed first. */
  private offerProbe(candidates: readonly Candidate[], at: number, { bounds }: PickQuery): void {
    if (bounds !== null && bounds.only !== null) return;
    const [before, other] = [candidates[this.probe], candidates[at]];
    if (other === undefined) return;
    const isBetter =
      before === undefined ||
      other.priority < before.priority ||
      (other.priority === before.priority && this.health.parkedUntil(other.id) < this.health.parkedUntil(before.id));
    if (isBetter) this.probe = at;
  }

  /** Not where its priority is not in use: it is probed when it is wanted. */
  private isWorthProbing(candidates: readonly Candidate[]): boolean {
    const probe = candidates[this.probe];
    return probe !== undefined && probe.priority <= priorityOf(this.best);
  }

  private choose(candidates: readonly Candidate[], query: PickQuery, asker: Asker, steered: boolean): Pick {
    const { best } = this;
    if (best === nowhere) return this.nothing();
    if (isParkedRank(asker, best)) {
      // Hedges take a parked backend only where nothing else is in the pool (D16); a pin's rules are its own.
      const spared = asker === askers.hedge;
      if (spared && this.tried === 'open') return skipped;
      if (spared && this.full) return overloaded;
      if (isFailureParkedRank(asker, best) && !this.mayTryParked(candidates, query))
        return this.refuse(candidates, query);
      this.keepSoonest(candidates);
      return this.use(this.order.choose(this.ranks, best, true));
    }
    return this.use(this.order.choose(this.ranks, best, steered));
  }

  private nothing(): Pick {
    if (this.tried === 'open') return skipped;
    if (this.full) return overloaded;
    return this.tried === 'closed' ? skipped : none;
  }

  /** D8: a pin's parked backend is refused, but for these; picks without a pin take it where nothing better is left (D32). */
  private mayTryParked(candidates: readonly Candidate[], { bounds, now }: PickQuery): boolean {
    if (bounds === null || bounds.only === null || this.options.pinOnParked === 'try') return true;
    return candidates.every(({ id, link }) => link === 'backoff' || this.health.standing(id, now) === 'parked');
  }

  private refuse(candidates: readonly Candidate[], { bounds }: PickQuery): Pick {
    if (this.full) return overloaded;
    const soonest = candidates[this.keepSoonest(candidates)];
    if (soonest === undefined || bounds === null || !bounds.strict) return none;
    return { kind: 'parked', id: soonest.id, until: this.health.parkedUntil(soonest.id) };
  }

  /** Takes all but those whose park ends first out of the best rank; gives one that stays. */
  private keepSoonest(candidates: readonly Candidate[]): number {
    let soonest = -1;
    let until = Number.POSITIVE_INFINITY;
    for (let at = 0; at < candidates.length; at += 1) {
      const candidate = candidates[at];
      if (candidate === undefined || this.ranks[at] !== this.best) continue;
      const its = this.health.parkedUntil(candidate.id);
      if (soonest >= 0 && its >= until) continue;
      soonest = at;
      until = its;
    }
    for (let at = 0; at < candidates.length; at += 1) {
      const candidate = candidates[at];
      if (candidate === undefined || this.ranks[at] !== this.best) continue;
      if (this.health.parkedUntil(candidate.id) > until) this.ranks[at] = nowhere;
    }
    return soonest;
  }
}

function askerOf({ bounds, cause }: PickQuery): Asker {
  if (bounds !== null && bounds.only !== null) return cause === 'first' ? askers.pinnedFirst : askers.pinnedLater;
  if (cause === 'hedge') return askers.hedge;
  return cause === 'first' ? askers.first : askers.later;
}
