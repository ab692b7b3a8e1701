import { backendId } from '../grpc/backend-id.js';

import { formatEndpoint } from './endpoint.js';
import type { BackendSpec, Endpoint } from './types.js';

// Which backends there are, from all sources together. Pure.

/** Where what is named is found. */
export type Whereabouts =
  /** One backend, whose id is its name. */
  | { readonly kind: 'one'; readonly endpoint: Endpoint }
  /** A group of these members. */
  | { readonly kind: 'list'; readonly endpoints: readonly Endpoint[] }
  /** A group of whatever the name leads to. @see HostName */
  | { readonly kind: 'name'; readonly host: string; readonly port: number; readonly authority: string | null };

/** One named backend, or one named group of them, as a source tells it. */
export interface BackendEntry {
  readonly name: string;
  readonly target: string;
  readonly where: Whereabouts;
  readonly weight: number;
  readonly priority: number;
  readonly maxCalls: number | null;
}

/** A source of backends and what it tells at the moment. */
export interface Source {
  /** As the log calls it: `--backend`, the file, the registry. */
  readonly name: string;
  readonly entries: readonly BackendEntry[];
}

/** A backend that was found. */
export interface FoundBackend extends BackendSpec {
  /** The host name that led here, for what names are checked and told; null where none did. */
  readonly host: string | null;
  /** The `HOST:PORT` of that name; null where none led here. */
  readonly authority: string | null;
}

/** An entry whose name an earlier source has taken. */
export interface Clash {
  readonly name: string;
  /** The source that keeps the name. */
  readonly kept: string;
  /** The source whose entry has no effect. */
  readonly dropped: string;
}

export interface Merged {
  readonly entries: readonly { readonly source: string; readonly entry: BackendEntry }[];
  readonly clashes: readonly Clash[];
}

/** One list of all sources' entries, in order: a name belongs to the first source that has it. */
export function mergeSources(sources: readonly Source[]): Merged {
  const owners = new Map<string, string>();
  const entries: Merged['entries'][number][] = [];
  const clashes: Clash[] = [];
  for (const { name: source, entries: told } of sources) {
    for (const entry of told) {
      const kept = owners.get(entry.name);
      if (kept === undefined) {
        owners.set(entry.name, source);
        entries.push({ source, entry });
      } else clashes.push({ name: entry.name, kept, dropped: source });
    }
  }
  return { entries, clashes };
}

/**
 * The backends of one entry: NAME for one, NAME/ADDR for the members of a group, in the order of their addresses (contract,
 * --backend).
 *
 * @param resolved the members of a name as far as they are known
 */
export function backendsOf(entry: BackendEntry, resolved: readonly Endpoint[]): readonly FoundBackend[] {
  const { name, target, where, weight, priority, maxCalls } = entry;
  const options = { name, target, weight, priority, maxCalls };
  const memberAt = (endpoint: Endpoint): string => `${name}/${formatEndpoint(endpoint).toLowerCase()}`;
  switch (where.kind) {
    case 'one':
      return [{ ...options, id: backendId(name), endpoint: where.endpoint, host: null, authority: null }];
    case 'list':
      return where.endpoints.map((endpoint) => {
        return { ...options, id: backendId(memberAt(endpoint)), endpoint, host: null, authority: null };
      });
    case 'name': {
      const host = where.host.replace(/\.$/, '');
      const authority = `${host}:${where.port}`;
      return resolved.map((endpoint) => {
        return { ...options, id: backendId(memberAt(endpoint)), endpoint, host, authority };
      });
    }
    default:
      return where satisfies never;
  }
}

/** What became of the set, by ids. */
export interface SetDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** The address or an option is another. */
  readonly changed: readonly string[];
}

/** Tells two sets apart. Order counts for nothing. */
export function diffBackends(before: readonly FoundBackend[], after: readonly FoundBackend[]): SetDifference {
  const old = new Map(before.map((backend) => [backend.id, backend]));
  const kept = new Set(after.map(({ id }) => id));
  return {
    added: after.filter(({ id }) => !old.has(id)).map(({ id }) => id),
    removed: before.filter(({ id }) => !kept.has(id)).map(({ id }) => id),
    changed: after
      .filter((backend) => {
        const was = old.get(backend.id);
        return was !== undefined && !alike(was, backend);
      })
      .map(({ id }) => id),
  };
}

function alike(a: FoundBackend, b: FoundBackend): boolean {
  return (
    formatEndpoint(a.endpoint) === formatEndpoint(b.endpoint) &&
    a.target === b.target &&
    a.weight === b.weight &&
    a.priority === b.priority &&
    a.maxCalls === b.maxCalls
  );
}
