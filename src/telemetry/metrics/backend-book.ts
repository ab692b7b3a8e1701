import { BackendNumbers } from './backend-numbers.js';
import { otherBackend } from './labels.js';

/** The numbers of backends by their configured names, so many at most; those past the limit share theirs. */
export class BackendBook {
  private readonly limit: number;
  private readonly other = new BackendNumbers();
  private readonly known = new Map<string, BackendNumbers>();

  /** @param limit names */
  constructor(limit: number) {
    this.limit = limit;
  }

  of(name: string): BackendNumbers {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    if (this.known.size >= this.limit) return this.other;
    const made = new BackendNumbers();
    this.known.set(name, made);
    return made;
  }

  /** What a backend is called that is there now. */
  labelOf(name: string): string {
    return this.of(name) === this.other ? otherBackend : name;
  }

  /** Where half of the room is taken, forgets the names that are not there: registered backends come and go for ever. */
  trim(there: ReadonlySet<string>): void {
    if (this.known.size * 2 <= this.limit) return;
    for (const name of this.known.keys()) if (!there.has(name)) this.known.delete(name);
  }

  each(take: (label: string, numbers: BackendNumbers) => void): void {
    for (const [name, numbers] of this.known) take(name, numbers);
    take(otherBackend, this.other);
  }
}
