import { type Address, parsePort, parseUnix, splitHostPort } from '../config/address.js';
import { parseIp } from '../config/ip.js';
import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import type { RegisteredBackend, RegistrationFields, UpdateFields } from './types.js';

/** As `--backend` has it (contract). */
const backendName = /^[a-z0-9][a-z0-9._-]{0,255}$/;

const maxWeight = 1000;
const maxPriority = 9;
const mostCalls = 1_000_000;

/** A registration that is in order, or what is wrong with it, in one phrase. */
export function readRegistration(fields: RegistrationFields, generation: number): Parsed<RegisteredBackend> {
  const { name, target, weight, priority, maxCalls } = fields;
  if (!backendName.test(name)) {
    const rule = 'a-z, 0-9, ".", "_" and "-", beginning with a letter or digit, at most 256';
    return { ok: false, problem: `name ${quote(name)} is not a backend name: ${rule}` };
  }
  const endpoint = readTarget(target);
  if (!endpoint.ok) return { ok: false, problem: `target: ${endpoint.problem}` };
  const problem = optionProblem({ ...(weight === 0 ? {} : { weight }), priority, maxCalls });
  if (problem !== null) return { ok: false, problem };
  return {
    ok: true,
    value: {
      name,
      target,
      endpoint: endpoint.value,
      weight: weight === 0 ? 1 : weight,
      priority,
      maxCalls: maxCalls === 0 ? null : maxCalls,
      generation,
    },
  };
}

/** The backend as an update has it, or what is wrong with the update. */
export function readUpdate(backend: RegisteredBackend, fields: UpdateFields): Parsed<RegisteredBackend> {
  const problem = optionProblem(fields);
  if (problem !== null) return { ok: false, problem };
  const { weight, priority, maxCalls } = fields;
  return {
    ok: true,
    value: {
      ...backend,
      weight: weight ?? backend.weight,
      priority: priority ?? backend.priority,
      maxCalls: maxCalls === undefined ? backend.maxCalls : maxCalls === 0 ? null : maxCalls,
    },
  };
}

function optionProblem({ weight, priority, maxCalls }: UpdateFields): string | null {
  if (weight !== undefined && (weight < 1 || weight > maxWeight)) {
    return `weight must be from 1 to ${maxWeight}; got ${weight}`;
  }
  if (priority !== undefined && priority > maxPriority) {
    return `priority must be from 0 to ${maxPriority}; got ${priority}`;
  }
  if (maxCalls !== undefined && maxCalls > mostCalls) {
    return `max_calls must be at most ${mostCalls}, or 0 for no limit; got ${maxCalls}`;
  }
  return null;
}

/**
 * An address, one backend: a name that resolves to several would be a group, and which of its members had registered could
 * not be said. The unspecified addresses and relative paths mean something else here than to the backend that wrote them.
 */
function readTarget(target: string): Parsed<Address> {
  const allowed = 'write IP:PORT, [IPV6]:PORT, ipv4:IP:PORT, ipv6:[IP]:PORT or unix:/PATH';
  if (target === '') return { ok: false, problem: `missing; ${allowed}` };
  const unix = parseUnix(target);
  if (unix !== null) {
    if (!unix.ok || unix.value.kind !== 'unix' || unix.value.path.startsWith('/')) return unix;
    return { ok: false, problem: `${quote(target)} is a relative path; write unix:/PATH` };
  }
  const [, scheme, address = ''] = /^(?:(ipv4|ipv6):)?(.*)$/s.exec(target) ?? [];
  const parts = splitHostPort(address);
  if (parts === null) return { ok: false, problem: `${quote(target)} is not an address with a port; ${allowed}` };
  const ip = parseIp(parts.host);
  if (ip === null) return { ok: false, problem: `${quote(parts.host)} is not an IP address; ${allowed}` };
  if (scheme !== undefined && scheme !== `ipv${ip.version}`) {
    return { ok: false, problem: `${quote(parts.host)} is not an IPv${scheme.slice(3)} address` };
  }
  if (ip.class === 'any') {
    return { ok: false, problem: `${quote(parts.host)} is no address to connect to; write the backend's own` };
  }
  const port = parsePort(parts.port, 1);
  return port.ok ? { ok: true, value: { kind: 'tcp', host: parts.host, port: port.value } } : port;
}
