/** Words longer than this are no slip of the pen; comparing them would only cost time. */
const longest = 64;

function folded(word: string): string {
  return word.toLowerCase().replace(/[_-]/g, '');
}

/** Edits between two words: insert, delete, replace, or swap neighbours (optimal string alignment). */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const cheapest = Math.min(
        (row[j - 1] ?? 0) + 1,
        (last[j] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
      );
      row.push(cheapest);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/**
 * The candidate that `word` was probably meant to be, or null where none is near: equal but for case, `-` and `_`, or at
 * most a third of its letters away. The first of equally near ones wins.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length === 0 || word.length > longest) return null;
  const wanted = folded(word);
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const d = distance(wanted, folded(candidate));
    if (d < bestDistance) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === null ? '' : `; did you mean ${found}?`;
}
