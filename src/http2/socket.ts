import type { Socket } from 'node:net';
import type { AlarmHandle, Alarms, Clock, Turn } from '../runtime/ports.js';
import { describeSocketError } from './socket-error.js';
import {
  type BoundConnection,
  type ConnectionEvents,
  type ConnectionTraffic,
  ErrorCode,
  type HeaderField,
  type Http2Connection,
  type Http2Stream,
} from './types.js';

/** What the owner of a connection on a socket hears: the connection's events, without those that the binding serves. */
export interface SocketEvents extends Omit<ConnectionEvents, 'onOutput'> {
  /** The socket is lost, or is being closed by us; streams are told after this. Not after `onFailed`. */
  onLost?(detail: string): void;
  /**
   * How many bytes this connection holds for a peer that does not do its part, when that changes: output that it does not
   * read, from 64 KiB on and as of the last look, and a header block that it does not finish.
   */
  onHeld?(bytes: number): void;
  /** The peer's preface and SETTINGS have not come in time: the socket is being closed. */
  onSilent?(detail: string): void;
  /** The socket is closed; the streams have been told. The last event, once. */
  onClosed(detail: string): void;
}

export interface SocketOptions {
  /** Makes the connection; called once, with the binding's own events. */
  readonly create: (events: ConnectionEvents) => BoundConnection;
  readonly events: SocketEvents;
  readonly turn: Turn;
  readonly alarms: Alarms;
  readonly clock: Clock;
  /** The peer's preface and SETTINGS must come within this time (ms) [5000]. */
  readonly prefaceTimeout?: number;
  /** A header block must be whole within this time of its first frame's header (ms) [5000]. */
  readonly headerTimeout?: number;
}

/** A connection on a socket. */
export interface SocketBinding {
  readonly connection: Http2Connection;
  readonly traffic: ConnectionTraffic;
  /** When bytes last came from the peer (clock ms); before any, when the binding was made. */
  readonly lastReadAt: number;
  /** What `onHeld` would say now (bytes): since it last spoke the peer may have read. */
  readonly heldBytes: number;
  /**
   * Reads one chunk even where reading has been paused, because the peer does not take our output: it may have said something
   * that shows that it lives. Returns whether reading had been paused.
   */
  readOn(): boolean;
  /** Sends our preface and begins to read. Call once, when the owner is ready for events. */
  start(): void;
  /**
   * Writes what is pending, then closes. Streams that are still open are lost.
   * @param linger how long the peer may take for the last bytes (ms) [2000]
   */
  end(linger?: number): void;
  /**
   * The same where no stream is open, but for a peer that may read late: it has until it answers a PING that comes last, or
   * closes the connection itself, or `patience` is over (ms). A connection that is closed before loses what the system still
   * holds for the peer as soon as that sends anything (RFC 9113 9.1 leaves it to TCP).
   */
  endWhenRead(patience: number): void;
  /** Closes now. */
  destroy(detail?: string): void;
}

const defaultPrefaceTimeout = 5000;
const defaultHeaderTimeout = 5000;
/** Bytes in the socket's own buffer from which on a connection takes no more DATA. */
const backedUp = 64 * 1024;
/**
 * Bytes in the socket's own buffer from which on nothing more is read from it. DATA stops at `backedUp`: what comes on top are
 * answers to PING and SETTINGS and resets, which a peer that does not read would make us hoard without end (design §5).
 */
const hoarded = 1024 * 1024;
/** How long a socket that we end may take for its last bytes (ms). */
const lingerTime = 2000;
/** The same where the peer floods us: meanwhile what it sends is read away (ms). */
const floodLinger = 500;

/** Binds a connection to a connected net or TLS socket, which is the binding's from now on. */
export function bindSocket(socket: Socket, options: SocketOptions): SocketBinding {
  return new Binding(socket, options);
}

