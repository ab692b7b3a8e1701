/** The largest integer that we take or write: far above any length or index that could be right. */
export const maxInteger: number = 2 ** 31 - 1;

/** Bytes of the longest integer: the prefix and five more. */
export const maxIntegerLength = 6;

/**
 * Writes `value`, at most `maxInteger`, with a prefix of `prefixBits` below the bits of `pattern` (RFC 7541 5.1); returns
 * the offset after it.
 */
export function writeInteger(out: Uint8Array, at: number, pattern: number, prefixBits: number, value: number): number {
  const prefix = (1 << prefixBits) - 1;
  if (value < prefix) {
    out[at] = pattern | value;
    return at + 1;
  }
  out[at] = pattern | prefix;
  let next = at + 1;
  let rest = value - prefix;
  while (rest >= 0x80) {
    out[next] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
    next += 1;
  }
  out[next] = rest;
  return next + 1;
}
