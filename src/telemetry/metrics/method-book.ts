import type { MethodIndex } from '../../proxy/meters.js';
import { otherMethod } from './labels.js';
import { methodLabel } from './method-label.js';
import { MethodNumbers } from './method-numbers.js';

/** The numbers of methods by their index; those of index 0 are for all that are not counted by name. */
export class MethodBook {
  private readonly limit: number;
  private readonly indices = new Map<string, MethodIndex>();
  private readonly other = new MethodNumbers();
  private readonly entries = [{ label: otherMethod, numbers: this.other }];

  /** @param limit methods counted by name */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** 0 where the path is not counted by name. */
  indexOf(path: string): MethodIndex {
    return this.indices.get(path) ?? 0;
  }

  /** Counts it by name from now on; 0 where there is no room, or where it makes no label. */
  admit(path: string): MethodIndex {
    const known = this.indices.get(path);
    if (known !== undefined) return known;
    const label = methodLabel(path);
    if (label === null || this.indices.size >= this.limit) return 0;
    const index = this.entries.length;
    this.indices.set(path, index);
    this.entries.push({ label, numbers: new MethodNumbers() });
    return index;
  }

  at(index: MethodIndex): MethodNumbers {
    return this.entries[index]?.numbers ?? this.other;
  }

  /** Those too that are admitted on the way. */
  all(): Iterable<{ readonly label: string; readonly numbers: MethodNumbers }> {
    return this.entries;
  }

  each(take: (label: string, numbers: MethodNumbers) => void): void {
    for (const { label, numbers } of this.entries) take(label, numbers);
  }
}
