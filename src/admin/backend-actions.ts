import type { Health, HealthChange } from '../balance/health-types.js';
import type { UpstreamBackend, UpstreamPool } from '../upstream/types.js';

/** What `POST /backends/NAME/ACTION` can do. */
export type BackendAction = 'park' | 'unpark' | 'drain' | 'lost';

export const backendActions = ['park', 'unpark', 'drain', 'lost'] as const satisfies readonly BackendAction[];

/** What the actions act on. */
export interface ActionParts {
  readonly pool: Pick<UpstreamPool, 'backends' | 'inFlightOf' | 'drain' | 'resume' | 'lose'>;
  readonly health: Pick<Health, 'of'>;
  /** Parks and releases by hand are told as all others are. */
  readonly onHealthChange: (change: HealthChange) => void;
  /** A duration like `5m` in milliseconds, or what is wrong with it. */
  readonly readDuration: (
    text: string,
  ) => { readonly ok: true; readonly value: number } | { readonly ok: false; readonly problem: string };
}

/** What was asked for, or the HTTP status and the sentence that it is answered with. */
export type Asked<T> = T | { readonly status: 400 | 404 | 409; readonly problem: string };

/** Names that an answer lists, at most, and of each so many characters. */
const mostNamed = 5;
const mostOfName = 100;

export function isProblem<T extends object>(
  asked: Asked<T>,
): asked is { readonly status: 400 | 404 | 409; readonly problem: string } {
  return 'problem' in asked;
}

/**
 * The backends that a path segment names: one by its own name, or all members of a group.
 *
 * @param segment as it stands in the path, with `%2F` for the `/` in a member's name
 */
export function selectBackends(
  segment: string,
  backends: readonly UpstreamBackend[],
): Asked<readonly UpstreamBackend[]> {
  const name = decoded(segment)?.toLowerCase();
  if (name === undefined) {
    return { status: 400, problem: `${shown(segment)} has a % that begins no escape of UTF-8; write % as %25` };
  }
  const own = backends.filter(({ id }) => id === name);
  const found = own.length > 0 ? own : backends.filter((backend) => backend.name === name);
  if (found.length > 0) return found;
  const known = backends.map(({ id }) => id);
  if (known.length === 0) return { status: 404, problem: `there is no backend ${shown(name)}; there are none at all` };
  const rest = known.length - mostNamed;
  const listed = `${known.slice(0, mostNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  return { status: 404, problem: `there is no backend ${shown(name)}; there are ${listed}` };
}

/**
 * The length of a park, from `?for=5m`; null: until it is unparked. What is misspelt is refused: a park without an end is
 * nothing to fall into.
 */
export function parkLength(
  query: string,
  readDuration: ActionParts['readDuration'],
): Asked<{ readonly ms: number | null }> {
  const given = [...new URLSearchParams(query)];
  const [first, second] = given;
  if (first === undefined) return { ms: null };
  const [key, text] = first;
  if (key !== 'for' || second !== undefined) {
    return { status: 400, problem: 'park takes one parameter, for, with a duration: ?for=5m' };
  }
  const read = readDuration(text);
  return read.ok ? { ms: read.value } : { status: 400, problem: `for=${text.slice(0, mostOfName)}: ${read.problem}` };
}

/** Null: done. Otherwise why it could not be. */
export function act(
  action: BackendAction,
  backends: readonly UpstreamBackend[],
  parkMs: number | null,
  parts: ActionParts,
  now: number,
): { readonly status: 409; readonly problem: string } | null {
  const { pool, health, onHealthChange } = parts;
  switch (action) {
    case 'park':
      for (const { id } of backends) onHealthChange(health.of(id).park(parkMs, now));
      return null;
    case 'unpark': {
      let resumed = 0;
      for (const { id } of backends) {
        const change = health.of(id).unpark(now);
        if (change !== null) onHealthChange(change);
        if (pool.resume(id)) resumed += 1;
      }
      if (resumed > 0) return null;
      return { status: 409, problem: 'no source of backends names it any more: it leaves, and cannot be taken back' };
    }
    case 'drain':
      for (const { id } of backends) pool.drain(id);
      return null;
    case 'lost':
      for (const { id } of backends) pool.lose(id, 'declared lost by hand');
      return null;
    default:
      return action satisfies never;
  }
}

/** Undefined where the escapes are none. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function shown(name: string): string {
  return JSON.stringify(name.length > mostOfName ? `${name.slice(0, mostOfName)}…` : name);
}
