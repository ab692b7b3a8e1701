import type { Candidate, Standing } from './types.js';

/**
 * The tiers of one pick, best first (4.4), as numbers to compare. Tiers 0 to 3 hold the backends that are *usable*; they are
 * gone through once for each priority. What is left serves where no priority has anybody usable, over all priorities.
 *
 * | 4.4 | here | members |
 * |---|---|---|
 * | 0 | fresh | a stream can be had at once, clean, not tried |
 * | 1 | recent | so too, and failed a short while ago; a first attempt does not tell it from 0 |
 * | 2 | lapsed | its park is over and the call may be its probe, not tried |
 * | 2b | waiting | the call would wait for a connection or for a stream, not tried |
 * | 3 | tried | tried, neither parked nor breached |
 * | 4 | limited | rate-limit parked; untried ones first |
 * | 5 | the rest | breached; parked, or with a probe that is another call's; of each, untried ones first |
 *
 * Of one tier, those that take a stream now come first (4.4, "Connected is preferred").
 */
const usable = { fresh: 0, recent: 1, lapsed: 2, waiting: 3, tried: 4 } as const;

/** Tiers 4 and 5 of ordinary picks. A breached backend that is untried still answers some calls: it comes before the parked. */
const lastResorts = { limited: 0, triedLimited: 1, breached: 2, parked: 3, triedBreached: 4, triedParked: 5 } as const;

/**
 * Tiers 4 and 5 of those that must not come to a parked backend while any other is left: hedges (D16), and pins (D8), whose
 * group may have a member that is not parked. Rate-limit parks are parks to a hedge; a pin is served there (D10).
 */
const sparing = { breached: 0, triedBreached: 1, limited: 2, triedLimited: 3, parked: 4, triedParked: 5 } as const;

type LastResort = keyof typeof lastResorts;

/** In no tier. */
export const nowhere = 1_000_000;
/** Ranks of one priority: five tiers, each of those that are ready and those that are not. */
const perPriority = 10;
/** Over those of all priorities. */
const firstOfLast = 1000;

/** Who asks. */
export interface Asker {
  /** A call's first attempt. */
  readonly first: boolean;
  /** Parked backends are for it only where nothing else is left. */
  readonly sparing: boolean;
}

/**
 * @param mayProbe a lapsed backend's probe may be this call
 * @returns the lower the better; equal for candidates that are as good as each other; `nowhere` for those that are out
 */
export function rankOf(
  candidate: Candidate,
  standing: Standing,
  tried: boolean,
  mayProbe: boolean,
  asker: Asker,
): number {
  const { link, priority } = candidate;
  if (link === 'backoff' || link === 'full') return nowhere;
  const ready = link === 'ready';
  switch (standing) {
    case 'clean':
      return tried ? rankOfUsable(priority, usable.tried, ready) : rankOfWell(candidate);
    case 'recent': {
      const asClean = asker.first ? usable.fresh : usable.recent;
      return rankOfUsable(priority, tried ? usable.tried : ready ? asClean : usable.waiting, ready);
    }
    case 'lapsed':
      if (!mayProbe) return rankOfLast(asker, tried ? 'triedParked' : 'parked', ready);
      // Of those that were tried, one that has answered since comes first.
      return tried ? rankOfUsable(priority, usable.tried, false) : rankOfUsable(priority, usable.lapsed, ready);
    case 'probing':
    case 'parked':
      return rankOfLast(asker, tried ? 'triedParked' : 'parked', ready);
    case 'breached':
      return rankOfLast(asker, tried ? 'triedBreached' : 'breached', ready);
    case 'rate_limited':
      return rankOfLast(asker, tried ? 'triedLimited' : 'limited', ready);
    default:
      return standing satisfies never;
  }
}

/** `rankOf` of a clean candidate that was not tried. */
export function rankOfWell({ link, priority }: Candidate): number {
  if (link === 'ready') return rankOfUsable(priority, usable.fresh, true);
  return link === 'backoff' || link === 'full' ? nowhere : rankOfUsable(priority, usable.waiting, false);
}

function rankOfUsable(priority: number, tier: number, ready: boolean): number {
  return priority * perPriority + tier * 2 + (ready ? 0 : 1);
}

function rankOfLast(asker: Asker, tier: LastResort, ready: boolean): number {
  return firstOfLast + (asker.sparing ? sparing : lastResorts)[tier] * 2 + (ready ? 0 : 1);
}

/** The priority of a usable candidate's rank; over all priorities for others. */
export function priorityOf(rank: number): number {
  return rank < firstOfLast ? Math.floor(rank / perPriority) : firstOfLast;
}

/** Whether candidates of that rank are parked in any way, so that the one whose park ends soonest is the best of them. */
export function isParkedRank(asker: Asker, rank: number): boolean {
  return isLastResort(asker, rank, 'limited', 'triedLimited') || isFailureParkedRank(asker, rank);
}

/** Whether they are parked for their failures. */
export function isFailureParkedRank(asker: Asker, rank: number): boolean {
  return isLastResort(asker, rank, 'parked', 'triedParked');
}

function isLastResort(asker: Asker, rank: number, untried: LastResort, tried: LastResort): boolean {
  if (rank < firstOfLast || rank === nowhere) return false;
  const table = asker.sparing ? sparing : lastResorts;
  const tier = Math.floor((rank - firstOfLast) / 2);
  return tier === table[untried] || tier === table[tried];
}
