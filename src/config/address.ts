import { parseIp } from './ip.js';
import type { Parsed } from './parsed.js';
import { quote } from './quote.js';

/** Where something listens or is reached. `host` is an IP literal without brackets, or a host name. */
export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** sun_path of Linux holds 108 bytes, the last one zero. */
const longestSocketPath = 107;

/** RFC 1123 2.1. A name whose last label is all digits would pass for an IPv4 address. */
const hostName =
  /^(?=.{1,253}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*(?!\d+$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$/;

/** Whether the text is a DNS host name, `localhost` included; an IP literal is none. */
export function isHostName(text: string): boolean {
  return hostName.test(text);
}

/** The two parts of `HOST:PORT` or `[IPv6]:PORT`, not yet judged; null where there is no port. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | null {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || port === undefined) return null;
  // Brackets are for IPv6 alone (RFC 3986 3.2.2).
  if (bracketed !== undefined && parseIp(bracketed)?.version !== 6) return null;
  return { host, port };
}

/** A port of `min` to 65535. */
export function parsePort(text: string, min: 0 | 1): Parsed<number> {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= min && port <= 65_535) return { ok: true, value: port };
  return { ok: false, problem: `port ${quote(text)} is not a number from ${min} to 65535` };
}

/** The path of `unix:PATH` or `unix:///PATH`; null where the text is neither. */
export function parseUnix(text: string): Parsed<Address> | null {
  if (!text.startsWith('unix:')) return null;
  const rest = text.slice('unix:'.length);
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '' || (rest.startsWith('//') && !path.startsWith('/'))) {
    return { ok: false, problem: 'no path; write unix:PATH, or unix:///PATH for an absolute one' };
  }
  if (Buffer.byteLength(path) > longestSocketPath) {
    return { ok: false, problem: `the socket path is longer than ${longestSocketPath} bytes` };
  }
  if (path.includes('\0')) return { ok: false, problem: 'the socket path holds a zero byte' };
  return { ok: true, value: { kind: 'unix', path } };
}

/** An address to listen on: `HOST:PORT`, `[::1]:PORT`, `unix:PATH`; port 0 picks one. */
export function parseListenAddress(text: string): Parsed<Address> {
  const unix = parseUnix(text);
  if (unix !== null) return unix;
  const parts = splitHostPort(text);
  if (parts === null) {
    if (/^\d{1,20}$/.test(text))
      return { ok: false, problem: `no host; write 127.0.0.1:${text}, or 0.0.0.0:${text} for all` };
    if (parseIp(text)?.version === 6) return { ok: false, problem: `no port; write [${text}]:PORT` };
    return { ok: false, problem: 'not an address; write HOST:PORT, [IPV6]:PORT or unix:PATH' };
  }
  const { host } = parts;
  if (host === '')
    return { ok: false, problem: `no host; write 127.0.0.1:${parts.port}, or 0.0.0.0:${parts.port} for all` };
  if (parseIp(host) === null && !isHostName(host)) {
    return { ok: false, problem: `${quote(host)} is neither an IP address nor a host name` };
  }
  const port = parsePort(parts.port, 0);
  return port.ok ? { ok: true, value: { kind: 'tcp', host, port: port.value } } : port;
}

/** `host:port` with brackets where they are needed, or `unix:path`. */
export function showAddress(address: Address): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
