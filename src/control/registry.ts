import { Status, type StatusCode } from '../grpc/status.js';
import { readRegistration, readUpdate } from './registration.js';
import type {
  RegisteredBackend,
  RegistrationFields,
  RegistryDecision,
  RegistryEnv,
  RegistryEvent,
  RegistryMessage,
  StreamId,
  UpdateFields,
} from './types.js';

/** What the registry keeps to. Times in milliseconds. */
export interface RegistryLimits {
  /** Backends registered at once. */
  readonly maxRegistrations: number;
  /** Streams open at once, those that have not registered yet and those that left included. */
  readonly maxStreams: number;
  /** A stream that has not registered by then ends. */
  readonly registrationTimeout: number;
  /** What backends that promise heartbeats are asked for. Three without a message are a loss. */
  readonly heartbeatInterval: number;
  /**
   * From a half-close to the status. grpc-js, and whatever else stands on node:http2, half-closes a stream before it resets
   * it: a cancel looks like a leave until the RST_STREAM comes, in the same packet or soon after it.
   */
  readonly resetGrace: number;
  /** From `leaving` to the end of a stream that stays open: nothing can come of it, and it holds a place. */
  readonly leftGrace: number;
}

export const defaultRegistryLimits: RegistryLimits = {
  maxRegistrations: 10_000,
  maxStreams: 12_000,
  registrationTimeout: 10_000,
  heartbeatInterval: 5000,
  resetGrace: 100,
  leftGrace: 10_000,
};

const heartbeatsMissed = 3;

/** A stream that is open. */
type Stream =
  | { readonly phase: 'new' }
  | { readonly phase: 'registered'; readonly backend: RegisteredBackend; readonly heartbeats: boolean }
  /** It half-closed: new calls go elsewhere, and a reset that comes now makes it a loss after all. */
  | { readonly phase: 'finishing'; readonly backend: RegisteredBackend }
  /** It said `leaving`: whatever comes of the stream now, the backend is no loss. */
  | { readonly phase: 'left' };

/**
 * Who is registered: events in, decisions out. Pure: no clock, no sockets. A registration belongs to its stream, by its
 * generation (relatives L4): what becomes of a stream that another has taken over from touches nobody.
 */
export interface Registry {
  handle(event: RegistryEvent, env: RegistryEnv): readonly RegistryDecision[];
  /** When `woke` is due, on the scale of `env.now`; null: nothing is. */
  readonly wakeAt: number | null;
  /** Backends registered now. */
  readonly size: number;
}

export function createRegistry(limits: RegistryLimits = defaultRegistryLimits): Registry {
  return new Registrations(limits);
}

class Registrations implements Registry {
  private readonly limits: RegistryLimits;
  private readonly streams = new Map<StreamId, Stream>();
  /** The stream that holds each name. */
  private readonly holders = new Map<string, StreamId>();
  // Each map holds one period for all, and what is heard again moves to its end: the first entry is the first that is due.
  private readonly registrationDue = new Map<StreamId, number>();
  private readonly heartbeatDue = new Map<StreamId, number>();
  private readonly statusDue = new Map<StreamId, number>();
  private readonly leftDue = new Map<StreamId, number>();
  private generation = 0;
  private decisions: RegistryDecision[] = [];

  constructor(limits: RegistryLimits) {
    this.limits = limits;
  }

  get wakeAt(): number | null {
    let first = Number.POSITIVE_INFINITY;
    for (const map of [this.registrationDue, this.heartbeatDue, this.statusDue, this.leftDue]) {
      const [due] = map.values();
      if (due !== undefined && due < first) first = due;
    }
    return first === Number.POSITIVE_INFINITY ? null : first;
  }

  get size(): number {
    return this.holders.size;
  }

  handle(event: RegistryEvent, env: RegistryEnv): readonly RegistryDecision[] {
    this.decisions = [];
    switch (event.type) {
      case 'opened':
        this.open(event.stream, env);
        break;
      case 'received': {
        const stream = this.streams.get(event.stream);
        if (stream !== undefined) this.receive(event.stream, stream, event.message, env);
        break;
      }
      case 'finished': {
        const stream = this.streams.get(event.stream);
        if (stream !== undefined) this.finish(event.stream, stream, env.now);
        break;
      }
      case 'broke': {
        const stream = this.streams.get(event.stream);
        if (stream !== undefined) this.broke(event.stream, stream, event.by);
        break;
      }
      case 'expelled': {
        const holder = this.holders.get(event.name);
        if (holder !== undefined) this.end(holder, Status.ALREADY_EXISTS, event.why);
        break;
      }
      case 'woke':
        this.endOverdue(env.now);
        this.endFinished(env.now);
        break;
      case 'stopping':
        for (const id of [...this.streams.keys()])
          this.end(id, Status.UNAVAILABLE, 'hedgerow is stopping; register again after a wait');
        break;
      default:
        event satisfies never;
    }
    return this.decisions;
  }

