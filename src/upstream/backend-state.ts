import type { BackendId } from '../grpc/backend-id.js';
import type { Http2Connection, Http2Stream, StreamEvents } from '../http2/types.js';
import type { AlarmHandle, Alarms, Clock, Random, Turn } from '../runtime/ports.js';
import { ConnectPace } from './backoff.js';
import { formatEndpoint } from './endpoint.js';
import type { Dial, Link } from './link.js';
import type { BackendChange, Endpoint, Generation, StreamWaiter, UpstreamBackend } from './types.js';
import { WaiterQueue } from './waiter-queue.js';

/** Which backend. */
export interface BackendSpec {
  readonly id: BackendId;
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
}

/** What all backends of a pool share. */
export interface BackendLimits {
  /** Milliseconds, for TCP, TLS and the peer's SETTINGS together. */
  readonly connectTimeout: number;
  /** Milliseconds. */
  readonly connectBackoffMax: number;
  /** Connections that take streams, at most; at least 1. */
  readonly backendConnections: number;
  /** Waiters, at most; at least 1. Kept by those who read `link`. */
  readonly queueLimit: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
  readonly onStateChange: (change: BackendChange) => void;
}

/** A connection that lived this long (ms) was of use, even if it carried no call. */
const usefulLife = 1000;
/** A connection beyond the first that no call used for this long (ms), or up to twice as long, is closed. */
const spareIdle = 750;

/**
 * connecting → up → retired → gone: `retired` takes no new streams and ends with its last one (GOAWAY, spare, stop);
 * `gone` is lost or never came up, and its socket may still be closing.
 */
type Phase = 'connecting' | 'up' | 'retired' | 'gone';

interface Slot {
  phase: Phase;
  link: Link;
  /** Null while connecting. */
  connection: Http2Connection | null;
  generation: Generation;
  upAt: number;
  /** A stream ended on it while it was well, or was open when it said GOAWAY: it has served. */
  useful: boolean;
  timeout: AlarmHandle | null;
  /** Streams opened so far, and how many they were when spare connections were last looked for. */
  opened: number;
  openedBefore: number;
}

/**
 * The state machine of one backend's connections. Pure: `dial` makes connections, the ports tell the time.
 *
 * Waiters are served in order of arrival by whichever connection has room; nobody overtakes them. When the last connection
 * that takes streams ends they are told `lost`, so that each may go elsewhere at once; after a GOAWAY, though, they keep
 * their places, since the peer is well and the next connection is under way (BR-66). When a connect fails and no other
 * connection is up they are told `connect`. A peer that permits 0 streams is up, and its waiters wait until their deadlines.
 */
export class Backend implements UpstreamBackend {
  readonly id: BackendId;
  readonly name: string;
  readonly target: string;
  readonly endpoint: Endpoint;
  generation: Generation = 0;
  lastError: string | null = null;

  private readonly limits: BackendLimits;
  private readonly dial: Dial;
  private readonly onStopped: () => void;
  private readonly address: string;
  private readonly pace: ConnectPace;
  private readonly queue = new WaiterQueue();
  /** All whose sockets are not closed. */
  private readonly slots: Slot[] = [];
  /** Those that take streams, the oldest first. */
  private readonly up: Slot[] = [];
  private connecting: Slot | null = null;
  /** No connect starts before it rings. */
  private hold: AlarmHandle | null = null;
  private spareAlarm: AlarmHandle | null = null;
  private serving = false;
  private stopping = false;

  /** @param onStopped after `stop`: all sockets are closed */
  constructor(spec: BackendSpec, limits: BackendLimits, dial: Dial, onStopped: () => void) {
    this.id = spec.id;
    this.name = spec.name;
    this.target = spec.target;
    this.endpoint = spec.endpoint;
    this.limits = limits;
    this.dial = dial;
    this.onStopped = onStopped;
    this.address = formatEndpoint(spec.endpoint);
    this.pace = new ConnectPace(limits.connectBackoffMax, () => limits.random.next());
  }

  // === What others see ===

  get link(): 'ready' | 'idle' | 'connecting' | 'backoff' | 'full' {
    if (this.stopping) return 'backoff';
    if (this.queue.size >= this.limits.queueLimit) return 'full';
    // A connection that has just failed is not ready before its socket says so.
    for (const { connection } of this.up) if (connection?.ready) return 'ready';
    if (this.hold !== null || this.pace.failing) return 'backoff';
    return this.connecting === null ? 'idle' : 'connecting';
  }

  get connections(): number {
    return this.up.length;
  }

  get inFlight(): number {
    let streams = 0;
    for (const { connection } of this.slots) streams += connection?.openStreams ?? 0;
    return streams;
  }

  get queued(): number {
    return this.queue.size;
  }

  get nextConnectAt(): number | null {
    return this.hold === null || this.up.length > 0 ? null : this.hold.at;
  }

  // === What others ask ===

  start(): void {
    this.connectIfShort();
  }

