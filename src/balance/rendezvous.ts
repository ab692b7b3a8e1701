import type { BackendId } from '../grpc/backend-id.js';
import type { Candidate } from './types.js';

/** What the choice depends on: nothing that differs between two processes which see the same backends. */
export type Placeable = Pick<Candidate, 'id' | 'weight'>;

/**
 * The backend of a new session (D31), by weighted rendezvous hashing: each usable backend draws a number from the key and its
 * own id, and the highest wins. Replicas agree without a word; where a backend leaves only its own keys move, where one comes
 * it takes its share and nothing else moves. Does not depend on the order of the candidates.
 *
 * @param key any text; its characters' low 8 bits count
 * @param usable which candidates may have it; asked once for each
 * @returns null where none is usable
 */
export function placeByRendezvous<C extends Placeable>(
  key: string,
  candidates: readonly C[],
  usable: (candidate: C) => boolean,
): BackendId | null {
  const low = absorb(lowSeed, key);
  const high = absorb(highSeed, key);
  let best: BackendId | null = null;
  let bestScore = 0;
  for (const candidate of candidates) {
    if (!usable(candidate)) continue;
    const { id, weight } = candidate;
    const score = weight / -Math.log(unit(finish(absorb(low, id)), finish(absorb(high, id))));
    // Every score is above 0. Two of one key are never equal, but for a chance of one in 2^52.
    if (score <= bestScore) continue;
    best = id;
    bestScore = score;
  }
  return best;
}

/** Two lanes of 32 bits: one alone would give too few different scores. Any two unlike numbers. */
const lowSeed = 0x9e3779b9;
const highSeed = 0x85ebca6b;

/** MurmurHash3's step for 32 bits, a character at a time. */
function absorb(seed: number, text: string): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) {
    let block = Math.imul(text.charCodeAt(at) & 0xff, 0xcc9e2d51);
    block = Math.imul((block << 15) | (block >>> 17), 0x1b873593);
    hash ^= block;
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  return hash ^ text.length;
}

/** MurmurHash3's last mix: every bit of the input moves every bit of the result. */
function finish(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** A number in (0, 1), both ends left out: their logarithm is no score. 52 bits: with a half added it is exact. */
function unit(low: number, high: number): number {
  return ((low >>> 6) * 0x4000000 + (high >>> 6) + 0.5) / 0x10000000000000;
}
