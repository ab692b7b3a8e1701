import { stopPushback } from '../grpc/known-fields.js';
import type { MetadataField } from '../grpc/metadata.js';
import type { StopReason } from '../grpc/stop-reason.js';

/** How one call went, as its trailers tell it (contract, Metadata). */
export interface Story {
  /** Whose answer or loss the client is told; null where no backend was reached. */
  readonly backend: string | null;
  /** Policy attempts beyond the first. */
  readonly retries: number;
  /** Names in order of dispatch, the one that answered last; empty where fewer than two attempts were dispatched. */
  readonly backends: readonly string[];
  /** A hedge was sent. */
  readonly hedged: boolean;
  /** Null: the call ended OK. */
  readonly failure: StoryEnd | null;
}

export interface StoryEnd {
  readonly reason: StopReason;
  readonly origin: 'backend' | 'proxy';
  /** `no`: no attempt can have reached application code. */
  readonly processed: 'no' | 'unknown';
  readonly callId: string;
}

/** Our own response keys. */
export interface Notes {
  /** For initial metadata. */
  initial(backend: string | null): readonly MetadataField[];
  /** For the trailers of a call that ended OK at its only attempt, as nearly all do. */
  plain(backend: string): readonly MetadataField[];
  /** For any other's. */
  trailers(story: Story): readonly MetadataField[];
}

const nothing: readonly MetadataField[] = [];
/** Backends whose lists are kept at a time. */
const mostNames = 10_000;

/**
 * Lists and fields that repeat are made once, so that a call costs no object for them and the wire's encoder knows the
 * fields again by identity. Bounded by the backends' names, the stop reasons and the cap on attempts.
 *
 * @param prefix with its dash
 * @param enabled --response-metadata; what keeps a client's library from hammering is sent all the same
 */
export function createNotes(prefix: string, enabled: boolean): Notes {
  if (!enabled) return { initial: () => nothing, plain: () => nothing, trailers: stops };

  const field = (name: string, value: string): MetadataField => ({ name: prefix + name, value, neverIndexed: false });
  const backends = new Map<string, readonly MetadataField[]>();
  const plain = new Map<string, readonly MetadataField[]>();
  const retryFields = new Map<number, MetadataField>();
  const reasons = new Map<StopReason, MetadataField>();
  const origins = { backend: field('origin', 'backend'), proxy: field('origin', 'proxy') };
  const processed = { no: field('processed', 'no'), unknown: field('processed', 'unknown') };
  const hedged = field('hedged', 'true');

  /** Names come and go where backends register themselves: what was made for them is made again. */
  function bounded(lists: Map<string, readonly MetadataField[]>): void {
    if (lists.size >= mostNames) lists.clear();
  }

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
      bounded(backends);
      list = [field('backend', backend)];
      backends.set(backend, list);
    }
    return list;
  }

  return {
    initial,
    plain(backend) {
      let list = plain.get(backend);
      if (list === undefined) {
        bounded(plain);
        list = [...initial(backend), remember(retryFields, 0, 'retries')];
        plain.set(backend, list);
      }
      return list;
    },
    trailers(story) {
      const { failure } = story;
      const list = [...initial(story.backend), remember(retryFields, story.retries, 'retries')];
      if (story.backends.length > 0) list.push(field('backends', story.backends.join(',')));
      if (story.hedged) list.push(hedged);
      if (failure !== null) {
        list.push(remember(reasons, failure.reason, 'stop-reason'), origins[failure.origin]);
        list.push(processed[failure.processed], field('call-id', failure.callId), ...stops(story));
      }
      return list;
    },
  };
}

/** A client's library must not repeat what would fail the same way (D6, D15). */
function stops({ failure }: Story): readonly MetadataField[] {
  return failure?.reason === 'pin_unknown' || failure?.reason === 'session_lost' ? [stopPushback] : nothing;
}
