import type { BackendId } from '../grpc/backend-id.js';
import { CallTally } from '../grpc/call-tally.js';
import type { Http2Connection, StreamEvents } from '../http2/types.js';
import type { Turn } from '../runtime/ports.js';
import { type ConnectionLimits, ConnectionSet, type ConnectionSetOwner } from './connection-set.js';
import { authorityOf, formatEndpoint } from './endpoint.js';
import type { Dial } from './link.js';
import type {
  BackendChange,
  BackendSpec,
  ConnectionLife,
  ConnectionView,
  Endpoint,
  Generation,
  OpenedStream,
  StreamWaiter,
  UpstreamBackend,
} from './types.js';
import { WaiterQueue } from './waiter-queue.js';

/** What all backends of a pool share. */
export interface BackendLimits extends ConnectionLimits {
  /** Waiters, at most; at least 1. */
  readonly queueLimit: number;
  readonly turn: Turn;
  readonly onStateChange: (change: BackendChange) => void;
  /** The queue was full and has a place again. */
  readonly onRoom: () => void;
}

const leaving = 'the backend takes no more calls';

/**
 * One backend: its connections, and those who wait for a stream. Waiters are served in order of arrival by whichever
 * connection has room; nobody overtakes them. When the last connection that takes streams is lost they are told `lost`, so
 * that each may go elsewhere at once; after a GOAWAY they keep their places, since the peer is well and the next connection
 * is under way. When a connect fails and no other connection is up they are told `connect`. A peer that permits 0 streams is
 * up, and its waiters wait, until their deadlines.
 */
export class Backend implements UpstreamBackend {
  readonly id: BackendId;
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
  readonly host: string | null;
  readonly authority: string;
  readonly calls = new CallTally();
  weight: number;
  priority: number;
  maxCalls: number | null;
  phase: UpstreamBackend['phase'] = 'serving';
  overdue = false;
  /** Since when no connection is up (clock ms); null while one is. */
  downSince: number | null;

  private readonly limits: BackendLimits;
  private readonly address: string;
  private readonly whenStopped: () => void;
  private readonly dial: Dial;
  private set: ConnectionSet;
  private readonly queue = new WaiterQueue();
  private serving = false;

  /**
   * @param whenStopped after `stop` or at the end of `drain`: all sockets are closed
   * @param generation that of the newest connection which a backend of this id had before
   */
  constructor(
    spec: BackendSpec,
    limits: BackendLimits,
    dial: Dial,
    whenStopped: () => void,
    generation: Generation = 0,
  ) {
    this.id = spec.id;
    this.name = spec.name;
    this.target = spec.target;
    this.endpoint = spec.endpoint;
    this.host = spec.host ?? null;
    this.authority = spec.authority ?? authorityOf(spec.endpoint);
    this.weight = spec.weight;
    this.priority = spec.priority;
    this.maxCalls = spec.maxCalls;
    this.limits = limits;
    this.address = formatEndpoint(spec.endpoint);
    this.whenStopped = whenStopped;
    this.dial = dial;
    this.downSince = limits.clock.now();
    this.set = this.newSet(generation);
  }

  // === UpstreamBackend ===

  get link(): 'ready' | 'busy' | 'idle' | 'connecting' | 'backoff' | 'full' {
    const { state } = this.set;
    if (state !== 'backoff' && (this.queue.size >= this.limits.queueLimit || this.load >= this.most)) return 'full';
    return state === 'ready' && (this.queue.size > 0 || !this.set.hasRoom) ? 'busy' : state;
  }

  get load(): number {
    return this.set.openStreams + this.queue.size;
  }

  private get most(): number {
    return this.maxCalls ?? Number.POSITIVE_INFINITY;
  }

  get generation(): Generation {
    return this.set.generation;
  }

  get connections(): number {
    return this.set.count;
  }

  get inFlight(): number {
    return this.set.openStreams;
  }

  get queued(): number {
    return this.queue.size;
  }

  get lastError(): string | null {
    const { lastError } = this.set;
    return lastError === null ? null : this.words(lastError);
  }

  get nextConnectAt(): number | null {
    return this.set.nextConnectAt;
  }

  views(): readonly ConnectionView[] {
    return this.set.views;
  }

  tryOpen(events: StreamEvents): OpenedStream | null {
    // Room that is left while somebody waits is theirs: this may be asked between a stream's end and `onRoom`.
    return this.queue.size > 0 ? null : this.set.open(events);
  }

  lifeOf(connection: Http2Connection): ConnectionLife | null {
    return this.set.lifeOf(connection);
  }

