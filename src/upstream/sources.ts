import { isDeepStrictEqual } from 'node:util';
import {
  type BackendEntry,
  backendsOf,
  diffBackends,
  type FoundBackend,
  mergeSources,
  type SetDifference,
  type Source,
} from './backend-set.js';
import { formatEndpoint } from './endpoint.js';
import type { HostName, Lookup } from './lookup.js';
import { createResolver, type Resolved, type Resolver, type ResolverPorts } from './resolver.js';
import type { Endpoint } from './types.js';

export interface SourceSettings {
  /** The sources by the names that the log calls them by, the first of which keeps a name; with what is known at the start. */
  readonly sources: readonly Source[];
  /** --dns-refresh, milliseconds. */
  readonly dnsRefresh: number;
}

export interface SourcePorts extends ResolverPorts {
  readonly lookup: (name: HostName) => Lookup;
  /** Says which of our own addresses connecting there would reach; null: none. Asked at once, at the start and for each set. */
  readonly own: (endpoint: Endpoint) => string | null;
}

export interface SourceEvents {
  /** A look-up of a name is over. */
  readonly onResolved?: ((outcome: 'changed' | 'unchanged' | 'failed') => void) | undefined;
  /** There are other names, or a name has another source. Backends that came or went with it have been told of. */
  readonly onNames?: (() => void) | undefined;
  /** A line for the log. */
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** Hears of each new set. */
export type SetListener = (backends: readonly FoundBackend[], difference: SetDifference) => void;

/** A name that is being resolved again. */
export interface AskedName {
  readonly name: string;
  readonly target: string;
  /** Null: nobody wants it any more. */
  readonly resolved: Promise<Resolved | null>;
}

/** All backends there are, wherever they were found. */
export interface BackendSources {
  /** Begins to resolve names. Resolves when each of them has led somewhere, or is known not to. */
  start(): Promise<void>;
  /** The set as it is, in the order of the sources, of their entries and of their members. */
  specs(): readonly FoundBackend[];
  /** Names that there are, those included that lead to nobody yet. */
  has(name: string): boolean;
  /** All of those, by name, with the source that has it. */
  names(): ReadonlyMap<string, string>;
  /** The source whose name this is; null where nobody has it. */
  ownerOf(name: string): string | null;
  /** Calls `listener` with each new set, until what it returns is called. One listener after another, in their order. */
  onChange(listener: SetListener): () => void;
  /** Puts other entries in force for one of the sources. */
  put(source: string, entries: readonly BackendEntry[]): void;
  /** A connection to a backend of this name was lost or could not be made: its name is resolved again, soon. */
  refresh(name: string): void;
  /** Resolves every name again, now. */
  refreshAll(): readonly AskedName[];
  /** Nothing is told after it. */
  stop(): void;
}

/**
 * Between two look-ups of one name that lost connections ask for (ms). gRPC's resolvers take 30 s, as nothing else asks them
 * again; beside a refresh as often as that it would say nothing.
 */
const minInterval = 5000;

/** Backends that one line of the log names. */
const mostNamed = 20;

interface Watched {
  readonly target: string;
  readonly where: Extract<BackendEntry['where'], { kind: 'name' }>;
  readonly resolver: Resolver;
}

export function createBackendSources(
  settings: SourceSettings,
  ports: SourcePorts,
  events: SourceEvents,
): BackendSources {
  const sources = new Map(settings.sources.map(({ name, entries }) => [name, entries]));
  const limits = { refresh: settings.dnsRefresh, minInterval: Math.min(minInterval, settings.dnsRefresh) };
  const listeners: SetListener[] = [];
  const watched = new Map<string, Watched>();
  /** Where names led when they were last resolved; kept until another target of the same name has been. */
  const resolved = new Map<string, readonly Endpoint[]>();
  let owners: ReadonlyMap<string, string> = new Map();
  let toldClashes = new Set<string>();
  let toldOwn = new Set<string>();
  let backends: readonly FoundBackend[] = [];
  /** Names that have been answered for, well or not, and who waits until all have been. */
  const answered = new Set<string>();
  let onAnswered: (() => void) | null = null;
  let running = false;
  let stopped = false;

  function reckon(): void {
    const merged = mergeSources([...sources].map(([name, entries]) => ({ name, entries })));
    const before = owners;
    owners = new Map(merged.entries.map(({ source, entry }) => [entry.name, source]));
    toldClashes = tellNew(
      toldClashes,
      merged.clashes.map(({ name, kept, dropped }) => [
        `${name} ${dropped}`,
        { backend: name },
        `${dropped}: the backend ${name} has no effect: ${kept} has one of that name`,
      ]),
    );
    follow(merged.entries.map(({ entry }) => entry));
    const found = merged.entries.flatMap(({ entry }) => backendsOf(entry, resolved.get(entry.name) ?? []));
    const judged = found.map((backend) => ({ backend, own: ports.own(backend.endpoint) }));
    toldOwn = tellNew(
      toldOwn,
      judged.flatMap(({ backend, own }) =>
        own === null ? [] : [[backend.id, { backend: backend.id }, leftOut(backend, own)] as const],
      ),
    );
    apply(judged.flatMap(({ backend, own }) => (own === null ? [backend] : [])));
    if (!isDeepStrictEqual(before, owners)) events.onNames?.();
  }

  /** Tells what was not told before. Returns what is told by now: what is over may be told again. */
  function tellNew(
    told: ReadonlySet<string>,
    lines: readonly (readonly [key: string, fields: Readonly<Record<string, unknown>>, message: string])[],
  ): Set<string> {
    for (const [key, fields, message] of lines) if (!told.has(key)) events.tell('warn', fields, message);
    return new Set(lines.map(([key]) => key));
  }

  function apply(next: readonly FoundBackend[]): void {
    const difference = diffBackends(backends, next);
    backends = next;
    const { added, removed, changed } = difference;
    if (added.length + removed.length + changed.length === 0) return;
    if (running) events.tell('info', { backends: next.length }, `backends: ${describe(difference)}`);
    for (const listener of [...listeners]) listener(next, difference);
  }

  /** Has a resolver for each name, and none besides. */
  function follow(entries: readonly BackendEntry[]): void {
    const names = new Set(entries.filter(({ where }) => where.kind === 'name').map(({ name }) => name));
    for (const [name, { resolver }] of watched) {
      if (names.has(name)) continue;
      resolver.stop();
      watched.delete(name);
      resolved.delete(name);
      answered.delete(name);
    }
    for (const { name, target, where } of entries) {
      if (where.kind !== 'name') continue;
      const before = watched.get(name);
      if (before !== undefined && sameName(before.where, where)) continue;
      before?.resolver.stop();
      const resolver = watch(name, target, where);
      watched.set(name, { target, where, resolver });
      if (running) resolver.start();
    }
    // The one that was waited for may be wanted no more.
    tellAnswered();
  }

  function watch(name: string, target: string, where: Watched['where']): Resolver {
    return createResolver(ports.lookup(where), limits, ports, {
      onMembers(members) {
        resolved.set(
          name,
          members.map((host) => ({ kind: 'tcp', host, port: where.port })),
        );
        reckon();
        noteAnswer(name);
      },
      onOutcome: events.onResolved,
      onTrouble(problem) {
        noteAnswer(name);
        const fields = { backend: name, target };
        if (problem === null) events.tell('info', fields, `${name}: ${target} is resolved again`);
        else events.tell('warn', fields, `${name}: ${target} cannot be resolved: ${problem}; ${remaining(name)}`);
      },
    });
  }

  function noteAnswer(name: string): void {
    answered.add(name);
    tellAnswered();
  }

  function tellAnswered(): void {
    if ([...watched.keys()].every((one) => answered.has(one))) onAnswered?.();
  }

  function remaining(name: string): string {
    const count = resolved.get(name)?.length ?? 0;
    if (count === 0) return 'it has no members yet';
    return count === 1 ? 'its last known member stays' : `its last known ${count} members stay`;
  }

  reckon();
  return {
    start() {
      if (running || stopped) return Promise.resolve();
      running = true;
      // Our own listeners are bound by now, those on port 0 too.
      reckon();
      for (const { resolver } of watched.values()) resolver.start();
      if (watched.size === 0) return Promise.resolve();
      return new Promise<void>((resolve) => {
        onAnswered = resolve;
      });
    },
    specs: () => backends,
    has: (name) => owners.has(name),
    names: () => owners,
    ownerOf: (name) => owners.get(name) ?? null,
    onChange(listener) {
      listeners.push(listener);
      return () => {
        const at = listeners.indexOf(listener);
        if (at !== -1) listeners.splice(at, 1);
      };
    },
    put(source, entries) {
      if (stopped) return;
      sources.set(source, entries);
      reckon();
    },
    refresh: (name) => watched.get(name)?.resolver.want(),
    refreshAll: () => [...watched].map(([name, { target, resolver }]) => ({ name, target, resolved: resolver.ask() })),
    stop() {
      stopped = true;
      onAnswered?.();
      for (const { resolver } of watched.values()) resolver.stop();
      watched.clear();
    },
  };
}

function sameName(a: Watched['where'], b: Watched['where']): boolean {
  return a.host === b.host && a.port === b.port && a.authority === b.authority;
}

function leftOut({ id, target, endpoint }: FoundBackend, own: string): string {
  return `${id} is left out: ${target} leads to ${formatEndpoint(endpoint)}, which ${own}`;
}

function describe({ added, removed, changed }: SetDifference): string {
  const parts = [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
  ] as const;
  return parts.flatMap(([word, ids]) => (ids.length === 0 ? [] : [`${word} ${listed(ids)}`])).join('; ');
}

function listed(ids: readonly string[]): string {
  const rest = ids.length - mostNamed;
  return rest <= 0 ? ids.join(', ') : `${ids.slice(0, mostNamed).join(', ')} and ${rest} more`;
}