class Binding implements SocketBinding, ConnectionEvents {
  readonly connection: BoundConnection;
  lastReadAt: number;
  private readonly socket: Socket;
  private readonly options: SocketOptions;
  private readonly events: SocketEvents;
  private flushAsked = false;
  /** See `onHeld`. */
  private held = 0;
  /** See `readOn`. */
  private readingOn = false;
  private ending = false;
  /** Our last bytes have been handed over, and are to be read. */
  private awaitsReader = false;
  private closed = false;
  /** What goes wrong first: the words for the streams that it ends. */
  private reason = '';
  /** For the peer's preface, then for the socket's end. */
  private alarm: AlarmHandle | null = null;
  /** The header block that is under way, and since when (clock ms); see Http2Connection.headerBlock. */
  private block = 0;
  private blockSince = 0;
  /** Left to ring when its block is whole, so that blocks cut by a read cost nothing. */
  private blockAlarm: AlarmHandle | null = null;
  private readonly flushAtEnd = (): void => this.flush();

  constructor(socket: Socket, options: SocketOptions) {
    this.socket = socket;
    this.options = options;
    this.events = options.events;
    this.lastReadAt = options.clock.now();
    this.connection = options.create(this);
  }

  get traffic(): ConnectionTraffic {
    return this.connection;
  }

  start(): void {
    const { socket, connection, options } = this;
    const { clock } = options;
    socket.on('error', (error) => this.fault(describeSocketError(error)));
    socket.on('close', () => this.onClose());
    // A peer that half-closes has ended the connection: no stream can go on (RFC 9113 9.1).
    socket.on('end', () => this.onPeerEnd());
    socket.on('drain', () => this.checkPressure());
    if (socket.destroyed) {
      this.fault('the socket was closed');
      queueMicrotask(() => this.onClose());
      return;
    }
    const timeout = options.prefaceTimeout ?? defaultPrefaceTimeout;
    this.arm(timeout, () => {
      const detail = `no HTTP/2 preface and SETTINGS within ${timeout} ms`;
      this.events.onSilent?.(detail);
      this.destroy(detail);
    });
    connection.start();
    socket.on('data', (chunk: Buffer) => {
      this.lastReadAt = clock.now();
      connection.receive(chunk, this.lastReadAt);
      const block = connection.headerBlock;
      if (block !== this.block) this.watchBlock(block);
      if (block !== 0 || this.held !== 0) this.tellHeld();
      if (this.readingOn) this.checkPressure();
    });
    // A listener that read the first bytes may have paused it.
    socket.resume();
  }

  readOn(): boolean {
    if (!this.socket.isPaused()) return false;
    this.readingOn = true;
    this.socket.resume();
    return true;
  }

  end(linger = lingerTime): void {
    if (this.closed) return;
    if (this.ending) {
      if (linger < lingerTime) this.arm(linger, () => this.socket.destroy());
      return;
    }
    this.ending = true;
    this.flush();
    this.fault('the connection was closed by us');
    this.socket.end();
    this.arm(linger, () => this.socket.destroy());
  }

  endWhenRead(patience: number): void {
    if (this.closed || this.ending || this.awaitsReader) return;
    this.awaitsReader = true;
    this.connection.ping(() => this.end());
    this.flush();
    // Peers that read on come to this end, and close.
    this.socket.end();
    this.arm(patience, () => this.destroy());
  }

  destroy(detail = 'the connection was closed by us'): void {
    if (this.closed) return;
    this.fault(detail);
    this.socket.destroy();
  }

  // === ConnectionEvents ===

  onRequest(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean, tooLarge: boolean): void {
    this.events.onRequest(stream, fields, endStream, tooLarge);
  }

  onSettings(): void {
    if (!this.ending && !this.awaitsReader) this.disarm();
    this.events.onSettings();
  }

  onGoaway(lastStreamId: number, code: number, debug: string): void {
    this.events.onGoaway(lastStreamId, code, debug);
  }