  wait(waiter: StreamWaiter): void {
    this.queue.push(waiter);
    const { phase } = this;
    const hopeless = phase === 'left' || (phase === 'leaving' && this.set.count === 0);
    if (hopeless) this.limits.turn.atEnd(() => this.tellWaiters('closed', leaving));
    else this.set.connectIfShort();
  }

  cancel(waiter: StreamWaiter): void {
    const before = this.queue.size;
    this.queue.remove(waiter);
    this.tellOfRoom(before);
  }

  // === For the pool ===

  start(): void {
    this.set.connectIfShort();
  }

  /** Changes what may change while it serves. */
  update({ weight, priority, maxCalls }: BackendSpec): void {
    const roomier = this.link === 'full';
    this.weight = weight;
    this.priority = priority;
    this.maxCalls = maxCalls;
    if (roomier && this.link !== 'full') this.limits.onRoom();
  }

  /** Is picked no more; what goes on there ends by itself, and those who must go there (sessions) still may, until it has. */
  drain(): void {
    if (this.phase !== 'serving') return;
    this.phase = 'leaving';
    this.tellWaiters('closed', leaving);
    this.set.drain(leaving);
  }

  /** Takes a drain back, also one that had come to its end. */
  resume(): void {
    if (this.phase === 'serving') return;
    this.phase = 'serving';
    this.overdue = false;
    if (this.set.resume()) return;
    this.downSince = this.limits.clock.now();
    this.set = this.newSet(this.set.generation);
    this.set.connectIfShort();
  }

  /** Takes no more streams, lets those that are open end, then closes. */
  stop(): void {
    if (this.phase === 'left') return;
    this.phase = 'left';
    this.set.stop(leaving);
    this.tellWaiters('closed', leaving);
  }

  /** Ends all connections now: streams are lost in this turn, with these words. */
  lose(detail: string): void {
    this.set.lose(detail);
  }

  /** The time that its last calls had is over: see UpstreamBackend.overdue. */
  expire(detail: string): void {
    this.overdue = true;
    this.set.lose(detail);
  }

  // === For the set of connections ===

  /** One that a resumed drain has replaced may still have sockets to close: what it tells is for the log alone. */
  private newSet(generation: Generation): ConnectionSet {
    const isOurs = (): boolean => this.set === set;
    const queue = this.queue;
    const owner: ConnectionSetOwner = {
      get waiting() {
        return isOurs() && queue.size > 0;
      },
      onRoom: () => {
        if (isOurs()) this.onRoom();
      },
      onNone: (why, detail) => {
        if (isOurs()) this.tellWaiters(why, detail);
      },
      onChange: (...change) => {
        if (isOurs()) this.noteUp(change[0]);
        this.tellChange(...change);
      },
      onStopped: () => {
        if (isOurs()) this.onStopped();
      },
    };
    const set = new ConnectionSet(this.limits, this.dial, owner, generation);
    return set;
  }

  private onRoom(): void {
    // What a waiter does with its stream may free another: the loop that runs already sees it.
    if (this.serving) return;
    if (this.queue.size === 0) {
      if (this.maxCalls !== null) this.limits.onRoom();
      return;
    }
    this.serving = true;
    const before = this.queue.size;
    try {
      for (let { first } = this.queue; first !== null; first = this.queue.first) {
        const opened = this.set.open(first.events);
        if (opened === null) break;
        this.queue.remove(first);
        first.onOpened(opened.stream, opened.connection);
      }
    } finally {
      this.serving = false;
    }
    this.set.connectIfShort();
    this.tellOfRoom(before);
  }

  private noteUp(event: BackendChange['event']): void {
    if (event === 'connected') this.downSince = null;
    else if (this.set.count === 0) this.downSince ??= this.limits.clock.now();
  }

  private tellChange(
    event: BackendChange['event'],
    generation: Generation,
    detail: string,
    retryIn: number | null,
  ): void {
    const { id, name, address } = this;
    this.limits.onStateChange({ id, name, address, event, generation, detail: this.words(detail), retryIn });
  }

  private onStopped(): void {
    this.phase = 'left';
    this.downSince ??= this.limits.clock.now();
    this.whenStopped();
  }

  private tellOfRoom(queuedBefore: number): void {
    const { queueLimit, onRoom } = this.limits;
    if (queuedBefore >= queueLimit && this.queue.size < queueLimit) onRoom();
  }

  private tellWaiters(why: 'connect' | 'lost' | 'closed', detail: string): void {
    const words = this.words(detail);
    // Whoever is told may come back at once, and is not told again.
    const { lastTicket } = this.queue;
    for (let waiter = this.queue.shift(lastTicket); waiter !== null; waiter = this.queue.shift(lastTicket)) {
      waiter.onFailed(why, words);
    }
  }

  private words(detail: string): string {
    return `backend ${this.name} at ${this.address}: ${detail}`;
  }
}
