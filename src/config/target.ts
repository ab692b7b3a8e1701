import { type Address, isHostName, parsePort, parseUnix, showAddress, splitHostPort } from './address.js';
import { parseIp } from './ip.js';
import type { Parsed } from './parsed.js';
import { quote } from './quote.js';

/** Where the members of a group are found: a name to resolve, and the port of all of them. */
export interface HostTarget {
  readonly kind: 'name';
  /** As written. */
  readonly host: string;
  readonly port: number;
  /** The DNS server to ask, `IP:port`; null: the system's resolver. */
  readonly authority: string | null;
}

/** What a target of gRPC's naming leads to. */
export type Target =
  /** One backend: an IP literal or a unix socket. */
  | { readonly kind: 'one'; readonly endpoint: Address }
  /** A group whose members are told: `ipv4:A:P,B:P`. At least two, each once. */
  | { readonly kind: 'list'; readonly endpoints: readonly Address[] }
  | HostTarget;

/** The addresses of a target as far as they are written in it: a name is one. */
export function addressesOf(target: Target): readonly Address[] {
  switch (target.kind) {
    case 'one':
      return [target.endpoint];
    case 'list':
      return target.endpoints;
    case 'name':
      return [{ kind: 'tcp', host: target.host, port: target.port }];
    default:
      return target satisfies never;
  }
}

/** Schemes that gRPC libraries know and a proxy does not. */
const foreignSchemes = /^(xds|passthrough|unix-abstract|vsock|google-c2p)(:.*)$/is;

const allowed = 'write HOST:PORT, dns:///HOST:PORT, IP:PORT, [IPV6]:PORT, ipv4:IP:PORT, ipv6:[IP]:PORT or unix:PATH';

/** More addresses in one target are a mistake, or belong in DNS or an endpoints file. */
const mostListed = 100;

/** Reads a target of gRPC's naming (gRPC Name Resolution). Ports are never left out: there is no sensible default. */
export function parseTarget(target: string): Parsed<Target> {
  const unix = parseUnix(target);
  if (unix !== null) return unix.ok ? { ok: true, value: { kind: 'one', endpoint: unix.value } } : unix;
  if (target === '') return wrong(`no target; ${allowed}`);
  const [, dns] = /^dns:(.*)$/is.exec(target) ?? [];
  if (dns !== undefined) return parseDns(dns, target);
  const [, version, addresses] = /^ipv([46]):(.*)$/is.exec(target) ?? [];
  if (addresses !== undefined) return parseAddresses(addresses, version === '4' ? 4 : 6);
  const [, foreign] = foreignSchemes.exec(target) ?? [];
  if (foreign !== undefined && !/^\d{1,5}$/.test(target.slice(foreign.length + 1))) {
    return wrong(`${foreign.toLowerCase()}: is not supported; ${allowed}`);
  }
  if (target.includes('://')) return wrong(`${quote(target)} is a URL, not a gRPC target; ${allowed}`);
  return parseHostPort(target, null, target);
}

/** @param rest what follows `dns:` @param shown the whole target, for messages */
function parseDns(rest: string, shown: string): Parsed<Target> {
  if (!rest.startsWith('//')) return parseHostPort(rest, null, shown);
  const [, authority = '', name] = /^\/\/([^/]*)\/(.*)$/s.exec(rest) ?? [];
  if (name === undefined) {
    return wrong(`${quote(shown)} has no name; write dns:///HOST:PORT, or dns://SERVER/HOST:PORT to ask a DNS server`);
  }
  const server = authority === '' ? null : parseAuthority(authority);
  if (server === null) return parseHostPort(name, null, shown);
  return server.ok ? parseHostPort(name, server.value, shown) : server;
}

/** A DNS server: an IP address, with a port or without; 53 then. Names there would have to be resolved themselves. */
function parseAuthority(text: string): Parsed<string> {
  const bare = parseIp(/^\[(.*)\]$/.exec(text)?.[1] ?? text);
  const parts = bare === null ? splitHostPort(text) : { host: text.replace(/^\[|\]$/g, ''), port: '53' };
  if (parts === null || parseIp(parts.host) === null) {
    return wrong(
      `the DNS server ${quote(text)} is not an IP address; write dns://IP/HOST:PORT or dns://IP:PORT/HOST:PORT`,
    );
  }
  const port = parsePort(parts.port, 1);
  return port.ok ? { ok: true, value: showAddress({ kind: 'tcp', host: parts.host, port: port.value }) } : port;
}

function parseHostPort(text: string, authority: string | null, shown: string): Parsed<Target> {
  const parts = splitHostPort(text);
  if (parts === null) {
    if (parseIp(text) !== null || isHostName(text)) return wrong(`${quote(shown)} has no port; ${allowed}`);
    return wrong(`${quote(shown)} is not a target; ${allowed}`);
  }
  const { host } = parts;
  const literal = parseIp(host) !== null;
  if (!literal && !isHostName(host)) {
    return wrong(`${quote(host)} is neither an IP address nor a host name; ${allowed}`);
  }
  const port = parsePort(parts.port, 1);
  if (!port.ok) return port;
  if (literal) return { ok: true, value: { kind: 'one', endpoint: { kind: 'tcp', host, port: port.value } } };
  return { ok: true, value: { kind: 'name', host, port: port.value, authority } };
}

/** `IP:PORT`, or several with commas between them (gRPC Name Resolution: a list is one target). */
function parseAddresses(text: string, version: 4 | 6): Parsed<Target> {
  const endpoints: Address[] = [];
  const seen = new Set<string>();
  for (const item of text.split(',')) {
    const parts = splitHostPort(item);
    if (parts === null) {
      const problem = parseIp(item) === null ? 'is not a target' : 'has no port';
      return wrong(`${quote(`ipv${version}:${item}`)} ${problem}; ${allowed}`);
    }
    const ip = parseIp(parts.host);
    if (ip === null) return wrong(`${quote(parts.host)} is not an IP address; ${allowed}`);
    // An IPv4-mapped literal is written as an IPv6 one, whatever it leads to.
    if (ip.version !== version) return wrong(`${quote(parts.host)} is not an IPv${version} address`);
    const port = parsePort(parts.port, 1);
    if (!port.ok) return port;
    const key = `${ip.canonical} ${port.value}`;
    if (seen.has(key)) return wrong(`the address ${quote(item)} is given twice`);
    seen.add(key);
    endpoints.push({ kind: 'tcp', host: parts.host, port: port.value });
  }
  if (endpoints.length > mostListed) return wrong(`more than ${mostListed} addresses; use a host name or --endpoints`);
  const [endpoint] = endpoints;
  if (endpoint !== undefined && endpoints.length === 1) return { ok: true, value: { kind: 'one', endpoint } };
  return { ok: true, value: { kind: 'list', endpoints } };
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
