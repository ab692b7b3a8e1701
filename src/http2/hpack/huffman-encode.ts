import { codeLengths, codes } from './huffman-code.js';

/** Bytes that `text` takes when Huffman-coded (RFC 7541 5.2). */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let i = 0; i < text.length; i += 1) bits += codeLengths[text.charCodeAt(i) & 0xff] as number;
  return (bits + 7) >>> 3;
}

/** Writes `text`, one byte a character, Huffman-coded to `out` from `at`; returns the offset after it. */
export function writeHuffman(out: Uint8Array, at: number, text: string): number {
  let next = at;
  /** Bits not yet written, in the low `pending` bits; fewer than eight between symbols. */
  let bits = 0;
  let pending = 0;
  for (let i = 0; i < text.length; i += 1) {
    const symbol = text.charCodeAt(i) & 0xff;
    const code = codes[symbol] as number;
    let length = codeLengths[symbol] as number;
    // A code has up to 30 bits, seven may be pending, a number has 32: the long ones go in two parts.
    if (length > 24) {
      bits = (bits << (length - 16)) | (code >>> 16);
      pending += length - 16;
      while (pending >= 8) {
        pending -= 8;
        out[next] = bits >>> pending;
        next += 1;
      }
      length = 16;
    }
    bits = (bits << length) | (length === 16 ? code & 0xffff : code);
    pending += length;
    while (pending >= 8) {
      pending -= 8;
      out[next] = bits >>> pending;
      next += 1;
    }
  }
  if (pending > 0) {
    out[next] = (bits << (8 - pending)) | (0xff >>> pending);
    next += 1;
  }
  return next;
}
