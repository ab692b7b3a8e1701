/** What becomes of the rounds of a measure. Pure. */

/** @param {readonly number[]} numbers */
export function median(numbers) {
  return quantile(numbers, 0.5);
}

/**
 * By linear interpolation between the two nearest ranks; NaN of nothing.
 * @param {readonly number[]} numbers @param {number} q in [0, 1]
 */
export function quantile(numbers, q) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** @param {readonly number[]} rounds @returns {import('./statistics.mjs').Spread} */
export function spread(rounds) {
  return rounds.length === 0
    ? { median: Number.NaN, low: Number.NaN, high: Number.NaN, rounds: 0 }
    : { median: median(rounds), low: Math.min(...rounds), high: Math.max(...rounds), rounds: rounds.length };
}

/**
 * Round by round, ours over theirs: rounds are interleaved, so that what disturbs the machine for a while disturbs both.
 * @param {readonly number[]} ours @param {readonly number[]} theirs
 */
export function ratios(ours, theirs) {
  const rounds = Math.min(ours.length, theirs.length);
  return spread(Array.from({ length: rounds }, (_, i) => (ours[i] ?? Number.NaN) / (theirs[i] ?? Number.NaN)));
}
