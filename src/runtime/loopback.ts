import type { AddressInfo } from 'node:net';

/** Of the address really bound: a host name may be anything. 127.0.0.0/8, ::1, and the former as IPv6 carries it. */
export function isBeyondLoopback(bound: AddressInfo | string | null): boolean {
  if (bound === null) return true;
  if (typeof bound === 'string') return false;
  return bound.address !== '::1' && !/^(::ffff:)?127\./i.test(bound.address);
}
