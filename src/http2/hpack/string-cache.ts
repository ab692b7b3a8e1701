import { commonStrings } from './common-strings.js';
import { readString } from './string-read.js';

/** A power of two. */
const slots = 64;

/** The longest string that is looked for, in bytes on the wire: a miss must not cost much. */
const longest = 40;

/** The longest string that may be a common one (characters). */
const longestCommon = Math.max(...[...commonStrings.keys()].map(({ length }) => length));

/**
 * From bytes on the wire to strings. A peer that has no dynamic table, or leaves fields out of it, sends the same few names
 * and values as literals again and again: found by their bytes, they need neither decoding nor a new string, and later
 * comparisons of them end at the pointer. Bounded, and one for each connection, so that one peer learns nothing of another's.
 */
export class StringCache {
  private readonly texts: string[] = Array.from({ length: slots }, () => '');
  /** By slot: the length on the wire, doubled, and one more where it is Huffman-coded; 0 while there is none. */
  private readonly kinds = new Uint8Array(slots);
  /** By slot: the bytes on the wire. */
  private readonly keys = new Uint8Array(slots * longest);

  /**
   * As `readString`. With `common`, which costs a look-up where the bytes are new, a common string is that of
   * `commonStrings`.
   */
  get(bytes: Buffer, start: number, end: number, coded: boolean, common: boolean): string | null {
    const length = end - start;
    if (length > longest) return readString(bytes, start, end, coded);
    if (length === 0) return '';
    const middle = bytes[start + (length >> 1)] as number;
    const hash = length * 7 + (bytes[start] as number) * 5 + middle * 3 + (bytes[end - 1] as number);
    const slot = hash & (slots - 1);
    const kind = 2 * length + (coded ? 1 : 0);
    if (this.kinds[slot] === kind && this.matches(slot, bytes, start, length)) return this.texts[slot] as string;
    const made = readString(bytes, start, end, coded);
    if (made === null) return null;
    const text = common && made.length <= longestCommon ? (commonStrings.get(made) ?? made) : made;
    this.kinds[slot] = kind;
    this.texts[slot] = text;
    const { keys } = this;
    const key = slot * longest;
    for (let i = 0; i < length; i += 1) keys[key + i] = bytes[start + i] as number;
    return text;
  }

  private matches(slot: number, bytes: Uint8Array, start: number, length: number): boolean {
    const { keys } = this;
    const key = slot * longest;
    // From the end: what varies does so there.
    for (let i = length - 1; i >= 0; i -= 1) if (keys[key + i] !== bytes[start + i]) return false;
    return true;
  }
}
