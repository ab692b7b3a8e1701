import { decodedBound, decodeHuffman } from './huffman-decode.js';

/** From this length on the built-in decoding is faster than building from characters: measured (bytes). */
const builtIn = 9;

/** Huffman-decoded bytes on their way to a string; longer ones get a buffer of their own. */
const scratch = Buffer.alloc(8192);

/**
 * The string whose bytes on the wire are [start, end), one character a byte; null where it is `coded` and the code is wrong
 * (RFC 7541 5.2).
 */
export function readString(bytes: Buffer, start: number, end: number, coded: boolean): string | null {
  if (!coded) return latin1(bytes, start, end);
  const room = decodedBound(end - start);
  const to = room <= scratch.length ? scratch : Buffer.allocUnsafe(room);
  const length = decodeHuffman(bytes, start, end, to);
  return length < 0 ? null : latin1(to, 0, length);
}

function latin1(bytes: Buffer, start: number, end: number): string {
  if (end - start >= builtIn) return bytes.toString('latin1', start, end);
  let text = '';
  let i = start;
  for (; end - i >= 4; i += 4)
    text += String.fromCharCode(
      bytes[i] as number,
      bytes[i + 1] as number,
      bytes[i + 2] as number,
      bytes[i + 3] as number,
    );
  for (; i < end; i += 1) text += String.fromCharCode(bytes[i] as number);
  return text;
}
