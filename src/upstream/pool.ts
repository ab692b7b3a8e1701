import type { BackendId } from '../grpc/backend-id.js';
import type { Http2Settings } from '../http2/types.js';
import type { WireTally } from '../http2/wire-tally.js';
import type { AlarmHandle } from '../runtime/ports.js';
import { Backend, type BackendLimits } from './backend.js';
import { type BackendTls, type Connector, createConnector } from './connect.js';
import { formatEndpoint } from './endpoint.js';
import { RoomWaiters } from './room-waiters.js';
import type { BackendSpec, Generation, UpstreamBackend, UpstreamPool } from './types.js';

/** Times in milliseconds. See the contract's flags of the same names. */
export interface UpstreamPoolOptions extends Omit<BackendLimits, 'onRoom'> {
  readonly backends: readonly BackendSpec[];
  /** Of the connections to backends, client role. */
  readonly settings: Http2Settings;
  /** Counts what its connections read and write. */
  readonly tally?: WireTally;
  /** Null: cleartext HTTP/2 with prior knowledge (RFC 9113 3.3). */
  readonly tls: BackendTls | null;
  /** See SocketOptions.headerTimeout. */
  readonly headerTimeout?: number;
  /** What calls in flight get on a backend that leaves. */
  readonly drainTimeout: number;
  /** A backend that was removed is gone: what went on there has ended. */
  readonly onGone?: (id: BackendId) => void;
  /** A backend was made; every one of an id, where another takes its place. */
  readonly onMade?: (backend: UpstreamBackend) => void;
  /** All that there is of it has ended. */
  readonly onEnded?: (backend: UpstreamBackend) => void;
  /** It was drained, or its drain was taken back. */
  readonly onPhase?: (id: BackendId) => void;
}

/** A pool whose connections are real. */
export interface ConnectedPool extends UpstreamPool {
  /** TLS with other certificates, for connections from now on. Throws where the texts are no certificates or keys. */
  secure(tls: BackendTls): void;
}

/** A backend, and how it leaves. */
interface Member {
  readonly backend: Backend;
  /** It is no longer wanted: gone when what goes on there has ended. */
  removed: boolean;
  /** By hand: holds whatever the specs say, but for its removal. */
  drained: boolean;
  overdueAt: AlarmHandle | null;
}

/** Backends that left whose generation is remembered, so that one that comes back is a new one. */
const remembered = 10_000;

