import type { Http2Connection, StreamEvents } from '../http2/types.js';
import { ErrorCode } from '../http2/types.js';
import type { AlarmHandle, Alarms, Clock, Random, Turn } from '../runtime/ports.js';
import { ConnectPace } from './backoff.js';
import { calmer, type KeepaliveLimits } from './keepalive.js';
import { type KeepaliveHome, KeepaliveWatch } from './keepalive-watch.js';
import type { Dial } from './link.js';
import { createSlot, roomiest, type Slot, succeeds, viewsOf } from './slot.js';
import { SpareConnections } from './spare-connections.js';
import type { BackendChange, ConnectionLife, ConnectionView, Generation, OpenedStream } from './types.js';

/** What connections are kept by. */
export interface ConnectionLimits {
  /** Milliseconds, for TCP, TLS and the peer's SETTINGS together. */
  readonly connectTimeout: number;
  /** Milliseconds. */
  readonly connectBackoffMax: number;
  /** Connections that take streams, at most; at least 1. */
  readonly backendConnections: number;
  /** After so many a connection is replaced: RFC 9113 5.1.1 has identifiers for 2^30, which is the most and the default. */
  readonly streamsPerConnection?: number;
  /** Absent or null: no PINGs. */
  readonly keepalive?: KeepaliveLimits | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
}

/** Whose connections they are. */
export interface ConnectionSetOwner {
  /** Somebody waits for a stream. */
  readonly waiting: boolean;
  /** A stream may be free: open what waits, then `connectIfShort`. */
  onRoom(): void;
  /** None takes streams any more, and those who wait should know: see StreamWaiter.onFailed. */
  onNone(why: 'connect' | 'lost', detail: string): void;
  /** For the log. `detail` says the cause alone. */
  onChange(event: BackendChange['event'], generation: Generation, detail: string, retryIn: number | null): void;
  /** After `stop`: all sockets are closed. */
  onStopped(): void;
}

const streamIdentifiers = 2 ** 30;
/** So many streams before a connection's last one its successor is connected, or half of them where they are few. */
const successionReserve = 1000;
/** A connection that lived this long (ms) was of use, even if it carried no call. */
const usefulLife = 1000;
const drained = 'the last call there has ended';

/**
 * The connections of one backend: at least one is up or in the making, more while somebody waits for a stream (BR-68). Pure:
 * `dial` makes them, the ports tell the time.
 */
export class ConnectionSet {
  /** Of the newest connection that came up. */
  generation: Generation;
  /** Why the last connection or connect ended; null while nothing went wrong since one came up. */
  lastError: string | null = null;

  private readonly limits: ConnectionLimits;
  private readonly dial: Dial;
  private readonly owner: ConnectionSetOwner;
  private readonly pace: ConnectPace;
  /** All whose sockets are not closed. */
  private readonly slots: Slot[] = [];
  /** Those that take streams, the oldest first. */
  private readonly up: Slot[] = [];
  private connecting: Slot | null = null;
  /** No connect starts before it rings. */
  private hold: AlarmHandle | null = null;
  private readonly spares: SpareConnections;
  private stopping = false;
  /** No further connections; those that are up serve until their last stream has ended. */
  private draining = false;
  /** Null: no PINGs. */
  private readonly watching: (KeepaliveHome & { keepalive: KeepaliveLimits }) | null;
  /** Streams per connection, and how many of them are opened before a successor is connected. */
  private readonly lastStream: number;
  private readonly successionAt: number;

  /** @param generation that of the backend's newest connection so far */
  constructor(limits: ConnectionLimits, dial: Dial, owner: ConnectionSetOwner, generation: Generation) {
    this.generation = generation;
    this.limits = limits;
    this.dial = dial;
    this.owner = owner;
    this.pace = new ConnectPace(limits.connectBackoffMax, () => limits.random.next());
    this.spares = new SpareConnections(limits, this.up, owner, (slot) => this.resign(slot));
    const { keepalive = null, clock, alarms, turn } = limits;
    this.watching = keepalive === null ? null : { keepalive, clock, alarms, turn };
    this.lastStream = limits.streamsPerConnection ?? streamIdentifiers;
    this.successionAt = this.lastStream - Math.min(successionReserve, Math.floor(this.lastStream / 2));
  }

  // === What it is like ===

  get state(): 'ready' | 'idle' | 'connecting' | 'backoff' {
    if (this.stopping || this.draining) return 'backoff';
    // A connection that has just failed is not ready, though its socket has not said so yet.
    for (const { connection } of this.up) if (connection?.ready) return 'ready';
    if (this.hold !== null || this.pace.failing) return 'backoff';
    return this.connecting === null ? 'idle' : 'connecting';
  }

  /** Whether `open` would give a stream now. */
  get hasRoom(): boolean {
    for (const { connection } of this.up) if (connection !== null && connection.room > 0) return true;
    return false;
  }

