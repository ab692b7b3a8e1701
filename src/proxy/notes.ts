import type { MetadataField } from '../grpc/metadata.js';
import type { StopReason } from '../grpc/stop-reason.js';

/** Our own response keys for one call (contract, Metadata). */
export interface Notes {
  /** For initial metadata. */
  initial(backend: string | null): readonly MetadataField[];
  /**
   * For trailers.
   * @param backend whose answer or loss the client is told; null where none was reached
   * @param retries policy attempts beyond the first
   * @param reason null where the call ended OK
   */
  trailers(backend: string | null, retries: number, reason: StopReason | null): readonly MetadataField[];
}

const nothing: readonly MetadataField[] = [];

/**
 * Lists and fields that repeat are made once, so that a call costs no object for them and the wire's encoder knows the
 * fields again by identity. Bounded by the backends' names, the stop reasons and the cap on attempts.
 *
 * @param prefix with its dash
 * @param enabled --response-metadata
 */
export function createNotes(prefix: string, enabled: boolean): Notes {
  if (!enabled) return { initial: () => nothing, trailers: () => nothing };

  const field = (name: string, value: string): MetadataField => ({ name: prefix + name, value, neverIndexed: false });
  const backends = new Map<string, readonly MetadataField[]>();
  const retryFields = new Map<number, MetadataField>();
  const reasons = new Map<StopReason, MetadataField>();
  /** By backend: the trailers of a call that ended OK without a retry, which nearly all are. */
  const plain = new Map<string, readonly MetadataField[]>();

  function remember<Key>(known: Map<Key, MetadataField>, key: Key, name: string): MetadataField {
    let found = known.get(key);
    if (found === undefined) {
      found = field(name, String(key));
      known.set(key, found);
    }
    return found;
  }

  function initial(backend: string | null): readonly MetadataField[] {
    if (backend === null) return nothing;
    let list = backends.get(backend);
    if (list === undefined) {
      list = [field('backend', backend)];
      backends.set(backend, list);
    }
    return list;
  }

  function make(backend: string | null, retries: number, reason: StopReason | null): readonly MetadataField[] {
    const list = [...initial(backend), remember(retryFields, retries, 'retries')];
    if (reason !== null) list.push(remember(reasons, reason, 'stop-reason'));
    return list;
  }

  return {
    initial,
    trailers(backend, retries, reason) {
      if (retries > 0 || reason !== null || backend === null) return make(backend, retries, reason);
      let list = plain.get(backend);
      if (list === undefined) {
        list = make(backend, retries, reason);
        plain.set(backend, list);
      }
      return list;
    },
  };
}
