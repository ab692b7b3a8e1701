/** Counts by name; those that are zero may be absent. */
export type Counts<Name extends string> = Readonly<Partial<Record<Name, number>>>;

export function sumOf<T>(all: readonly T[], count: (one: T) => number): number {
  return all.reduce((sum, one) => sum + count(one), 0);
}

/** Name by name, in the order in which names are first seen. */
export function sumByName<Name extends string>(all: readonly Counts<Name>[]): Record<Name, number> {
  const sums = {} as Record<Name, number>;
  for (const counts of all) {
    // The keys are of these names by their type; Object.keys only forgets it.
    for (const name of Object.keys(counts) as Name[]) sums[name] = (sums[name] ?? 0) + (counts[name] ?? 0);
  }
  return sums;
}

/** Place by place; as long as the longest. */
export function sumByPlace(all: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...all.map((counts) => counts.length));
  return Array.from({ length }, (_, at) => sumOf(all, (counts) => counts[at] ?? 0));
}

/** Of numbers that are told to so many decimals. */
export function round(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}
