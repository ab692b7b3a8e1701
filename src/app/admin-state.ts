import type { AdminState } from '../admin/admin-state.js';
import { BackendHistory } from '../admin/backend-history.js';

import type { HealthChange } from '../balance/health-types.js';
import type { Sessions } from '../balance/sessions.js';
import { duration } from '../config/setting-kinds.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type LossRecord, lossOutcomes } from '../proxy/losses.js';
import type { BackendChange } from '../upstream/types.js';
import type { Backends } from './backends.js';

/** How long a park by hand may be. */
const parkRange = duration('1ms', '24h');

/** What the admin endpoints work with, and what has to be told of backends for them. */
export interface BackendRecords {
  readonly history: BackendHistory;
  onBackendChange(change: BackendChange): void;
  onHealthChange(change: HealthChange): void;
  onLoss(loss: LossRecord): void;
}

/** @param backends asked for only when something has happened */
export function createBackendRecords(backends: () => Backends, now: () => number): BackendRecords {
  const history = new BackendHistory(lossOutcomes);

  function look(id: BackendId): void {
    const { pool, book } = backends();
    const backend = pool.get(id);
    // Its health must not be asked for when it is gone: it would be made anew.
    if (backend !== undefined) history.look({ backend, stats: book.health.of(id).stats(now()) }, now());
  }

  return {
    history,
    onBackendChange: ({ id }) => look(id),
    onHealthChange(change) {
      history.changed(change);
      look(change.id);
    },
    onLoss: (loss) => history.lost(loss),
  };
}

/** Follows the set of backends as well. */
export function createAdminState(
  backends: Backends,
  { history }: BackendRecords,
  rest: Pick<AdminState, 'draining' | 'now' | 'tell' | 'metrics' | 'throttle' | 'program' | 'readAsset'> & {
    readonly sessions: Sessions;
  },
): Omit<AdminState, 'watch'> {
  const { pool, book, finder } = backends;
  finder.sources.onChange((_backends, { added }) => {
    const now = rest.now();
    const fresh = new Set<string>(added);
    history.keepOnly(new Set(pool.backends.map(({ id }) => id).filter((id) => !fresh.has(id))));
    for (const backend of pool.backends) history.look({ backend, stats: book.health.of(backend.id).stats(now) }, now);
  });
  return {
    ...rest,
    pool,
    health: book.health,
    history,
    onHealthChange: book.onChange,
    readDuration: (text) => parkRange.fromText(text),
    sources() {
      const wanted = finder.sources.specs().flatMap(({ id, name }) => {
        const source = finder.sourceOf(name);
        return source === null ? [] : [[id, source] as const];
      });
      return new Map(wanted);
    },
  };
}
