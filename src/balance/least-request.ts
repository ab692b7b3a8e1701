import { nobody, type Order } from './order.js';
import type { Candidate } from './types.js';

/**
 * Least request (gRFC A48): of `choiceCount` backends that are drawn from the best tier, each as likely as the others and one
 * perhaps twice, the one with the least load for its weight; of equals the one drawn first. The call that is to come counts as
 * load, so that weights tell among idle backends too.
 *
 * @param choiceCount at least 2
 * @param random numbers in [0, 1)
 */
export function createLeastRequest(choiceCount: number, random: () => number): Order {
  let known: readonly Candidate[] = [];
  /** Where the members of the tier stand; kept from pick to pick, so that none allocates. */
  let members: number[] = [];

  /** Whether `a` would be less loaded by one more call than `b`. */
  function isLess(a: Candidate | undefined, b: Candidate | undefined): boolean {
    return a !== undefined && b !== undefined && (a.load + 1) * b.weight < (b.load + 1) * a.weight;
  }

  return {
    learn(candidates) {
      known = candidates;
      members = candidates.map(() => 0);
    },
    choose(ranks, best) {
      let count = 0;
      for (let at = 0; at < known.length; at += 1) {
        if (ranks[at] !== best) continue;
        members[count] = at;
        count += 1;
      }
      if (count <= 1) return count === 0 ? nobody : (members[0] ?? nobody);
      let found = nobody;
      for (let i = 0; i < choiceCount; i += 1) {
        const drawn = members[Math.floor(random() * count)] ?? nobody;
        if (found === nobody || isLess(known[drawn], known[found])) found = drawn;
      }
      return found;
    },
    quick: null,
  };
}
