import { ResetBy } from './closed-streams.js';
import type { FloodBudget } from './flood-budget.js';
import { mayGrow } from './flow.js';
import { defaultWindow, Flag, maxUint31 } from './frame/kinds.js';
import {
  type Setting,
  writeData,
  writeGoaway,
  writePing,
  writeReset,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from './frame/writer.js';
import { HeaderWriter } from './header-writer.js';
import { Outbox } from './outbox.js';
import type { SendQueue } from './send-queue.js';
import type { PeerSettings } from './settings.js';
import { State, type StreamCore, Waiting } from './stream.js';
import type { StreamTable } from './stream-table.js';
import type { ConnectionEvents, HeaderField } from './types.js';
import type { WireTally } from './wire-tally.js';

/** Pending output from which on no more DATA is taken until the socket has taken what there is (bytes). */
const outputBound = 256 * 1024;
/** The most one stream sends at a time while others wait (bytes). */
const quantum = 32 * 1024;

/** What leaves: frames into the output, send windows, and the streams that wait for room. */
export class Sender {
  /** The next stream that we open (client role; RFC 9113 5.1.1). */
  nextStreamId = 1;

  private readonly tally: WireTally;
  private readonly outbox: Outbox;
  private readonly headerWriter: HeaderWriter;
  private readonly table: StreamTable;
  private readonly queue: SendQueue;
  private readonly peer: PeerSettings;
  private readonly events: ConnectionEvents;
  private readonly budget: FloodBudget;
  /** What the peer lets us send on the connection. */
  window = defaultWindow;
  private blocked = false;
  private announced = false;
  private serving = false;
  /** Streams whose HEADERS are in the output. */
  private readonly unflushed: StreamCore[] = [];
  private tasks: (() => void)[] = [];
  private readonly pings: (() => void)[] = [];
  private readonly pingPayload = Buffer.alloc(8);
  /** How many of our PINGs the peer has answered. */
  pingsAnswered = 0;

  constructor(
    headerTableSize: number,
    table: StreamTable,
    queue: SendQueue,
    peer: PeerSettings,
    events: ConnectionEvents,
    budget: FloodBudget,
    tally: WireTally,
  ) {
    this.tally = tally;
    this.outbox = new Outbox(tally);
    this.headerWriter = new HeaderWriter(this.outbox, headerTableSize, peer);
    this.table = table;
    this.queue = queue;
    this.peer = peer;
    this.events = events;
    this.budget = budget;
  }

  // === Streams ===

  /** See Http2Connection.sendHeaders. */
  headers(stream: StreamCore, fields: readonly HeaderField[], endStream: boolean): boolean {
    if (stream.sendClosed) return true;
    if (!this.headerWriter.fits(fields)) return false;
    if (stream.id === 0) {
      stream.id = this.nextStreamId;
      stream.sendWindow = this.peer.initialWindow;
      this.nextStreamId += 2;
      this.table.promote(stream);
      this.unflushed.push(stream);
    }
    stream.open();
    stream.responded = true;
    this.headerWriter.write(stream.id, fields, endStream);
    this.wrote();
    if (endStream) this.finish(stream);
    return true;
  }

  /** See Http2Connection.sendData. */
  data(stream: StreamCore, chunk: Uint8Array, start: number, end: number, endStream: boolean): number {
    if (stream.sendClosed || stream.state === State.idle) return 0;
    const offered = end - start;
    if (offered === 0) {
      // An empty frame needs no window (RFC 9113 6.9.1).
      if (!endStream) return 0;
      writeData(this.outbox, stream.id, chunk, start, end, true);
      this.wrote();
      this.finish(stream);
      return 0;
    }
    const taken = Math.min(offered, this.roomFor(stream));
    const whole = taken === offered;
    if (taken > 0) {
      const stop = start + taken;
      const { maxFrameSize } = this.peer;
      let at = start;
      while (at < stop) {
        const next = Math.min(at + maxFrameSize, stop);
        writeData(this.outbox, stream.id, chunk, at, next, endStream && whole && next === stop);
        this.budget.dataSent(next - at);
        at = next;
      }
      stream.sendWindow -= taken;
      this.window -= taken;
      this.wrote();
    }
    if (!whole) {
      if (stream.sendWindow > 0) this.queue.push(stream);
      else if (stream.waiting === Waiting.no) stream.waiting = Waiting.ownWindow;
      return taken;
    }
    if (stream.waiting !== Waiting.no) this.stopWaiting(stream);
    if (endStream) this.finish(stream);
    return taken;
  }

  /** See Http2Connection.reset. */
  reset(stream: StreamCore, code: number): void {
    if (stream.closed) return;
    if (stream.id !== 0) this.resetOpen(stream, code);
    this.table.remove(stream);
    this.table.announce(stream);
  }

  /** RST_STREAM for a stream that leaves the table in this moment. */
  resetOpen(stream: StreamCore, code: number): void {
    if (stream.receiveClosed) this.resetId(stream.id, code);
    else this.resetEarly(stream.id, code, stream.receiveWindow.left, stream.answered ? 1 : 2);
  }

  /** RST_STREAM for a stream on which the peer can still send so many bytes of DATA and so many header blocks. */
  resetEarly(streamId: number, code: number, window: number, blocks: number): void {
    this.table.past.rememberOpen(streamId, window, blocks, this.pingsAnswered + this.pings.length);
    this.writeReset(streamId, code);
  }

  /** RST_STREAM for a stream on which the peer has sent all. */
  resetId(streamId: number, code: number): void {
    this.table.past.remember(streamId, ResetBy.us);
    this.writeReset(streamId, code);
  }

  private writeReset(streamId: number, code: number): void {
    writeReset(this.outbox, streamId, code);
    this.wrote();
  }

  /** Gives back stream window for bytes that the owner has taken; never more than it was given. */
  consume(stream: StreamCore, bytes: number): void {
    // After END_STREAM the peer has no use for window.
    if (stream.receiveClosed) return;
    const owed = Math.min(bytes, stream.held);
    if (owed <= 0) return;
    stream.held -= owed;
    this.giveBack(stream, owed);
  }

  giveBack(stream: StreamCore, bytes: number): void {
    const increment = stream.receiveWindow.giveBack(bytes);
    if (increment > 0) this.windowUpdate(stream.id, increment);
  }

  // === The connection ===

  raw(bytes: Uint8Array): void {
    this.outbox.append(bytes, 0, bytes.length);
    this.wrote();
  }

  settings(list: readonly Setting[]): void {
    writeSettings(this.outbox, list);
    this.wrote();
  }

  settingsAck(): void {
    writeSettingsAck(this.outbox);
    this.wrote();
  }

  windowUpdate(streamId: number, increment: number): void {
    writeWindowUpdate(this.outbox, streamId, increment);
    this.wrote();
  }

  goaway(lastStreamId: number, code: number, debug: string): void {
    writeGoaway(this.outbox, lastStreamId, code, debug);
    this.wrote();
  }

  pong(chunk: Uint8Array, start: number): void {
    writePing(this.outbox, Flag.ACK, chunk, start);
    this.wrote();
  }

  /** The payload counts our PINGs, so that answers are told apart. */
  ping(onAck: () => void): void {
    this.pings.push(onAck);
    this.pingPayload.writeUInt32BE((this.pingsAnswered + this.pings.length) >>> 0, 4);
    writePing(this.outbox, 0, this.pingPayload, 0);
    this.wrote();
  }

  /** A PING answer came. One that answers none of ours, or not the next one, is ignored. */
  pingAnswered(payload: number): void {
    if (payload !== (this.pingsAnswered + 1) >>> 0) return;
    const onAck = this.pings.shift();
    if (onAck === undefined) return;
    this.pingsAnswered += 1;
    onAck();
  }

  peerTableSize(bytes: number): void {
    this.headerWriter.peerTableSize(bytes);
  }

  // === Windows ===

  /** WINDOW_UPDATE on the connection. False: the window would be over 2^31-1. */
  growConnection(by: number): boolean {
    if (!mayGrow(this.window, by)) return false;
    this.window += by;
    this.serve();
    return true;
  }

  /** WINDOW_UPDATE or a new initial size on a stream; `serve` follows. False: the window would be over 2^31-1. */
  growStream(stream: StreamCore, by: number): boolean {
    if (!mayGrow(stream.sendWindow, by)) return false;
    stream.sendWindow += by;
    if (stream.waiting === Waiting.ownWindow && stream.sendWindow > 0) this.queue.push(stream);
    return true;
  }

  /** Tells waiting streams, in turn, while there is room. */
  serve(): void {
    if (this.serving) return;
    this.serving = true;
    try {
      while (this.hasRoom()) {
        const stream = this.queue.shift();
        if (stream === null) break;
        if (stream.sendWindow > 0) stream.events?.onWritable(stream);
        else stream.waiting = Waiting.ownWindow;
      }
    } finally {
      this.serving = false;
    }
  }

  // === Output ===

  get outputBytes(): number {
    return this.outbox.bytes;
  }

  take(): Uint8Array[] {
    this.tally.sentBytes += this.outbox.bytes;
    const taken = this.outbox.take();
    this.announced = false;
    const { unflushed } = this;
    if (unflushed.length > 0) {
      for (const stream of unflushed) stream.flushed = true;
      unflushed.length = 0;
    }
    if (this.tasks.length > 0) {
      const due = this.tasks;
      this.tasks = [];
      for (const task of due) task();
    }
    this.serve();
    return taken;
  }

  setBlocked(blocked: boolean): void {
    this.blocked = blocked;
    if (!blocked) this.serve();
  }

  onceFlushed(task: () => void): void {
    this.tasks.push(task);
  }

  private hasRoom(): boolean {
    return !this.blocked && this.window > 0 && this.outbox.bytes < outputBound;
  }

  private roomFor(stream: StreamCore): number {
    if (!this.hasRoom()) return 0;
    const room = Math.min(this.window, stream.sendWindow, outputBound - this.outbox.bytes);
    return Math.max(0, this.queue.empty ? room : Math.min(room, quantum));
  }

  /** END_STREAM has been sent. */
  private finish(stream: StreamCore): void {
    if (stream.waiting !== Waiting.no) this.stopWaiting(stream);
    stream.endSend();
    if (!stream.closed) return;
    this.budget.callCompleted();
    this.table.remove(stream);
    this.table.announce(stream);
  }

  private stopWaiting(stream: StreamCore): void {
    this.queue.remove(stream);
    stream.waiting = Waiting.no;
  }

  private wrote(): void {
    if (this.announced) return;
    this.announced = true;
    this.events.onOutput();
  }
}

/** Stream identifiers that are left to us from `next` on (RFC 9113 5.1.1). */
export function idsLeft(next: number): number {
  return Math.max(0, Math.floor((maxUint31 - next) / 2) + 1);
}
