import { codeLengths, codes } from './huffman-code.js';

/** `length << 16 | code` for codes of up to 16 bits, 0 for the others, which are of characters that fields hardly contain. */
const shortCodes = Uint32Array.from(codes, (code, symbol) => {
  const length = codeLengths[symbol] as number;
  return length <= 16 ? (length << 16) | code : 0;
});

/** Bytes that `text`, one byte a character, takes when Huffman-coded (RFC 7541 5.2). */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let i = 0; i < text.length; i += 1) bits += codeLengths[text.charCodeAt(i) & 0xff] as number;
  return (bits + 7) >>> 3;
}

/**
 * Writes `text`, one byte a character, Huffman-coded to `out` from `at` (RFC 7541 5.2). Returns the offset after it, or -1
 * where that would not be below `limit`; up to four bytes from there on may have been written then.
 */
export function writeHuffman(out: Uint8Array, at: number, text: string, limit: number): number {
  let next = at;
  /** Bits not yet written are the low `pending` ones; fewer than 16 between symbols, so that 16 more fit. */
  let bits = 0;
  let pending = 0;
  for (let i = 0; i < text.length; i += 1) {
    const symbol = text.charCodeAt(i) & 0xff;
    let entry = shortCodes[symbol] as number;
    if (entry === 0) {
      const code = codes[symbol] as number;
      const upper = (codeLengths[symbol] as number) - 16;
      bits = (bits << upper) | (code >>> 16);
      pending += upper;
      if (pending >= 16) {
        pending -= 16;
        out[next] = bits >>> (pending + 8);
        out[next + 1] = bits >>> pending;
        next += 2;
      }
      entry = (16 << 16) | (code & 0xffff);
    }
    const length = entry >>> 16;
    bits = (bits << length) | (entry & 0xffff);
    pending += length;
    if (pending >= 16) {
      pending -= 16;
      out[next] = bits >>> (pending + 8);
      out[next + 1] = bits >>> pending;
      next += 2;
      if (next >= limit) return -1;
    }
  }
  if (pending >= 8) {
    pending -= 8;
    out[next] = bits >>> pending;
    next += 1;
  }
  // The rest of the last byte is ones.
  if (pending > 0) {
    out[next] = (bits << (8 - pending)) | (0xff >>> pending);
    next += 1;
  }
  return next < limit ? next : -1;
}