/** All backends, each with connections of its own. Throws where the TLS texts are no certificates or keys. */
export function createUpstreamPool(
  options: UpstreamPoolOptions,
  connector: Connector = createConnector(options),
): ConnectedPool {
  const { alarms, clock, queueLimit } = options;
  const waiters = new RoomWaiters(
    () => backends,
    options.turn,
    () => queueLimit * Math.max(1, backends.length),
  );
  const limits: BackendLimits = {
    ...options,
    onStateChange(change) {
      options.onStateChange(change);
      if (change.event === 'connected') waiters.tell();
    },
    onRoom: () => waiters.tell(),
  };
  /** All whose sockets are not closed, those included that another of the same id has replaced. */
  const members = new Set<Member>();
  /** By id, in the order of the specs; those that were removed come last. */
  const byId = new Map<BackendId, Member>();
  /** By id, what another of the same id has replaced and has not left yet. */
  const replaced = new Map<BackendId, Set<Member>>();
  const generations = new Map<BackendId, Generation>();
  let backends: readonly Backend[] = [];
  let started = false;
  let stopping = false;
  let stopped: Promise<void> | null = null;
  let onAllStopped: (() => void) | null = null;

  function add(spec: BackendSpec, generation: Generation, drained: boolean): Member {
    const backend = new Backend(
      spec,
      limits,
      connector.dialOf(spec.endpoint, spec.host ?? null),
      () => onStopped(member),
      generation,
    );
    const member: Member = { backend, removed: false, drained, overdueAt: null };
    members.add(member);
    options.onMade?.(backend);
    if (drained) leave(member);
    else if (started) backend.start();
    return member;
  }

  function leave(member: Member): void {
    const { backend } = member;
    if (backend.phase !== 'serving') return;
    member.overdueAt = alarms.set(clock.now() + options.drainTimeout, () => {
      member.overdueAt = null;
      backend.expire('drain timeout: the call did not end in time');
    });
    backend.drain();
  }

  function onStopped(member: Member): void {
    const { backend } = member;
    forgetOverdue(member);
    if ((member.removed || stopping) && members.delete(member)) options.onEnded?.(backend);
    if (member.removed && byId.get(backend.id) !== member) unlist(member);
    else if (member.removed) {
      byId.delete(backend.id);
      remember(backend);
      list();
      options.onGone?.(backend.id);
    }
    if (members.size === 0) onAllStopped?.();
  }

  function replace(member: Member): void {
    const { id } = member.backend;
    const others = replaced.get(id);
    if (others === undefined) replaced.set(id, new Set([member]));
    else others.add(member);
  }

  function unlist(member: Member): void {
    const { id } = member.backend;
    const others = replaced.get(id);
    if (others?.delete(member) && others.size === 0) replaced.delete(id);
  }

  /** Of many names that left, those that left last are remembered. */
  function remember({ id, generation }: Backend): void {
    generations.set(id, generation);
    const [oldest] = generations.keys();
    if (generations.size > remembered && oldest !== undefined) generations.delete(oldest);
  }

  function forgetOverdue(member: Member): void {
    if (member.overdueAt !== null) alarms.cancel(member.overdueAt);
    member.overdueAt = null;
  }

  /** Who looks at the array sees that it is another one. */
  function list(): void {
    backends = [...byId.values()].map(({ backend }) => backend);
  }

  function apply(specs: readonly BackendSpec[]): void {
    if (stopping) return;
    const before = new Map(byId);
    byId.clear();
    const leaving: Member[] = [];
    for (const spec of specs) {
      const known = before.get(spec.id);
      before.delete(spec.id);
      if (known !== undefined && isSame(known.backend, spec)) {
        byId.set(spec.id, known);
        known.backend.update(spec);
        if (known.removed) {
          known.removed = false;
          known.drained = false;
          forgetOverdue(known);
          known.backend.resume();
        }
        continue;
      }
      const generation = known?.backend.generation ?? generations.get(spec.id) ?? 0;
      generations.delete(spec.id);
      byId.set(spec.id, add(spec, generation, known?.drained === true && !known.removed));
      if (known === undefined) continue;
      replace(known);
      leaving.push(known);
    }
    for (const [id, member] of before) {
      byId.set(id, member);
      leaving.push(member);
    }
    list();
    for (const member of leaving) {
      member.removed = true;
      // One that had been drained before has no socket left to wait for.
      if (member.backend.phase === 'left') onStopped(member);
      else leave(member);
    }
    waiters.tell();
  }

  function stop(graceMs: number): Promise<void> {
    if (members.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const grace: AlarmHandle = alarms.set(clock.now() + graceMs, () => {
        for (const { backend } of members) backend.lose('drain timeout: the call did not end in time');
        resolve();
      });
      onAllStopped = () => {
        alarms.cancel(grace);
        resolve();
      };
      for (const member of [...members]) {
        if (member.backend.phase === 'left') onStopped(member);
        else member.backend.stop();
      }
    });
  }

  apply(options.backends);
  return {
    get backends() {
      return backends;
    },
    get: (id) => byId.get(id)?.backend,
    onceRoom: (listener) => waiters.add(listener),
    forget: (listener) => waiters.forget(listener),
    secure: (tls) => connector.secure(tls),
    apply,
    start() {
      started = true;
      for (const { backend } of members) backend.start();
    },
    drain(id) {
      const member = byId.get(id);
      if (member === undefined) return false;
      member.drained = true;
      leave(member);
      options.onPhase?.(id);
      return true;
    },
    resume(id) {
      const member = byId.get(id);
      if (member === undefined || member.removed) return false;
      member.drained = false;
      forgetOverdue(member);
      member.backend.resume();
      options.onPhase?.(id);
      return true;
    },
    inFlightOf(id) {
      let count = byId.get(id)?.backend.inFlight ?? 0;
      for (const { backend } of replaced.get(id) ?? []) count += backend.inFlight;
      return count;
    },
    lose(id, detail, whom = 'all') {
      const member = byId.get(id);
      member?.backend.lose(detail);
      if (whom === 'all') for (const { backend } of [...(replaced.get(id) ?? [])]) backend.lose(detail);
      return member !== undefined;
    },
    stop(graceMs) {
      stopping = true;
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

function isSame(backend: Backend, { name, target, endpoint }: BackendSpec): boolean {
  return (
    backend.name === name && backend.target === target && formatEndpoint(backend.endpoint) === formatEndpoint(endpoint)
  );
}
