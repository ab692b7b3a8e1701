import type { Plan } from '../policy/types.js';
import type { MethodConfig, ServiceConfig } from './service-config.js';

/** What is in force for one method. */
export interface MethodPolicy {
  readonly plan: Plan;
  /** The method or its service is named in the config: its name is bounded, and fit for a metric label. */
  readonly named: boolean;
  /** The entry of methodConfig that applies, from 0; null where none does. */
  readonly entry: number | null;
}

export interface MethodTable {
  /** The policy for a `:path`. Constant time; never throws, whatever the path. */
  lookup(path: string): MethodPolicy;
  /** Distinct names in the config, the default of all methods included. */
  readonly names: number;
}

/** Paths come from clients: so many beyond the config's own, and no longer ones, are remembered. */
const cachedPaths = 1024;
const cachedLength = 256;

const nothing: MethodPolicy = { plan: { kind: 'none' }, named: false, entry: null };

/**
 * Prepares the look-up by path: the method, else its service's default, else the default of all methods, split at the
 * last slash, compared byte by byte (CFG-16 to CFG-28).
 */
export function compileMethods(config: ServiceConfig): MethodTable {
  const byPath = new Map<string, MethodPolicy>();
  const byService = new Map<string, MethodPolicy>();
  let byDefault = nothing;
  let names = 0;
  for (const entry of config.methodConfig) {
    const plan = planOf(entry, config.maxAttemptsLimit);
    const named: MethodPolicy = { plan, named: true, entry: entry.index };
    for (const name of entry.names) {
      names++;
      if (name.kind === 'all') byDefault = { plan, named: false, entry: entry.index };
      else if (name.kind === 'service') byService.set(name.service, named);
      // A method with a slash is never what follows the last slash of a path; as a key it would pass for another's name.
      else if (!name.method.includes('/')) byPath.set(`/${name.service}/${name.method}`, named);
    }
  }
  const capacity = byPath.size + cachedPaths;
  return {
    names,
    lookup(path) {
      const known = byPath.get(path);
      if (known !== undefined) return known;
      const found = byService.get(serviceOf(path)) ?? byDefault;
      if (byPath.size < capacity && path.length <= cachedLength) byPath.set(path, found);
      return found;
    },
  };
}

/** `/a/b/Method` → `a/b`; empty where the path has no service. */
function serviceOf(path: string): string {
  return path.startsWith('/') ? path.slice(1, Math.max(1, path.lastIndexOf('/'))) : '';
}

function planOf(entry: MethodConfig, limit: number): Plan {
  const { policy } = entry;
  switch (policy.kind) {
    case 'retry': {
      const maxAttempts = Math.min(policy.maxAttempts, limit);
      return maxAttempts < 2 ? nothing.plan : { ...policy, maxAttempts };
    }
    case 'none':
    case 'hedge': // joins with hedging itself; until then a warning says that it is not applied
      return nothing.plan;
    default:
      return policy satisfies never;
  }
}
