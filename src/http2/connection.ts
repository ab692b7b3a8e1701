import { Faults } from './faults.js';
import { FloodBudget } from './flood-budget.js';
import { clientPreface } from './frame/kinds.js';
import { Messages } from './messages.js';
import { Receiver } from './receiver.js';
import { SendQueue } from './send-queue.js';
import { idsLeft, Sender } from './sender.js';
import { ownSettings, PeerSettings } from './settings.js';
import { StreamCore } from './stream.js';
import type { StreamCounts } from './stream-counts.js';
import { StreamTable } from './stream-table.js';
import {
  type BoundConnection,
  type ConnectionEvents,
  ErrorCode,
  type HeaderField,
  type Http2Settings,
  type Http2Stream,
  type Role,
  type StreamEvents,
} from './types.js';
import { WireTally } from './wire-tally.js';

/**
 * An engine for one connection in this role. Call `start` before anything else.
 *
 * @param tally counts what it reads and writes
 */
export function createConnection(
  role: Role,
  settings: Http2Settings,
  events: ConnectionEvents,
  tally: WireTally = new WireTally(),
): BoundConnection {
  return new ConnectionCore(role, settings, events, tally);
}

/**
 * Streams remembered that were reset. Of those that we opened there may be as many at once as all clients together had, when
 * some of them leave.
 */
const remembered: Readonly<Record<Role, number>> = { server: 2000, client: 20_000 };

/**
 * Puts the parts together: `Receiver` takes frames, `Messages` those of requests and responses, `Faults` says what comes of a
 * broken rule, `Sender` writes; all know the streams by `StreamTable`. Streams that owners hand in are the ones that it gave
 * out, all of class StreamCore.
 */
class ConnectionCore implements BoundConnection {
  readonly role: Role;
  private readonly limits: Http2Settings;
  private readonly peer = new PeerSettings();
  private readonly table: StreamTable;
  private readonly budget: FloodBudget;
  private readonly sender: Sender;
  private readonly faults: Faults;
  private readonly messages: Messages;
  private readonly receiver: Receiver;

  constructor(role: Role, settings: Http2Settings, events: ConnectionEvents, tally: WireTally) {
    this.role = role;
    this.limits = settings;
    const queue = new SendQueue();
    this.table = new StreamTable(role, events, queue, remembered[role]);
    this.budget = new FloodBudget(settings.floodBudget);
    this.sender = new Sender(settings.headerTableSize, this.table, queue, this.peer, events, this.budget, tally);
    const { peer, table, sender, budget } = this;
    this.faults = new Faults(role, events, table, sender, budget);
    this.messages = new Messages(role, settings, events, table, sender, this.faults, peer, budget);
    this.receiver = new Receiver(role, settings, events, table, sender, this.faults, this.messages, peer, tally);
  }

  start(): void {
    if (this.role === 'client') this.sender.raw(clientPreface);
    this.sender.settings(ownSettings(this.role, this.limits));
    this.messages.openWindow();
  }

  receive(chunk: Uint8Array, now?: number): void {
    if (now !== undefined) this.budget.advance(now);
    this.receiver.receive(chunk);
  }

  get headerBlock(): number {
    return this.receiver.headerBlock;
  }

  get headerBlockBytes(): number {
    return this.messages.blockBytes;
  }

  fail(code: number, detail: string): void {
    this.faults.connection(code, detail);
  }

  lost(detail: string): void {
    if (this.faults.stopped) return;
    this.faults.stopped = true;
    const { farewell } = this.receiver;
    this.table.loseAll(farewell === '' ? detail : `${detail}, ${farewell}`);
  }

  get ready(): boolean {
    const { receiver } = this;
    return receiver.settled && !receiver.draining && !this.faults.stopped;
  }

  get openStreams(): number {
    return this.table.size;
  }

  get streamCounts(): StreamCounts {
    return this.table.counts;
  }

  get sendWindow(): number {
    return this.sender.window;
  }

  get receiveWindow(): number {
    return this.messages.window.left;
  }

  get callFrames(): number {
    return this.receiver.callFrames;
  }

  get room(): number {
    if (this.role !== 'client' || !this.ready) return 0;
    const { table } = this;
    const ids = idsLeft(this.sender.nextStreamId) - table.waitingForId;
    return Math.max(0, Math.min(this.peer.maxConcurrentStreams - table.size, ids));
  }

  openStream(events: StreamEvents): Http2Stream | null {
    if (this.room === 0) return null;
    // Its send window is set with its id: the peer's SETTINGS may change until then.
    const stream = new StreamCore(0, events, 0, this.messages.newReceiveWindow());
    this.table.addUnsent(stream);
    return stream;
  }

  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): boolean {
    return this.sender.headers(stream as StreamCore, fields, endStream);
  }

  sendData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): number {
    return this.sender.data(stream as StreamCore, chunk, start, end, endStream);
  }

  reset(stream: Http2Stream, code: number): void {
    this.sender.reset(stream as StreamCore, code);
    // A client cannot know that there are too many streams in all, so that it pays as for any frame that carries nothing.
    if (this.role === 'server' && code === ErrorCode.REFUSED_STREAM) this.faults.spend('streams past the limit');
  }

  consume(stream: Http2Stream, bytes: number): void {
    this.sender.consume(stream as StreamCore, bytes);
  }

  ping(onAck: () => void): void {
    if (!this.faults.stopped) this.sender.ping(onAck);
  }

  goaway(lastStreamId: number, code: number, debug = ''): void {
    const { faults } = this;
    if (faults.stopped) return;
    // Never below a stream that was let in, never above what was said before (RFC 9113 6.8).
    const last = Math.min(Math.max(lastStreamId, faults.lastPeerStreamId), faults.acceptUpTo);
    faults.acceptUpTo = last;
    this.receiver.draining = true;
    this.sender.goaway(last, code, debug);
  }

  get lastPeerStreamId(): number {
    return this.faults.lastPeerStreamId;
  }

  get outputBytes(): number {
    return this.sender.outputBytes;
  }

  takeOutput(): Uint8Array[] {
    return this.sender.take();
  }

  setOutputBlocked(blocked: boolean): void {
    this.sender.setBlocked(blocked);
  }

  onceFlushed(task: () => void): void {
    this.sender.onceFlushed(task);
  }
}
