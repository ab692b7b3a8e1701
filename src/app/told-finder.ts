import { diffBackends, type FoundBackend } from '../upstream/backend-set.js';
import type { SetListener } from '../upstream/sources.js';
import type { Finder, SourceKind } from './finder.js';

/** All backends there are, as the primary tells its workers. */
export interface BackendNews {
  readonly backends: readonly FoundBackend[];
  /** Names that there are, those included that lead to nobody yet. */
  readonly names: ReadonlyMap<string, SourceKind>;
}

/** What a worker knows of where backends are: the primary finds them, once for all. */
export interface ToldFinder extends Finder {
  put(news: BackendNews): void;
}

/** @param refresh asks for a name to be resolved again, soon */
export function createToldFinder(first: BackendNews, refresh: (name: string) => void): ToldFinder {
  let { backends, names } = first;
  const listeners: SetListener[] = [];
  return {
    put(news) {
      const difference = diffBackends(backends, news.backends);
      ({ backends, names } = news);
      const { added, removed, changed } = difference;
      if (added.length + removed.length + changed.length === 0) return;
      for (const listener of [...listeners]) listener(backends, difference);
    },
    sources: {
      specs: () => backends,
      has: (name) => names.has(name),
      onChange(listener) {
        listeners.push(listener);
        return () => {
          const at = listeners.indexOf(listener);
          if (at !== -1) listeners.splice(at, 1);
        };
      },
      refresh,
      refreshAll: () => [],
    },
    names: () => names,
    sourceOf: (name) => names.get(name) ?? null,
    controlAddress: null,
    setServing() {},
    start: () => Promise.resolve(),
    resolve: () => Promise.resolve(),
    putEndpoints() {},
    stop: () => Promise.resolve(),
  };
}