  tryOpen(events: StreamEvents): { readonly stream: Http2Stream; readonly connection: Http2Connection } | null {
    // Room that is left while somebody waits is theirs: this may be asked between a stream's end and `serve`.
    return this.queue.size > 0 ? null : this.openBest(events);
  }

  wait(waiter: StreamWaiter): void {
    this.queue.push(waiter);
    if (this.stopping) this.limits.turn.atEnd(() => this.tellWaiters('closed', 'the backend is being removed'));
    else this.connectIfShort();
  }

  cancel(waiter: StreamWaiter): void {
    this.queue.remove(waiter);
  }

  /** Takes no more streams, lets those that are open end, then closes. */
  stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.clearHold();
    this.clear(this.spareAlarm);
    const { connecting } = this;
    if (connecting !== null) {
      this.connecting = null;
      this.bury(connecting);
      connecting.link.destroy('the backend is being removed');
    }
    for (const slot of this.up.splice(0)) this.retire(slot);
    this.tellWaiters('closed', 'the backend is being removed');
    if (this.slots.length === 0) this.onStopped();
  }

  /** Ends all connections now; streams are lost, with these words. */
  kill(detail: string): void {
    for (const slot of [...this.slots]) slot.link.destroy(detail);
  }

  // === Connects ===

  /** One more connection, where none is up or the streams of all are taken and somebody waits; one connect at a time. */
  private connectIfShort(): void {
    if (this.stopping || this.connecting !== null || this.hold !== null) return;
    const { up, queue } = this;
    const crowded = queue.size > 0 && up.length < this.limits.backendConnections && this.roomiest() === null;
    if (up.length === 0 || crowded) this.connect();
  }

  private connect(): void {
    const { limits } = this;
    const link = this.dial({
      onSettings: (connection) => this.onSettings(slot, connection),
      onGoaway: (code, debug) => this.onGoaway(slot, code, debug),
      onStreamClosed: () => this.onStreamClosed(slot),
      onFailed: (detail) => this.onBroken(slot, detail),
      onClosed: (detail) => this.onClosed(slot, detail),
    });
    const slot: Slot = {
      phase: 'connecting',
      link,
      connection: null,
      generation: 0,
      upAt: 0,
      useful: false,
      timeout: limits.alarms.set(limits.clock.now() + limits.connectTimeout, () => this.onTimeout(slot)),
      opened: 0,
      openedBefore: -1,
    };
    this.connecting = slot;
    this.slots.push(slot);
  }

  private onTimeout(slot: Slot): void {
    const detail = `connect timed out after ${this.limits.connectTimeout} ms, waiting for ${slot.link.stage}`;
    this.connectFailed(slot, detail);
    slot.link.destroy(detail);
  }

  private connectFailed(slot: Slot, detail: string): void {
    this.connecting = null;
    this.bury(slot);
    this.holdFor(this.pace.connectFailed());
    this.lastError = this.words(detail);
    this.report('connect_failed', this.generation, detail);
    if (this.up.length === 0) this.tellWaiters('connect', detail);
  }

  // === A link's events ===

  private onSettings(slot: Slot, connection: Http2Connection): void {
    if (slot.phase === 'connecting') {
      this.clear(slot.timeout);
      this.connecting = null;
      this.generation += 1;
      slot.phase = 'up';
      slot.connection = connection;
      slot.generation = this.generation;
      slot.upAt = this.limits.clock.now();
      this.up.push(slot);
      this.pace.connected();
      this.lastError = null;
      this.report('connected', slot.generation, 'connected');
      this.watchSpares();
    }
    if (slot.phase === 'up') this.serve();
  }

  private onStreamClosed(slot: Slot): void {
    if (slot.phase === 'up') {
      // While the connection is being lost its streams close as well: that is no use it was of.
      if (!slot.connection?.ready) return;
      slot.useful = true;
      this.serve();
    } else if (slot.phase === 'retired' && slot.connection?.openStreams === 0) slot.link.end();
  }

  /** RFC 9113 6.8: no new streams; those that the peer took go on. */
  private onGoaway(slot: Slot, code: number, debug: string): void {
    if (slot.phase !== 'up') return;
    const { connection } = slot;
    if (connection !== null && connection.openStreams > 0) slot.useful = true;
    const said = `the backend sent GOAWAY with code ${code}${debug === '' ? '' : ` (${debug})`}`;
    const last = this.queue.lastTicket;
    this.leave(slot);
    this.retire(slot);
    this.report('draining', slot.generation, said);
    if (this.up.length === 0 && this.hold !== null) this.tellWaiters('lost', said, last);
  }

  private onBroken(slot: Slot, detail: string): void {
    if (slot.phase === 'connecting') this.connectFailed(slot, `connect failed: ${detail}`);
    else if (slot.phase === 'up') this.lose(slot, detail);
  }

  private onClosed(slot: Slot, detail: string): void {
    const { phase } = slot;
    switch (phase) {
      case 'connecting':
        this.connectFailed(slot, detail);
        break;
      case 'up':
        this.lose(slot, detail);
        break;
      case 'retired':
        this.bury(slot);
        this.report('closed', slot.generation, detail);
        break;
      case 'gone':
        break;
      default:
        phase satisfies never;
    }
    this.slots.splice(this.slots.indexOf(slot), 1);
    if (this.stopping && this.slots.length === 0) this.onStopped();
  }

  // === A connection's end ===

  private lose(slot: Slot, detail: string): void {
    // Whoever is told may come back at once, and must not be told again.
    const last = this.queue.lastTicket;
    this.lastError = this.words(detail);
    this.bury(slot);
    this.leave(slot);
    this.report('lost', slot.generation, detail);
    if (this.up.length === 0) this.tellWaiters('lost', detail, last);
    else this.connectIfShort();
  }

  /** Takes it from those that take streams, and connects anew where that leaves too few. */
  private leave(slot: Slot): void {
    this.up.splice(this.up.indexOf(slot), 1);
    const lived = this.limits.clock.now() - slot.upAt;
    this.clearHold();
    this.holdFor(this.pace.ended(slot.useful || lived >= usefulLife));
    this.connectIfShort();
  }

  private retire(slot: Slot): void {
    slot.phase = 'retired';
    if (slot.connection?.openStreams === 0) slot.link.end();
  }

  private bury(slot: Slot): void {
    this.clear(slot.timeout);
    slot.phase = 'gone';
  }

  // === Spare connections ===

  private watchSpares(): void {
    if (this.up.length < 2 || this.spareAlarm !== null) return;
    const { alarms, clock } = this.limits;
    this.spareAlarm = alarms.set(clock.now() + spareIdle, () => this.closeSpares());
  }

  private closeSpares(): void {
    this.spareAlarm = null;
    const { up } = this;
    for (let at = up.length - 1; at >= 0; at -= 1) {
      const slot = up[at];
      if (slot === undefined) continue;
      const unused = slot.opened === slot.openedBefore && slot.connection?.openStreams === 0;
      slot.openedBefore = slot.opened;
      if (!unused || up.length === 1 || this.queue.size > 0) continue;
      up.splice(at, 1);
      this.retire(slot);
    }
    this.watchSpares();
  }

  // === Streams ===

  /** Gives free streams to those who wait. */
  private serve(): void {
    // What a waiter does with its stream may free another: the loop that runs sees it.
    if (this.serving || this.queue.size === 0) return;
    this.serving = true;
    try {
      while (this.queue.size > 0) {
        const { first } = this.queue;
        const opened = first === null ? null : this.openBest(first.events);
        if (first === null || opened === null) break;
        this.queue.remove(first);
        first.onOpened(opened.stream, opened.connection);
      }
    } finally {
      this.serving = false;
    }
    this.connectIfShort();
  }

  private openBest(
    events: StreamEvents,
  ): { readonly stream: Http2Stream; readonly connection: Http2Connection } | null {
    const slot = this.roomiest();
    const connection = slot?.connection ?? null;
    if (slot === null || connection === null) return null;
    const stream = connection.openStream(events);
    if (stream === null) return null;
    slot.opened += 1;
    return { stream, connection };
  }

  /** The connection with the fewest open streams, of those with room. */
  private roomiest(): Slot | null {
    let best: Slot | null = null;
    let fewest = Number.POSITIVE_INFINITY;
    for (const slot of this.up) {
      const { connection } = slot;
      if (connection === null || connection.openStreams >= fewest || connection.room === 0) continue;
      best = slot;
      fewest = connection.openStreams;
    }
    return best;
  }

  private tellWaiters(why: 'connect' | 'lost' | 'closed', detail: string, last = this.queue.lastTicket): void {
    const words = this.words(detail);
    for (let waiter = this.queue.shift(last); waiter !== null; waiter = this.queue.shift(last)) {
      waiter.onFailed(why, words);
    }
  }

  // === Small change ===

  private holdFor(ms: number): void {
    this.clearHold();
    if (ms <= 0 || this.stopping) return;
    const { alarms, clock } = this.limits;
    this.hold = alarms.set(clock.now() + ms, () => {
      this.hold = null;
      this.connectIfShort();
    });
  }

  private clearHold(): void {
    this.clear(this.hold);
    this.hold = null;
  }

  private clear(alarm: AlarmHandle | null): void {
    if (alarm !== null) this.limits.alarms.cancel(alarm);
  }

  private words(detail: string): string {
    return `backend ${this.name} at ${this.address}: ${detail}`;
  }

  private report(event: BackendChange['event'], generation: Generation, detail: string): void {
    const { id, name, address, hold, limits } = this;
    const retryIn = hold === null ? null : Math.max(0, hold.at - limits.clock.now());
    limits.onStateChange({ id, name, address, event, generation, detail: this.words(detail), retryIn });
  }
}
