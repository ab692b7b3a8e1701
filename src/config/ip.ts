const decimalOctet = /^(?:0|[1-9]\d{0,2})$/;

function parseIpv4(text: string): number[] | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => decimalOctet.test(part) && Number(part) <= 255)) return null;
  return parts.map(Number);
}

/** The eight groups of an address of RFC 4291 2.2, without brackets or zone; null where it is none. */
function parseIpv6(text: string): number[] | null {
  // An IPv4 tail stands for the last two groups.
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = parseIpv4(tail[2] ?? '') ?? [];
    if (parseIpv4(tail[2] ?? '') === null) return null;
    return parseIpv6(`${tail[1]}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head = [], rest = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  if (![...head, ...rest].every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  const missing = 8 - head.length - rest.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  return [...head, ...new Array<string>(missing).fill('0'), ...rest].map((group) => Number.parseInt(group, 16));
}

/** An address that this machine reaches as itself, as any of its own, or another. */
export type IpClass = 'loopback' | 'any' | 'other';

export interface Ip {
  readonly version: 4 | 6;
  /** Equal for equal addresses, however they are written; an IPv4-mapped address counts as its IPv4 one. */
  readonly canonical: string;
  readonly class: IpClass;
}

function ipv4(octets: readonly number[], version: 4 | 6): Ip {
  const canonical = octets.join('.');
  return { version, canonical, class: octets[0] === 127 ? 'loopback' : canonical === '0.0.0.0' ? 'any' : 'other' };
}

/** Reads an IP literal: `127.0.0.1`, `::1`, `fe80::1%eth0`. Null for anything else, brackets too. */
export function parseIp(text: string): Ip | null {
  const four = parseIpv4(text);
  if (four !== null) return ipv4(four, 4);
  const [, address = '', zone] = /^([^%]*)(?:%([\w.~-]+))?$/.exec(text) ?? [];
  const groups = parseIpv6(address);
  if (groups === null) return null;
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped)
    return ipv4(
      groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]),
      6,
    );
  const canonical = groups.map((group) => group.toString(16)).join(':') + (zone === undefined ? '' : `%${zone}`);
  const leadingZeros = groups.slice(0, 7).every((group) => group === 0);
  const last = groups[7];
  return {
    version: 6,
    canonical,
    class: leadingZeros && last === 1 ? 'loopback' : leadingZeros && last === 0 ? 'any' : 'other',
  };
}

/** The bytes of an IP literal, 4 or 16; those of an IPv4-mapped address are its 4. Null for anything else, and for one with a zone. */
export function ipBytes(text: string): readonly number[] | null {
  const four = parseIpv4(text);
  if (four !== null) return four;
  const bytes = parseIpv6(text)?.flatMap((group) => [group >> 8, group & 0xff]) ?? null;
  if (bytes === null) return null;
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.slice(12) : bytes;
}
