/**
 * A JSON number as thousandths, digits past the third decimal cut off, from its text: 0.57 × 1000 as a float is
 * 569.9999…, which would lose a token a call. May be Infinity; the sign is dropped.
 */
export function thousandths(text: string): number {
  const match = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return Number.NaN;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const leadingZeros = whole.length + fraction.length - digits.length;
  const kept = whole.length - leadingZeros + Number(exponent) + 3;
  if (digits === '' || kept <= 0) return 0;
  if (kept > 300) return Number.POSITIVE_INFINITY;
  return Number(digits.slice(0, kept).padEnd(kept, '0'));
}

/** A number of at least 0 without exponent, to nine decimals: `0.25`, `1500`. */
export function plainDecimal(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '');
}
