import { parseJson } from '../config/json-tree.js';
import { compileMethods, type MethodPolicy } from '../config/methods.js';
import type { MethodName } from '../config/names.js';
import { createLocator, type Position } from '../config/position.js';
import { printable, quote } from '../config/quote.js';
import type { MethodConfig, ServiceConfig } from '../config/service-config.js';

/** An entry of methodConfig, with the name by which it fits a method. */
export interface FittingEntry extends Position {
  readonly entry: MethodConfig;
  readonly name: MethodName;
}

/** What a service config says about one method, and why. */
export interface Governing {
  readonly policy: MethodPolicy;
  /** Null where nothing fits. */
  readonly by: FittingEntry | null;
  /** Wider ones that fit as well and have no effect: entries are not merged. */
  readonly passedOver: readonly FittingEntry[];
  /** Names that were perhaps meant to fit, a sentence each. */
  readonly near: readonly string[];
}

/** `/pkg.Service/Method` in its two parts, split at the last slash as a `:path` is. */
export interface MethodPath {
  readonly service: string;
  readonly method: string;
}

const kinds = ['method', 'service', 'all'] as const satisfies readonly MethodName['kind'][];

/**
 * Which entry governs a method. The policy is looked up as the proxy does; the reasons are found beside it.
 *
 * @param text the config's own, for places
 */
export function findGoverning(config: ServiceConfig, text: string, path: MethodPath): Governing {
  const policy = compileMethods(config).lookup(`/${path.service}/${path.method}`);
  const places = placesOf(text);
  const fitting: FittingEntry[] = [];
  // The narrowest first.
  for (const kind of kinds) {
    for (const entry of config.methodConfig) {
      const name = entry.names.find((each) => each.kind === kind && fits(each, path));
      if (name !== undefined) fitting.push({ entry, name, ...(places[entry.index] ?? { line: 1, column: 1 }) });
    }
  }
  const by = fitting.find(({ entry }) => entry.index === policy.entry) ?? null;
  const passedOver = fitting.filter(({ entry }) => entry.index !== policy.entry);
  return { policy, by, passedOver, near: by?.name.kind === 'method' ? [] : nearNames(config, path) };
}

/** `{"service": "shop.Cart", "method": "Add"}`, as the file has it. */
export function showName(name: MethodName): string {
  switch (name.kind) {
    case 'method':
      return `{"service": ${quote(name.service)}, "method": ${quote(name.method)}}`;
    case 'service':
      return `{"service": ${quote(name.service)}}`;
    case 'all':
      return '{}';
    default:
      return name satisfies never;
  }
}

function fits(name: MethodName, { service, method }: MethodPath): boolean {
  if (name.kind === 'all') return true;
  return name.service === service && (name.kind === 'service' || name.method === method);
}

/** Where each entry of methodConfig begins. */
function placesOf(source: string): readonly Position[] {
  const text = source.replace(/^\uFEFF/, '');
  const { root } = parseJson(text);
  const entries = root?.type === 'object' ? root.members.find(({ key }) => key === 'methodConfig')?.value : undefined;
  const locate = createLocator(text);
  return entries?.type === 'array' ? entries.items.map(({ offset }) => locate(offset)) : [];
}

/** Slips that make a name miss a call: case, slashes and blanks, the package left out. */
function nearNames(config: ServiceConfig, path: MethodPath): string[] {
  const found: string[] = [];
  for (const { index, names } of config.methodConfig) {
    for (const name of names) {
      if (name.kind === 'all' || fits(name, path)) continue;
      const why = slip(name, path);
      if (why !== null) found.push(`methodConfig[${index}] names ${showName(name)}, which does not fit: ${why}`);
    }
  }
  return found;
}

function slip(name: Exclude<MethodName, { kind: 'all' }>, path: MethodPath): string | null {
  const method = name.kind === 'method' ? name.method : path.method;
  const cased = bare(name.service) === bare(path.service) && bare(method) === bare(path.method);
  if (cased) {
    const sameLetters = name.service.toLowerCase() === path.service.toLowerCase();
    return sameLetters ? 'names are compared with regard to case' : 'a name has no blanks and no outer slashes';
  }
  if (method !== path.method) return null;
  if (path.service.endsWith(`.${name.service}`)) return `the package is missing, write ${printable(path.service)}`;
  return name.service.endsWith(`.${path.service}`) ? 'it has a package, the method that was asked for has none' : null;
}

function bare(part: string): string {
  return part
    .trim()
    .replace(/^\/+|\/+$/g, '')
    .toLowerCase();
}
