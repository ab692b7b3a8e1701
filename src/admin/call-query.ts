import { legible } from '../grpc/legible.js';
import { Status, statusName } from '../grpc/status.js';
import { stopReasons } from '../grpc/stop-reason.js';
import type { RecentCall } from './live.js';

/** Which calls `/calls` is asked for. */
export interface CallQuery {
  readonly wants: (call: RecentCall) => boolean;
  /** At most so many, the newest. */
  readonly limit: number;
  /** Those alone that were kept after it. */
  readonly since: number;
}

export type CallQueryResult =
  | { readonly ok: true; readonly query: CallQuery }
  | { readonly ok: false; readonly problem: string };

type Filter = CallQuery['wants'];
type Read<T> = { readonly value: T } | { readonly problem: string };

const all = Number.MAX_SAFE_INTEGER;

/** Every parameter that there is. */
const filters: Readonly<Record<string, (text: string) => Read<Filter>>> = {
  method: (text) => fits(methodFilter(text)),
  backend: (text) => fits(({ attempts }) => attempts.some(({ backend }) => isOf(backend, text.toLowerCase()))),
  reason(text) {
    const known = stopReasons.find((reason) => reason === text.toLowerCase());
    if (known === undefined) return { problem: `is none of ${stopReasons.join(', ')}` };
    return fits(({ reason }) => reason === known);
  },
  code(text) {
    const name = codeOf(text);
    if (name === null) return { problem: 'is no status code: neither a name like UNAVAILABLE nor a number' };
    return fits(({ code }) => code === name);
  },
  call: (text) => fits(({ call }) => call === text),
};
const names = [...Object.keys(filters), 'limit', 'since'];

/** @param text what stands after the `?`; empty: all calls */
export function readCallQuery(text: string): CallQueryResult {
  const wanted: Filter[] = [];
  const numbers = { limit: all, since: 0 };
  const seen = new Set<string>();
  for (const [key, value] of new URLSearchParams(text)) {
    if (seen.has(key)) return bad(`${key} is given twice`);
    seen.add(key);
    const problem = take(key, value);
    if (problem !== null) return bad(problem);
  }
  return { ok: true, query: { wants: (call) => wanted.every((wants) => wants(call)), ...numbers } };

  /** Null: taken. */
  function take(key: string, value: string): string | null {
    if (key === 'limit' || key === 'since') {
      const least = key === 'limit' ? 1 : 0;
      const number = /^\d{1,15}$/.test(value) ? Number(value) : -1;
      if (number < least) return `${key}=${legible(value)} is no whole number from ${least} on`;
      numbers[key] = number;
      return null;
    }
    const read = Object.hasOwn(filters, key) ? filters[key] : undefined;
    if (read === undefined) return `/calls knows no ${legible(key)}; it knows ${names.join(', ')}`;
    if (value === '') return `${key} is empty`;
    const filter = read(value);
    if ('problem' in filter) return `${key}=${legible(value)} ${filter.problem}`;
    wanted.push(filter.value);
    return null;
  }
}

function fits(value: Filter): Read<Filter> {
  return { value };
}

function bad(problem: string): CallQueryResult {
  return { ok: false, problem };
}

/** A method's full name, with its first slash or without; what ends in a slash, a service, means all its methods. */
function methodFilter(text: string): Filter {
  const path = legible(text.startsWith('/') ? text : `/${text}`);
  return path.endsWith('/') ? ({ method }) => method.startsWith(path) : ({ method }) => method === path;
}

/** A backend's own name, or its group's. */
function isOf(backend: string | null, name: string): boolean {
  return backend !== null && (backend === name || backend.startsWith(`${name}/`));
}

/** As `RecentCall` has it: by name, or a number that is outside the set as a number. */
function codeOf(text: string): string | null {
  const name = text.toUpperCase();
  if (Object.hasOwn(Status, name)) return name;
  return /^\d{1,10}$/.test(text) ? statusName(Number(text)) : null;
}
