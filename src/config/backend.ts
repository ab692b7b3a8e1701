import { type Address, isHostName, parsePort, parseUnix, splitHostPort } from './address.js';
import { parseIp } from './ip.js';
import { didYouMean } from './nearest.js';
import type { Parsed } from './parsed.js';
import { quote } from './quote.js';

/** One `--backend NAME=TARGET`. */
export interface BackendSetting {
  /** `[a-z0-9][a-z0-9._-]*`, at most 256 bytes: longer ones could not be pinned. */
  readonly name: string;
  /** As written. */
  readonly target: string;
  readonly endpoint: Address;
}

const backendName = /^[a-z0-9][a-z0-9._-]{0,255}$/;

/** Options of `--backend` that the grammar has room for, each with the range of its number. */
const laterOptions: ReadonlyMap<string, readonly [min: number, max: number]> = new Map([
  ['weight', [1, 1000]],
  ['priority', [0, 9]],
  ['max-calls', [1, 1_000_000]],
]);

/** Schemes of gRPC names that hold a host name or lead to one. */
const laterSchemes = /^(dns|xds|passthrough|unix-abstract|vsock):/i;

/** Reads `NAME=TARGET[,weight=N][,priority=N][,max-calls=N]`. */
export function parseBackend(text: string): Parsed<BackendSetting> {
  const equals = text.indexOf('=');
  if (equals === -1) return { ok: false, problem: 'no name; write NAME=TARGET, like b1=127.0.0.1:50052' };
  const name = text.slice(0, equals);
  if (!backendName.test(name)) {
    const rule = 'a-z, 0-9, ".", "_" and "-", beginning with a letter or digit, at most 256';
    return { ok: false, problem: `${quote(name)} is not a backend name: ${rule}` };
  }
  const [target = '', ...options] = text.slice(equals + 1).split(',');
  const endpoint = parseTarget(target);
  if (!endpoint.ok) return endpoint;
  for (const option of options) return { ok: false, problem: optionProblem(option) };
  return { ok: true, value: { name, target, endpoint: endpoint.value } };
}

function optionProblem(option: string): string {
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? [];
  const range = laterOptions.get(key);
  if (range === undefined) {
    if (splitHostPort(option) !== null) return 'one address a backend; give each address a --backend of its own';
    const hint = didYouMean(key === '' ? option : key, laterOptions.keys());
    return `unknown option ${quote(option)}${hint || '; known are weight=N, priority=N and max-calls=N'}`;
  }
  const [min, max] = range;
  const number = Number(value);
  if (!/^\d{1,9}$/.test(value) || number < min || number > max) {
    return `${key} must be an integer from ${min} to ${max}; got ${quote(value)}`;
  }
  return `${key} is not supported in this version of hedgerow and comes in a later one: leave it out`;
}

/** An address of gRPC's naming: `IP:port`, `ipv4:IP:port`, `ipv6:[IP]:port`, `unix:PATH`. Host names come later. */
function parseTarget(target: string): Parsed<Address> {
  const unix = parseUnix(target);
  if (unix !== null) return unix;
  const allowed = 'write IP:PORT, [IPV6]:PORT, ipv4:IP:PORT, ipv6:[IP]:PORT or unix:PATH';
  if (target === '') return { ok: false, problem: `no target; ${allowed}` };
  if (target.includes('://') && !laterSchemes.test(target)) {
    return { ok: false, problem: `${quote(target)} is a URL, not a gRPC target; ${allowed}` };
  }
  if (laterSchemes.test(target)) return { ok: false, problem: notYet(target) };
  const [, scheme, address = ''] = /^(?:(ipv4|ipv6):)?(.*)$/s.exec(target) ?? [];
  const parts = splitHostPort(address);
  if (parts === null) {
    if (parseIp(address) !== null || isHostName(address))
      return { ok: false, problem: `${quote(target)} has no port; ${allowed}` };
    return { ok: false, problem: `${quote(target)} is not a target; ${allowed}` };
  }
  const { host } = parts;
  const ip = parseIp(host);
  if (ip === null) {
    if (scheme === undefined && isHostName(host)) return { ok: false, problem: notYet(target) };
    return { ok: false, problem: `${quote(host)} is not an IP address; ${allowed}` };
  }
  if (scheme !== undefined && scheme !== `ipv${ip.version}`) {
    return { ok: false, problem: `${quote(host)} is not an IPv${scheme.slice(3)} address` };
  }
  const port = parsePort(parts.port, 1);
  return port.ok ? { ok: true, value: { kind: 'tcp', host, port: port.value } } : port;
}

function notYet(target: string): string {
  const instead = /^(dns:\/*)?localhost:\d+$/i.test(target)
    ? `127.0.0.1:${target.slice(target.lastIndexOf(':') + 1)}`
    : 'an address like 10.0.0.7:50051';
  return `${quote(target)} is a name to resolve, which this version of hedgerow does not support yet; write ${instead}`;
}