  private open(id: StreamId, { now }: RegistryEnv): void {
    if (this.streams.size >= this.limits.maxStreams) {
      const details = `${this.limits.maxStreams} streams are open, which is as many as may be`;
      this.decisions.push({ type: 'end', stream: id, code: Status.RESOURCE_EXHAUSTED, details });
      return;
    }
    this.streams.set(id, { phase: 'new' });
    this.registrationDue.set(id, now + this.limits.registrationTimeout);
  }

  private receive(id: StreamId, stream: Stream, message: RegistryMessage, env: RegistryEnv): void {
    switch (stream.phase) {
      case 'new':
        if (message.kind === 'registration') this.register(id, message.fields, env);
        else this.end(id, Status.INVALID_ARGUMENT, firstMessageProblem(message));
        return;
      case 'registered':
        if (stream.heartbeats) this.heard(id, env.now);
        this.receiveLater(id, stream.backend, message, env.now);
        return;
      case 'finishing':
        // Nothing can follow END_STREAM.
        return;
      case 'left':
        if (message.kind === 'registration' || message.kind === 'update') {
          this.reject(id, 'this backend has left; open another stream to register it again');
        } else if (message.kind === 'malformed') this.end(id, Status.INVALID_ARGUMENT, message.problem);
        return;
      default:
        stream satisfies never;
    }
  }

  private register(id: StreamId, fields: RegistrationFields, env: RegistryEnv): void {
    // One who comes back may: the calls that are left may need it (D35).
    if (env.draining && !this.holders.has(fields.name)) {
      this.end(id, Status.UNAVAILABLE, 'hedgerow is draining and takes no new backends');
      return;
    }
    const read = readRegistration(fields, this.generation + 1);
    if (!read.ok) {
      this.end(id, Status.INVALID_ARGUMENT, read.problem);
      return;
    }
    const backend = read.value;
    const { name } = backend;
    const source = env.reservedBy(name);
    if (source !== null) {
      this.end(id, Status.ALREADY_EXISTS, `backend ${name} is named by ${source}; register under another name`);
      return;
    }
    const listener = env.ownListener(backend.endpoint);
    if (listener !== null) {
      const details = `target ${backend.target} is ${listener} of this hedgerow: calls would go round for ever`;
      this.end(id, Status.FAILED_PRECONDITION, details);
      return;
    }
    const holder = this.holders.get(name);
    if (holder === undefined && this.holders.size >= this.limits.maxRegistrations) {
      const details = `${this.limits.maxRegistrations} backends are registered, which is as many as may be`;
      this.end(id, Status.RESOURCE_EXHAUSTED, details);
      return;
    }
    const replaces = holder === undefined ? null : this.supersede(holder, name);
    this.generation = backend.generation;
    this.holders.set(name, id);
    this.streams.set(id, { phase: 'registered', backend, heartbeats: fields.heartbeats });
    this.registrationDue.delete(id);
    if (fields.heartbeats) this.heard(id, env.now);
    this.decisions.push({ type: 'put', backend, replaces });
    const { heartbeatInterval } = this.limits;
    const reply = { kind: 'registered', generation: backend.generation, heartbeatInterval } as const;
    this.decisions.push({ type: 'reply', stream: id, reply });
  }

  /**
   * The newer stream has the name: a backend whose network failed comes back before we know that its old stream is dead.
   * Nobody is lost. @returns the generation that is over
   */
  private supersede(holder: StreamId, name: string): number | null {
    const stream = this.streams.get(holder);
    this.end(holder, Status.ABORTED, `a newer stream has registered ${name}; do not register again`);
    return stream?.phase === 'registered' ? stream.backend.generation : null;
  }

  private receiveLater(id: StreamId, backend: RegisteredBackend, message: RegistryMessage, now: number): void {
    switch (message.kind) {
      case 'registration':
        this.reject(id, `this stream has registered ${backend.name}; send an update, or open another stream`);
        return;
      case 'update':
        this.update(id, backend, message.fields);
        return;
      case 'heartbeat':
        return;
      case 'leaving':
        this.release(id, backend);
        this.streams.set(id, { phase: 'left' });
        this.leftDue.set(id, now + this.limits.leftGrace);
        this.decisions.push({ type: 'drain', backend, why: 'it said that it is leaving' });
        this.decisions.push({ type: 'reply', stream: id, reply: { kind: 'left' } });
        return;
      case 'unknown':
        this.reject(id, 'this version of hedgerow knows no such message');
        return;
      case 'malformed':
        this.end(id, Status.INVALID_ARGUMENT, message.problem);
        // It lives, though it makes no sense: its calls are not to be cut off.
        this.decisions.push({ type: 'drain', backend, why: `its registration was ended: ${message.problem}` });
        return;
      default:
        message satisfies never;
    }
  }

