import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';

/** Whether an `authorization` value has the token. Hashes first, so that neither the bytes nor the length can be timed. */
export function bearerCheck(token: string | null): (authorization: string | undefined) => boolean {
  if (token === null || token === '') return () => false;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (authorization) => {
    const given = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
    return given !== undefined && timingSafeEqual(digest(given), expected);
  };
}

/** Of the address really bound: a host name may be anything. 127.0.0.0/8, ::1, and the former as IPv6 carries it. */
export function isBeyondLoopback(bound: AddressInfo | string | null): boolean {
  if (bound === null) return true;
  if (typeof bound === 'string') return false;
  return bound.address !== '::1' && !/^(::ffff:)?127\./i.test(bound.address);
}