  onStreamClosed(stream: Http2Stream): void {
    this.events.onStreamClosed(stream);
  }

  onOutput(): void {
    if (this.flushAsked || this.closed) return;
    this.flushAsked = true;
    this.options.turn.atEnd(this.flushAtEnd);
  }

  onFailed(code: number, detail: string): void {
    if (this.reason === '') this.reason = detail;
    this.events.onFailed(code, detail);
    this.end(code === ErrorCode.ENHANCE_YOUR_CALM ? floodLinger : lingerTime);
  }

  // === The socket ===

  /** One write for all that this turn brought forth. */
  private flush(): void {
    this.flushAsked = false;
    const { socket, connection } = this;
    if (this.closed || socket.destroyed || socket.writableEnded) return;
    if (connection.outputBytes === 0) return;
    // Blocked meanwhile, so that the room made is given out only when the socket shows that it keeps up.
    connection.setOutputBlocked(true);
    const parts = connection.takeOutput();
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) {
      socket.write(only);
    } else {
      socket.cork();
      for (const part of parts) socket.write(part);
      socket.uncork();
    }
    this.checkPressure();
  }

  private checkPressure(): void {
    const { writableLength } = this.socket;
    this.connection.setOutputBlocked(writableLength >= backedUp);
    this.readingOn = false;
    if (writableLength >= hoarded) {
      this.socket.pause();
    } else if (this.socket.isPaused()) {
      // The rest of its block may have waited for us.
      this.blockSince = this.options.clock.now();
      this.socket.resume();
    }
    if (writableLength >= backedUp || this.held !== 0) this.tellHeld();
  }

  get heldBytes(): number {
    const { writableLength } = this.socket;
    return (writableLength >= backedUp ? writableLength : 0) + this.connection.headerBlockBytes;
  }

  private tellHeld(): void {
    const held = this.heldBytes;
    if (held === this.held) return;
    this.held = held;
    this.events.onHeld?.(held);
  }

  private watchBlock(block: number): void {
    this.block = block;
    this.blockSince = this.lastReadAt;
    if (block !== 0 && this.blockAlarm === null && !this.ending) this.armBlock();
  }

  private armBlock(): void {
    const { alarms, clock, turn, headerTimeout = defaultHeaderTimeout } = this.options;
    this.blockAlarm = alarms.set(this.blockSince + headerTimeout, () => {
      this.blockAlarm = null;
      // Where this process itself stood still, the rest may be there and not be read yet.
      turn.atEnd(() => {
        if (this.block === 0 || this.blockAlarm !== null || this.ending || this.closed) return;
        // Time in which we do not read is no silence of the peer.
        if (this.socket.isPaused()) this.blockSince = clock.now();
        if (clock.now() < this.blockSince + headerTimeout) this.armBlock();
        else
          this.connection.fail(ErrorCode.ENHANCE_YOUR_CALM, `a header block was not whole within ${headerTimeout} ms`);
      });
    });
  }

  private onPeerEnd(): void {
    if (this.ending) return;
    this.fault('the peer closed the connection');
    this.end();
  }

  /** Streams that are open cannot go on. */
  private fault(detail: string): void {
    if (this.reason === '') {
      this.reason = detail;
      this.events.onLost?.(detail);
    }
    this.connection.lost(this.reason);
  }

  private onClose(): void {
    if (this.closed) return;
    this.closed = true;
    this.disarm();
    if (this.blockAlarm !== null) this.options.alarms.cancel(this.blockAlarm);
    this.fault('the connection was closed');
    this.events.onClosed(this.reason);
  }

  private arm(after: number, ring: () => void): void {
    this.disarm();
    const { alarms, clock } = this.options;
    this.alarm = alarms.set(clock.now() + after, ring);
  }

  private disarm(): void {
    if (this.alarm === null) return;
    this.options.alarms.cancel(this.alarm);
    this.alarm = null;
  }
}
