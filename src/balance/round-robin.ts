import type { BackendId } from '../grpc/backend-id.js';
import { allFull, nobody, type Order } from './order.js';
import type { Candidate } from './types.js';

/** One backend's place in the rotation. */
interface Place {
  readonly id: BackendId;
  weight: number;
  /** Smooth weighted round robin: how far first picks are behind with this one, in weights. */
  owed: number;
  /** When it is this one's turn among steered picks, on their own clock: each pick moves it by 1 / weight. */
  due: number;
  /** The number of the last steered pick that came here; 0 is never. */
  steeredAt: number;
}

/**
 * Round robin. A call's first pick takes the next backend of the best tier from a cursor; with unequal weights, smooth weighted
 * round robin takes its place: exact shares over each period, and none twice in a row more than its weight demands. Picks that
 * are steered away from some backends take the one that steered picks left alone for longest, by weight, and leave the
 * rotation where it is: a backend that fails gets no more first attempts than its share, and what it drops is spread over all
 * the others instead of going to its neighbour. A pick within bounds is a steered one too, also a call's first: pins and
 * excludes do not turn the rotation of the calls that have none.
 */
export function createRoundRobin(): Order {
  let places: readonly Place[] = [];
  let equal = true;
  let cursor = 0;
  let steered = 0;
  let steeredTime = 0;

  function learn(candidates: readonly Candidate[]): void {
    const before = new Map(places.map((place) => [place.id, place]));
    places = candidates.map(({ id, weight }) => {
      const place = before.get(id) ?? { id, weight, owed: 0, due: 0, steeredAt: 0 };
      place.weight = weight;
      return place;
    });
    equal = places.every(({ weight }) => weight === places[0]?.weight);
  }

  /** A scan from the cursor; it allocates nothing and asks no further than the first that is ready. */
  function quick(candidates: readonly Candidate[]): number {
    const { length } = candidates;
    let waiting = nobody;
    let full = false;
    for (let i = 0; i < length; i += 1) {
      const at = (cursor + i) % length;
      switch (candidates[at]?.link) {
        case 'ready':
          cursor = at + 1;
          return at;
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
    if (waiting >= 0) cursor = waiting + 1;
    return waiting < 0 && full ? allFull : waiting;
  }

  function next(ranks: readonly number[], best: number): number {
    const { length } = places;
    for (let i = 0; i < length; i += 1) {
      const at = (cursor + i) % length;
      if (ranks[at] !== best) continue;
      cursor = at + 1;
      return at;
    }
    return nobody;
  }

  /** Each member gains its weight, the one that is owed most is taken and gives back what all gained. */
  function nextByWeight(ranks: readonly number[], best: number): number {
    let total = 0;
    let found = nobody;
    let taken: Place | null = null;
    for (let at = 0; at < places.length; at += 1) {
      const place = places[at];
      if (place === undefined || ranks[at] !== best) continue;
      place.owed += place.weight;
      total += place.weight;
      if (taken !== null && place.owed <= taken.owed) continue;
      taken = place;
      found = at;
    }
    if (taken !== null) taken.owed -= total;
    return found;
  }

  function steer(ranks: readonly number[], best: number): number {
    let found = nobody;
    let taken: Place | null = null;
    let takenDue = 0;
    for (let at = 0; at < places.length; at += 1) {
      const place = places[at];
      if (place === undefined || ranks[at] !== best) continue;
      // Who could not be picked for a while is next, and is owed no more than that.
      const due = Math.max(place.due, steeredTime);
      if (taken !== null && (due > takenDue || (due === takenDue && place.steeredAt >= taken.steeredAt))) continue;
      taken = place;
      takenDue = due;
      found = at;
    }
    if (taken === null) return nobody;
    steered += 1;
    steeredTime = takenDue;
    taken.due = takenDue + 1 / taken.weight;
    taken.steeredAt = steered;
    return found;
  }

  return {
    learn,
    choose(ranks, best, isSteered) {
      if (isSteered) return steer(ranks, best);
      return equal ? next(ranks, best) : nextByWeight(ranks, best);
    },
    get quick() {
      return equal ? quick : null;
    },
  };
}
