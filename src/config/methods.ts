import type { Millis } from '../grpc/millis.js';
import type { Plan } from '../policy/types.js';
import type { Policy } from './policy-grammar.js';
import type { ServiceConfig } from './service-config.js';

/** What is in force for one method. */
export interface MethodPolicy {
  readonly plan: Plan;
  /** The most that a call may take from its start; a client's own, where shorter, rules (CFG-79). */
  readonly timeout: Millis | null;
  /** Waits for a backend where none can be reached, instead of failing (CFG-83). */
  readonly waitForReady: boolean;
  /** Bytes of one message, its prefix of five not counted; null is no limit (CFG-85 to CFG-87). */
  readonly maxRequestMessageBytes: number | null;
  readonly maxResponseMessageBytes: number | null;
  /** The config names this very method, its service alone does not do: such names are bounded, and fit for a metric label (D23). */
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

const nothing: MethodPolicy = {
  plan: { kind: 'none' },
  timeout: null,
  waitForReady: false,
  maxRequestMessageBytes: null,
  maxResponseMessageBytes: null,
  named: false,
  entry: null,
};

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
    const named: MethodPolicy = {
      plan: planOf(entry.policy, config.maxAttemptsLimit),
      timeout: entry.timeout,
      waitForReady: entry.waitForReady ?? false,
      maxRequestMessageBytes: entry.maxRequestMessageBytes,
      maxResponseMessageBytes: entry.maxResponseMessageBytes,
      named: true,
      entry: entry.index,
    };
    for (const name of entry.names) {
      names++;
      if (name.kind === 'all') byDefault = { ...named, named: false };
      else if (name.kind === 'service') byService.set(name.service, { ...named, named: false });
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

/** The plan that runs: its attempts are capped, and fewer than two are no plan (A6, Configuration; CFG-34). */
export function planOf(policy: Policy, maxAttemptsLimit: number): Plan {
  switch (policy.kind) {
    case 'none':
      return policy;
    case 'retry':
    case 'hedge': {
      const maxAttempts = Math.min(policy.maxAttempts, maxAttemptsLimit);
      return maxAttempts < 2 ? nothing.plan : { ...policy, maxAttempts };
    }
    default:
      return policy satisfies never;
  }
}
