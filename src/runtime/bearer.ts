import { createHash, timingSafeEqual } from 'node:crypto';

/** The token of an `authorization: Bearer` value; undefined where it is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
}

/**
 * Tells whether a given token is this one; none is, where there is none. Hashes first, so that neither the bytes nor the length
 * can be timed.
 */
export function tokenCheck(token: string | null): (given: string) => boolean {
  if (token === null || token === '') return () => false;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
}