  /** Connections that take streams. */
  get count(): number {
    return this.up.length;
  }

  get openStreams(): number {
    let streams = 0;
    for (const { connection } of this.slots) streams += connection?.openStreams ?? 0;
    return streams;
  }

  get nextConnectAt(): number | null {
    return this.hold === null || this.up.length > 0 ? null : this.hold.at;
  }

  /** See UpstreamBackend. */
  lifeOf(connection: Http2Connection): ConnectionLife | null {
    return this.slots.find((slot) => slot.connection === connection) ?? null;
  }

  /** See UpstreamBackend. */
  get views(): readonly ConnectionView[] {
    return viewsOf(this.slots);
  }

  // === What is asked of it ===

  /** A stream on the connection with the fewest, of those with room; null where none has any. */
  open(events: StreamEvents): OpenedStream | null {
    const slot = roomiest(this.up);
    const stream = slot?.connection?.openStream(events) ?? null;
    if (slot === null || slot.connection === null || stream === null) return null;
    slot.opened += 1;
    slot.watch?.opened();
    if (slot.opened >= this.successionAt) this.succeed(slot);
    return { stream, connection: slot.connection };
  }

  /** Connects once more, where none is up or the streams of all are taken and somebody waits; one connect at a time. */
  connectIfShort(): void {
    if (this.stopping || this.draining || this.connecting !== null || this.hold !== null) return;
    const { up, owner, limits } = this;
    if (up.every((slot) => this.isLeaving(slot))) {
      this.connect();
      return;
    }
    // While none is ready those in `up` are about to end: what follows is decided when the cause is known.
    const crowded = owner.waiting && this.state === 'ready' && !this.hasRoom;
    if (crowded && up.length < limits.backendConnections) this.connect();
  }

  /** Connects no more, and stops when the last stream has ended. Until then `open` gives streams on what is up. */
  drain(why: string): void {
    if (this.stopping || this.draining) return;
    this.draining = true;
    this.giveUpConnecting(why);
    if (this.openStreams === 0) this.stop(why);
  }

  /** Takes a drain back. False: it had come to its end. */
  resume(): boolean {
    if (this.stopping) return false;
    this.draining = false;
    this.connectIfShort();
    return true;
  }

  /** Takes no more streams, lets those that are open end, then closes. */
  stop(why: string): void {
    if (this.stopping) return;
    this.stopping = true;
    this.giveUpConnecting(why);
    this.spares.stop();
    for (const slot of this.up.splice(0)) this.retire(slot);
    if (this.slots.length === 0) this.owner.onStopped();
  }

  /** Ends all connections now; streams are lost in this turn, with these words. */
  lose(detail: string): void {
    // The newest first: none is up then that an older one's loss could be excused by.
    for (const slot of [...this.slots].reverse()) this.cut(slot, detail);
  }

  private giveUpConnecting(why: string): void {
    this.clearHold();
    const { connecting } = this;
    if (connecting === null) return;
    this.connecting = null;
    this.bury(connecting);
    connecting.link.destroy(why);
  }

  // === Connects ===

  private connect(): void {
    const { alarms, clock, connectTimeout } = this.limits;
    const slot: Slot = createSlot(
      this.dial({
        onSettings: (connection) => {
          if (slot.phase === 'connecting') this.cameUp(slot, connection);
          if (slot.phase === 'up') this.owner.onRoom();
        },
        onGoaway: (code, debug) => this.onGoaway(slot, code, debug),
        onStreamClosed: () => this.onStreamClosed(slot),
        onFailed: (detail) => this.fail(slot, detail),
        onClosed: (detail) => this.onClosed(slot, detail),
      }),
      alarms.set(clock.now() + connectTimeout, () => {
        const detail = `connect timed out after ${connectTimeout} ms, waiting for ${slot.link.stage}`;
        this.fail(slot, detail);
        slot.link.destroy(detail);
      }),
    );
    this.connecting = slot;
    this.slots.push(slot);
  }

  private cameUp(slot: Slot, connection: Http2Connection): void {
    this.clear(slot.timeout);
    this.connecting = null;
    this.generation += 1;
    slot.phase = 'up';
    slot.connection = connection;
    slot.generation = this.generation;
    slot.upAt = this.limits.clock.now();
    const { watching } = this;
    if (watching !== null)
      slot.watch = new KeepaliveWatch(watching, slot.link, connection, (why) => this.cut(slot, why));
    this.up.push(slot);
    this.pace.connected();
    this.lastError = null;
    this.report('connected', slot.generation, 'connected');
    for (const old of this.up.filter((one) => this.isLeaving(one))) this.resign(old);
    this.spares.watch();
  }

  // === A connection whose stream identifiers run out (RFC 9113 5.1.1) ===

  private isLeaving(slot: Slot): boolean {
    return slot.opened >= this.successionAt;
  }

