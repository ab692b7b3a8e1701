import type { Candidate } from './types.js';

/** What `quick` finds where there is nobody to take. */
export const nobody = -1;
/** Nobody to take, and somebody whose queue is full. */
export const allFull = -2;

/**
 * The order inside a tier: which of several candidates that are as good as each other a pick comes to. Indices are those of the
 * candidates that were learnt last.
 */
export interface Order {
  /** The set is another one; what is remembered of those that stay is kept. */
  learn(candidates: readonly Candidate[]): void;
  /**
   * Among the candidates whose rank is `best`, of which there is at least one.
   *
   * @param steered the pick is led away from some backends, or bound to some: it must not turn the rotation of those that are not
   */
  choose(ranks: readonly number[], best: number, steered: boolean): number;
  /**
   * A first attempt's choice where health, weights and priorities tell nobody apart: a connected one, else one to wait for,
   * else `nobody` or `allFull`. Null where this order has no shorter way than ranks.
   */
  readonly quick: ((candidates: readonly Candidate[]) => number) | null;
}
