/** 2^31 - 1: the most that gRPC's own numbers in metadata may say. */
export const maxInt32 = 2_147_483_647;

/**
 * The number that `^(0|[1-9][0-9]*)$` states, at most 2^31 - 1, or -1 where the value is anything else (DIS-12). No sign,
 * no blanks, no needless zeros.
 */
export function parseInt32(value: string): number {
  const { length } = value;
  if (length === 0) return -1;
  if (length > 1 && value.charCodeAt(0) === 0x30) return -1;
  let sum = 0;
  for (let i = 0; i < length; i += 1) {
    const digit = value.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    sum = sum * 10 + digit;
  }
  return sum <= maxInt32 ? sum : -1;
}
