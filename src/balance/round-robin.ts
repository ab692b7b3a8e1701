import type { BackendId } from '../grpc/backend-id.js';
import { allows } from './bounds.js';
import type { Bounds, Candidate, Pick, Picker } from './types.js';

const none: Pick = { kind: 'none' };
const overloaded: Pick = { kind: 'overloaded' };

/** One backend's place in the rotation. */
interface Place {
  readonly id: BackendId;
  /** Made once: a pick allocates nothing. */
  readonly use: Pick;
  /** The number of the last steered pick that came here; 0 is never. */
  steeredAt: number;
}

/** The tiers of one steered pick, best first (D16): a backend that takes a stream now before one to wait for, an untried one before both. */
const tiers = 4;

/**
 * Round robin. A call's first pick takes the next ready backend from a cursor. Picks that are steered away from some
 * backends take, of the best tier, the one that steered picks left alone for longest, and leave the cursor where it is: a
 * backend that fails gets no more first attempts than its share, and what it drops is spread over all the others instead of
 * going to its neighbour. A pick within bounds is a steered one too, also a call's first: pins and excludes do not turn the
 * rotation of the calls that have none.
 */
export function createRoundRobin(): Picker {
  let known: readonly Candidate[] = [];
  let places: readonly Place[] = [];
  let cursor = 0;
  let steered = 0;

  function learn(candidates: readonly Candidate[]): void {
    const before = new Map(places.map((place) => [place.id, place]));
    places = candidates.map(({ id }) => before.get(id) ?? { id, use: { kind: 'use', id }, steeredAt: 0 });
    known = candidates;
  }

  function take(at: number): Pick {
    cursor = at + 1;
    return places[at]?.use ?? none;
  }

  function first(candidates: readonly Candidate[]): Pick {
    const { length } = candidates;
    let waiting = -1;
    let full = false;
    for (let i = 0; i < length; i += 1) {
      const at = (cursor + i) % length;
      switch (candidates[at]?.link) {
        case 'ready':
          return take(at);
        case 'busy':
        case 'idle':
        case 'connecting':
          if (waiting < 0) waiting = at;
          break;
        case 'full':
          full = true;
          break;
      }
    }
    if (waiting >= 0) return take(waiting);
    return full ? overloaded : none;
  }

  function steer(
    candidates: readonly Candidate[],
    tried: readonly BackendId[],
    failed: readonly BackendId[],
    bounds: Bounds | null,
  ): Pick {
    let best: Place | null = null;
    let bestTier = tiers;
    let full = false;
    for (let at = 0; at < candidates.length; at += 1) {
      const candidate = candidates[at];
      const place = places[at];
      if (candidate === undefined || place === undefined || failed.includes(place.id)) continue;
      if (bounds !== null && !allows(bounds, candidate)) continue;
      const { link } = candidate;
      if (link === 'full') full = true;
      if (link === 'full' || link === 'backoff') continue;
      const tier = (tried.includes(place.id) ? 2 : 0) + (link === 'ready' ? 0 : 1);
      if (tier > bestTier || (tier === bestTier && best !== null && place.steeredAt >= best.steeredAt)) continue;
      best = place;
      bestTier = tier;
    }
    if (best === null) return full ? overloaded : none;
    steered += 1;
    best.steeredAt = steered;
    return best.use;
  }

  return {
    pick(candidates, { tried, failed, bounds }) {
      if (candidates !== known) learn(candidates);
      if (bounds === null && tried.length === 0 && failed.length === 0) return first(candidates);
      return steer(candidates, tried, failed, bounds);
    },
  };
}
