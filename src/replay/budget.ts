import type { ReplayBudget, ReplayLimit } from './types.js';

/**
 * A limit on kept bytes; those of `parent` count as well.
 *
 * @param limit bytes, at least 0, inclusive (BUF-06)
 * @param name which limit a refusal is laid to
 */
export function createReplayBudget(limit: number, name: ReplayLimit, parent: ReplayBudget | null): ReplayBudget {
  return new Budget(limit, name, parent);
}

class Budget implements ReplayBudget {
  held = 0;
  peak = 0;
  private readonly limit: number;
  private readonly name: ReplayLimit;
  private readonly parent: ReplayBudget | null;

  constructor(limit: number, name: ReplayLimit, parent: ReplayBudget | null) {
    this.limit = limit;
    this.name = name;
    this.parent = parent;
  }

  get room(): number {
    const own = this.limit - this.held;
    return this.parent === null ? own : Math.min(own, this.parent.room);
  }

  reserve(bytes: number): ReplayLimit | null {
    const after = this.held + bytes;
    if (after > this.limit) return this.name;
    if (this.parent !== null) {
      const refused = this.parent.reserve(bytes);
      if (refused !== null) return refused;
    }
    this.held = after;
    if (after > this.peak) this.peak = after;
    return null;
  }

  release(bytes: number): void {
    if (bytes > this.held)
      throw new Error(`replay: ${bytes} bytes released where ${this.held} are held (${this.name})`);
    this.held -= bytes;
    this.parent?.release(bytes);
  }
}