  private update(id: StreamId, backend: RegisteredBackend, fields: UpdateFields): void {
    const read = readUpdate(backend, fields);
    if (!read.ok) {
      this.reject(id, read.problem);
      return;
    }
    const stream = this.streams.get(id);
    const heartbeats = stream?.phase === 'registered' && stream.heartbeats;
    this.streams.set(id, { phase: 'registered', backend: read.value, heartbeats });
    if (!sameOptions(backend, read.value)) {
      this.decisions.push({ type: 'put', backend: read.value, replaces: backend.generation });
    }
    this.decisions.push({ type: 'reply', stream: id, reply: { kind: 'updated' } });
  }

  private finish(id: StreamId, stream: Stream, now: number): void {
    switch (stream.phase) {
      case 'new':
        this.end(id, Status.INVALID_ARGUMENT, 'the stream ended without a registration');
        return;
      case 'registered': {
        const { backend } = stream;
        this.release(id, backend);
        this.streams.set(id, { phase: 'finishing', backend });
        this.statusDue.set(id, now + this.limits.resetGrace);
        this.decisions.push({ type: 'drain', backend, why: 'it ended its registration' });
        return;
      }
      case 'finishing':
        return;
      case 'left':
        this.end(id, Status.OK, '');
        return;
      default:
        stream satisfies never;
    }
  }

  private broke(id: StreamId, stream: Stream, by: 'reset' | 'connection'): void {
    this.forget(id);
    const why = 'its registration stream broke';
    switch (stream.phase) {
      case 'registered':
        this.decisions.push({ type: 'lose', backend: stream.backend, why });
        return;
      case 'finishing':
        // Who hangs up after a half-close has left in a hurry; who resets has not left. One who is back already is no loss.
        if (by === 'reset' && !this.holders.has(stream.backend.name)) {
          this.decisions.push({ type: 'lose', backend: stream.backend, why });
        }
        return;
      case 'new':
      case 'left':
        return;
      default:
        stream satisfies never;
    }
  }

  private endOverdue(now: number): void {
    for (const [id, due] of this.registrationDue) {
      if (due > now) break;
      const details = `no registration came within ${this.limits.registrationTimeout} ms`;
      this.end(id, Status.DEADLINE_EXCEEDED, details);
    }
    for (const [id, due] of this.heartbeatDue) {
      if (due > now) break;
      const stream = this.streams.get(id);
      const why = `no heartbeat came for ${heartbeatsMissed * this.limits.heartbeatInterval} ms`;
      this.end(id, Status.UNAVAILABLE, why);
      if (stream?.phase === 'registered') this.decisions.push({ type: 'lose', backend: stream.backend, why });
    }
  }

  private endFinished(now: number): void {
    for (const map of [this.statusDue, this.leftDue]) {
      for (const [id, due] of map) {
        if (due > now) break;
        this.end(id, Status.OK, '');
      }
    }
  }

  private heard(id: StreamId, now: number): void {
    this.heartbeatDue.delete(id);
    this.heartbeatDue.set(id, now + heartbeatsMissed * this.limits.heartbeatInterval);
  }

  private reject(id: StreamId, reason: string): void {
    this.decisions.push({ type: 'reply', stream: id, reply: { kind: 'rejected', reason } });
  }

  private end(id: StreamId, code: StatusCode, details: string): void {
    this.forget(id);
    this.decisions.push({ type: 'end', stream: id, code, details });
  }

  /** The stream is over. */
  private forget(id: StreamId): void {
    const stream = this.streams.get(id);
    if (stream?.phase === 'registered') this.release(id, stream.backend);
    this.streams.delete(id);
    this.registrationDue.delete(id);
    this.statusDue.delete(id);
    this.leftDue.delete(id);
  }

  /** The name is free, and no heartbeat is waited for. */
  private release(id: StreamId, { name }: RegisteredBackend): void {
    this.heartbeatDue.delete(id);
    if (this.holders.get(name) === id) this.holders.delete(name);
  }
}

function firstMessageProblem(message: RegistryMessage): string {
  return message.kind === 'malformed' ? message.problem : 'the first message of a stream must be a registration';
}

function sameOptions(a: RegisteredBackend, b: RegisteredBackend): boolean {
  return a.weight === b.weight && a.priority === b.priority && a.maxCalls === b.maxCalls;
}
