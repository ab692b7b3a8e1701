import fc from 'fast-check';

/** Inputs for each property, where more than usual are wanted: `FUZZ_RUNS=1000000`. */
const wanted = Number(process.env['FUZZ_RUNS'] ?? 0);
/** The new seed, where it is to be a certain one: a long run that does not come to an end is found again so. */
const seed = process.env['FUZZ_SEED'];

/** How long a test that fuzzes may take (ms). */
export const fuzzTimeout: number = wanted > 0 ? 24 * 60 * 60 * 1000 : 60_000;

/** Inputs for each kept seed. */
const keptRuns = 200;

/**
 * Holds a property against random inputs by a new seed, and by seeds that are kept: those that found something (fast-check
 * prints the seed of what fails) and a few that never did, so that a run is never all luck.
 * @param runs inputs by the new seed, where `FUZZ_RUNS` does not ask for more
 */
export function fuzz<T>(property: fc.IProperty<T>, runs: number, kept: readonly number[] = [1, 7541, 9113]): void {
  for (const one of kept) fc.assert(property, { numRuns: Math.min(runs, keptRuns), seed: one });
  fc.assert(property, { numRuns: Math.max(runs, wanted), ...(seed === undefined ? {} : { seed: Number(seed) }) });
}
