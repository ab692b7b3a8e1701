import type { BackendId } from '../grpc/backend-id.js';
import { nobody, type Order } from './order.js';

/**
 * Pick first: always the first of the best tier in the configured order, so that a backend further down gets calls only while
 * those before it cannot be had, or as the target of retries and hedges. Weights mean nothing here.
 *
 * @param shuffle the order is drawn: each backend gets its place when it is first seen and keeps it while others come and go
 * @param random numbers in [0, 1)
 */
export function createPickFirst(shuffle: boolean, random: () => number): Order {
  /** Indices of the candidates, first choice first. */
  let order: readonly number[] = [];
  let draws = new Map<BackendId, number>();

  return {
    learn(candidates) {
      order = candidates.map((_, at) => at);
      if (!shuffle) return;
      draws = new Map(candidates.map(({ id }) => [id, draws.get(id) ?? random()]));
      const drawn = candidates.map(({ id }) => draws.get(id) ?? 0);
      order = order.toSorted((a, b) => (drawn[a] ?? 0) - (drawn[b] ?? 0));
    },
    choose(ranks, best) {
      for (const at of order) if (ranks[at] === best) return at;
      return nobody;
    },
    quick: null,
  };
}
