import type { BackendId } from '../grpc/backend-id.js';
import { TrackedBackend, type Troubles } from './health-backend.js';
import type { Health, HealthSettings } from './health-types.js';

export function createHealth(settings: HealthSettings): Health {
  const backends = new Map<BackendId, TrackedBackend>();
  const troubles: Troubles = { count: 0 };
  return {
    get calm() {
      return troubles.count === 0;
    },
    of(id) {
      let backend = backends.get(id);
      if (backend === undefined) {
        backend = new TrackedBackend(id, settings, troubles);
        backends.set(id, backend);
      }
      return backend;
    },
    standing: (id, now) => backends.get(id)?.standing(now) ?? 'clean',
    parkedUntil: (id) => backends.get(id)?.parkedUntil ?? 0,
    mayProbe: (id, now, guarded) => backends.get(id)?.mayProbe(now, guarded) ?? false,
    absentSince: (id, now) => backends.get(id)?.absentSince(now) ?? null,
    forget(id, now) {
      const backend = backends.get(id);
      backends.delete(id);
      return backend?.leave(now) ?? null;
    },
  };
}