  /** Has its successor connected while it still serves; ends with the last identifier, whether or not that is up. */
  private succeed(slot: Slot): void {
    if (slot.opened >= this.lastStream) {
      slot.useful = true;
      this.leave(slot);
      this.retire(slot);
    } else if (slot.opened === this.successionAt) this.connectIfShort();
  }

  /** It takes no more streams: its successor is up, or nobody needs it. */
  private resign(slot: Slot): void {
    this.up.splice(this.up.indexOf(slot), 1);
    this.retire(slot);
  }

  // === A link's events ===

  private onStreamClosed(slot: Slot): void {
    if (this.draining && !this.stopping && this.openStreams === 0) this.stop(drained);
    if (slot.phase === 'up') {
      // While the connection is being lost its streams close as well: that is no use it was of.
      if (!slot.connection?.ready) return;
      slot.useful = true;
      this.owner.onRoom();
    } else if (slot.phase === 'retired' && slot.connection?.openStreams === 0) slot.link.end();
  }

  /** RFC 9113 6.8: no new streams; those that the peer took go on. */
  private onGoaway(slot: Slot, code: number, debug: string): void {
    const remedy = code === ErrorCode.ENHANCE_YOUR_CALM && debug === 'too_many_pings' ? this.calmDown(slot) : '';
    if (slot.phase !== 'up') return;
    // Streams that the peer did not take have been told before.
    if (remedy !== '' || (slot.connection !== null && slot.connection.openStreams > 0)) slot.useful = true;
    const said = `the backend sent GOAWAY with code ${code}${debug === '' ? '' : ` (${debug})`}${remedy}`;
    this.leave(slot);
    this.retire(slot);
    this.report('draining', slot.generation, said);
    // The peer is well, and who waits keeps its place (BR-66), unless the next connect has to wait as well.
    if (this.up.length === 0 && this.hold !== null) this.owner.onNone('lost', said);
  }

  /** It cannot be used, and its socket may still be closing. */
  private fail(slot: Slot, detail: string): void {
    const { phase } = slot;
    if (phase === 'connecting') {
      this.connecting = null;
      this.bury(slot);
      this.lastError = detail;
      this.holdFor(this.pace.connectFailed());
      this.report('connect_failed', this.generation, detail);
      if (this.up.length === 0) this.owner.onNone('connect', detail);
    } else if (phase === 'up') {
      this.bury(slot);
      slot.superseded = this.draining || this.up.some((one) => succeeds(one, slot));
      this.lastError = detail;
      this.leave(slot);
      this.report('lost', slot.generation, detail);
      if (this.up.length === 0) this.owner.onNone('lost', detail);
    }
  }

  /**
   * The backend finds our PINGs too many: its interval doubles (gRFC A8), and the connection was no failure of its. Returns
   * words for the log.
   */
  private calmDown({ watch }: Slot): string {
    const { watching } = this;
    const after = watch?.pingedAfter ?? null;
    if (watch === null || after === null || watching === null) return '';
    watching.keepalive = calmer(watching.keepalive, after, watch.pings);
    const { time, maxPings } = watching.keepalive;
    const ration = maxPings === 0 ? '' : `, at most ${maxPings} in one`;
    return `: PINGs to it now wait for ${time} ms of silence${ration}; let the backend permit them, or raise --keepalive-time or lower --keepalive-max-pings`;
  }

  /** It is up or retired, and does not answer: its streams are lost in this turn. */
  private cut(slot: Slot, detail: string): void {
    this.fail(slot, detail);
    slot.link.destroy(detail);
  }

  private onClosed(slot: Slot, detail: string): void {
    slot.watch?.stop();
    this.fail(slot, detail);
    if (slot.phase === 'retired') this.report('closed', slot.generation, detail);
    this.slots.splice(this.slots.indexOf(slot), 1);
    if (this.slots.length > 0) return;
    if (this.stopping) this.owner.onStopped();
    else if (this.draining) this.stop(drained);
  }

  // === A connection's end ===

  /** Takes it from those that take streams, and connects anew where that leaves too few. */
  private leave(slot: Slot): void {
    this.up.splice(this.up.indexOf(slot), 1);
    const lived = this.limits.clock.now() - slot.upAt;
    this.holdFor(this.pace.ended(slot.useful || lived >= usefulLife));
    this.connectIfShort();
  }

  private retire(slot: Slot): void {
    slot.phase = 'retired';
    slot.superseded = true;
    if (slot.connection?.openStreams === 0) slot.link.end();
  }

  private bury(slot: Slot): void {
    this.clear(slot.timeout);
    slot.watch?.stop();
    slot.phase = 'gone';
  }

  // === Small change ===

  private holdFor(ms: number): void {
    this.clearHold();
    if (ms <= 0 || this.draining || this.stopping) return;
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

  private report(event: BackendChange['event'], generation: Generation, detail: string): void {
    const retryIn = this.hold === null ? null : Math.max(0, this.hold.at - this.limits.clock.now());
    this.owner.onChange(event, generation, detail, retryIn);
  }
}
