import { huffmanLength, writeHuffman } from './huffman-encode.js';
import { writeInteger } from './integer.js';

/** The longest string whose length takes one byte (RFC 7541 5.1). */
const longestOfOneByte = 126;

/** From this length on the built-in copy beats a loop: measured (bytes). */
const copied = 32;

/** Writes a string, Huffman-coded where that is shorter (RFC 7541 5.2); returns the offset after it. */
export function writeString(out: Uint8Array, at: number, text: string): number {
  const { length } = text;
  if (length <= longestOfOneByte) {
    // The length is known afterwards, and its place beforehand: one pass does.
    const next = writeHuffman(out, at + 1, text, at + 1 + length);
    if (next < 0) return writeRawString(out, at, text);
    out[at] = 0x80 | (next - at - 1);
    return next;
  }
  const coded = huffmanLength(text);
  if (coded >= length) return writeRawString(out, at, text);
  const start = writeInteger(out, at, 0x80, 7, coded);
  return writeHuffman(out, start, text, start + length);
}

/** Writes a string as it is (RFC 7541 5.2), one byte a character; returns the offset after it. */
export function writeRawString(out: Uint8Array, at: number, text: string): number {
  const { length } = text;
  const start = writeInteger(out, at, 0x00, 7, length);
  if (length >= copied && out instanceof Buffer) out.write(text, start, 'latin1');
  else for (let i = 0; i < length; i += 1) out[start + i] = text.charCodeAt(i);
  return start + length;
}
