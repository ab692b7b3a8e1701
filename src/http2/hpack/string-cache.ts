import { commonStrings } from './common-strings.js';

/** A power of two. */
const slots = 64;

/** The longest string that is looked for: a miss must not cost much (bytes). */
const longest = 32;

/** From this length on the built-in decoding is faster than building from characters: measured (bytes). */
const shortest = 9;

/**
 * Bytes to strings, one character a byte. A peer without a dynamic table of its own, or that leaves fields out of it,
 * sends the same few names and values as literals again and again: those are made once and then shared, which is cheaper
 * than making them and lets later comparisons end at the pointer. Bounded, and one for each connection, so that one peer
 * learns nothing of another's.
 */
export class StringCache {
  private readonly strings: string[] = Array.from({ length: slots }, () => '');

  /** The bytes [start, end) as a string. */
  get(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > longest) return bytes.toString('latin1', start, end);
    const slot =
      (length * 7 +
        (bytes[start] as number) * 5 +
        (bytes[start + (length >> 1)] as number) * 3 +
        (bytes[end - 1] as number)) &
      (slots - 1);
    const known = this.strings[slot] as string;
    if (known.length === length && equal(known, bytes, start)) return known;
    const made = latin1(bytes, start, end);
    const text = commonStrings.get(made) ?? made;
    this.strings[slot] = text;
    return text;
  }
}

/** The bytes [start, end) as a string, not kept. */
export function latin1(bytes: Buffer, start: number, end: number): string {
  return end - start < shortest ? fromCharacters(bytes, start, end) : bytes.toString('latin1', start, end);
}

function equal(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = text.length - 1; i >= 0; i -= 1) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

function fromCharacters(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  let i = start;
  if (end - i >= 4) {
    text = String.fromCharCode(
      bytes[i] as number,
      bytes[i + 1] as number,
      bytes[i + 2] as number,
      bytes[i + 3] as number,
    );
    i += 4;
  }
  if (end - i >= 4) {
    text += String.fromCharCode(
      bytes[i] as number,
      bytes[i + 1] as number,
      bytes[i + 2] as number,
      bytes[i + 3] as number,
    );
    i += 4;
  }
  for (; i < end; i += 1) text += String.fromCharCode(bytes[i] as number);
  return text;
}
