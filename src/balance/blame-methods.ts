/** Paths come from clients: so many, and no longer ones, are remembered. */
const maxMethods = 500;
const maxPath = 512;

/**
 * How long calls of a method were silent before a backend ended them, on whichever backend (D21): long polls end late, or by
 * their deadline. Of more than 500 methods those used last are kept; one that is forgotten is blamed as one never seen.
 */
export class SilenceMemory {
  /** In the order of use. */
  private readonly byPath = new Map<string, number>();

  /** Milliseconds; 0: none known. */
  longest(path: string): number {
    const ms = this.byPath.get(path);
    if (ms === undefined) return 0;
    this.touch(path, ms);
    return ms;
  }

  remember(path: string, silentMs: number): void {
    if (path.length > maxPath) return;
    this.touch(path, Math.max(silentMs, this.byPath.get(path) ?? 0));
    if (this.byPath.size <= maxMethods) return;
    for (const oldest of this.byPath.keys()) {
      this.byPath.delete(oldest);
      return;
    }
  }

  private touch(path: string, ms: number): void {
    this.byPath.delete(path);
    this.byPath.set(path, ms);
  }
}

/** Whether a `:path` is one of the patterns: `/service/method` itself, or what begins as one that ends with `*` does. */
export function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  const exact = new Set(patterns);
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}
