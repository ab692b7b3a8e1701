import type { Faults } from './faults.js';
import type { FloodBudget } from './flood-budget.js';
import { ReceiveWindow } from './flow.js';
import { readUint8, readUint31 } from './frame/bytes.js';
import { defaultWindow, Flag } from './frame/kinds.js';
import { HeaderBlock } from './header-block.js';
import { HeaderRules } from './header-rules.js';
import { createHpackDecoder } from './hpack/decoder.js';
import type { HpackDecoder } from './hpack/types.js';
import type { Sender } from './sender.js';
import { defaultHeaderTableSize, type PeerSettings } from './settings.js';
import { StreamCore, unknownLength } from './stream.js';
import type { StreamTable } from './stream-table.js';
import { type ConnectionEvents, ErrorCode, type HeaderField, type Http2Settings, type Role } from './types.js';

const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR } = ErrorCode;

/** HEADERS, CONTINUATION and DATA: the frames that are requests and responses. Each method returns whether to read on. */
export class Messages {
  private readonly role: Role;
  private readonly limits: Http2Settings;
  private readonly events: ConnectionEvents;
  private readonly table: StreamTable;
  private readonly sender: Sender;
  private readonly faults: Faults;
  private readonly peer: PeerSettings;
  private readonly budget: FloodBudget;
  /** Made with the first block: a connection that is only held open costs 5 KiB less without its tables. */
  private decoder: HpackDecoder | null = null;
  private readonly rules = new HeaderRules();
  private readonly block = new HeaderBlock();
  readonly window: ReceiveWindow;
  /** Header blocks that have come whole. */
  blocks = 0;
  /** Our SETTINGS bind the peer. */
  private acknowledged = false;

  constructor(
    role: Role,
    limits: Http2Settings,
    events: ConnectionEvents,
    table: StreamTable,
    sender: Sender,
    faults: Faults,
    peer: PeerSettings,
    budget: FloodBudget,
  ) {
    this.role = role;
    this.limits = limits;
    this.events = events;
    this.table = table;
    this.sender = sender;
    this.faults = faults;
    this.peer = peer;
    this.budget = budget;
    this.window = new ReceiveWindow(Math.max(limits.connectionWindow, defaultWindow), defaultWindow);
  }

  /** The stream whose header block is under way, else 0: no other frame may come (RFC 9113 6.10). */
  get blockOf(): number {
    return this.block.streamId;
  }

  /** See BoundConnection. */
  get blockBytes(): number {
    return this.block.bytes.length;
  }

  private beginDecoder(): HpackDecoder {
    const decoder = createHpackDecoder(defaultHeaderTableSize);
    if (this.acknowledged) decoder.setMaxTableSize(this.limits.headerTableSize);
    this.decoder = decoder;
    return decoder;
  }

  /** Raises the connection's window to its size (RFC 9113 6.9.2: SETTINGS cannot). */
  openWindow(): void {
    const increment = this.limits.connectionWindow - defaultWindow;
    if (increment <= 0) return;
    this.window.left += increment;
    this.sender.windowUpdate(0, increment);
  }

  /** What a new stream's peer may send. */
  newReceiveWindow(): ReceiveWindow {
    return new ReceiveWindow(this.limits.streamWindow, this.firstWindow);
  }

  /** Until the peer has read our SETTINGS it may hold the default (RFC 9113 6.9.2). */
  private get firstWindow(): number {
    const { streamWindow } = this.limits;
    return this.acknowledged ? streamWindow : Math.max(streamWindow, defaultWindow);
  }

  /** Our SETTINGS bind the peer from here on. */
  onSettingsAcknowledged(): void {
    if (this.acknowledged) return;
    this.acknowledged = true;
    this.decoder?.setMaxTableSize(this.limits.headerTableSize);
    const lent = defaultWindow - this.limits.streamWindow;
    if (lent > 0) for (const stream of this.table.snapshot()) stream.receiveWindow.left -= lent;
  }

  // === DATA (RFC 9113 6.1) ===

  onData(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.faults.connection(PROTOCOL_ERROR, 'DATA on stream 0');
    let from = start;
    let to = end;
    if ((flags & Flag.PADDED) !== 0) {
      if (start === end) return this.faults.connection(FRAME_SIZE_ERROR, 'a padded frame without a pad length');
      to -= readUint8(chunk, start);
      from += 1;
      if (to < from) return this.faults.connection(PROTOCOL_ERROR, 'more padding than the frame is long');
    }
    const size = end - start;
    if (!this.window.take(size))
      return this.faults.connection(FLOW_CONTROL_ERROR, 'more DATA than the connection window permits');
    const increment = this.window.giveBack(size);
    if (increment > 0) this.sender.windowUpdate(0, increment);

    const stream = this.table.get(streamId);
    const length = to - from;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (stream === undefined) return this.faults.lateData(streamId, size, length === 0, endStream);
    if (length === 0 && !endStream && !this.faults.spend('empty DATA')) return false;
    if (stream.receiveClosed) return this.faults.stream(stream, STREAM_CLOSED, 'DATA after END_STREAM');
    if (!stream.answered) return this.faults.stream(stream, PROTOCOL_ERROR, 'DATA before the headers');
    if (!stream.receiveWindow.take(size))
      return this.faults.stream(stream, FLOW_CONTROL_ERROR, 'more DATA than the stream window permits');
    if (stream.lengthLeft !== unknownLength) {
      stream.lengthLeft -= length;
      if (stream.lengthLeft < 0 || (endStream && stream.lengthLeft > 0))
        return this.faults.stream(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    }
    this.budget.dataReceived(length, stream.openedAt, stream.responded);
    stream.held += length;
    const over = endStream && this.endReceive(stream);
    if (size > length && !endStream) this.sender.giveBack(stream, size - length);
    stream.events?.onData(stream, chunk, from, to, endStream);
    if (over) this.table.announce(stream);
    return !this.faults.stopped;
  }

  // === Header blocks (RFC 9113 6.2, 6.10, 8) ===

  onHeaders(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.faults.connection(PROTOCOL_ERROR, 'HEADERS on stream 0');
    let from = start;
    let to = end;
    let dependsOnItself = false;
    const padded = (flags & Flag.PADDED) !== 0;
    const prioritized = (flags & Flag.PRIORITY) !== 0;
    if (padded || prioritized) {
      if (end - start < (padded ? 1 : 0) + (prioritized ? 5 : 0))
        return this.faults.connection(FRAME_SIZE_ERROR, 'HEADERS too short for its flags');
      if (padded) {
        to -= readUint8(chunk, start);
        from += 1;
      }
      if (prioritized) {
        dependsOnItself = readUint31(chunk, from) === streamId;
        from += 5;
      }
      if (to < from) return this.faults.connection(PROTOCOL_ERROR, 'more padding than the frame is long');
    }
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) return this.onBlock(streamId, endStream, dependsOnItself, chunk, from, to);
    this.block.begin(streamId, endStream, dependsOnItself);
    return this.continueBlock(chunk, from, to);
  }

  onContinuation(flags: number, chunk: Uint8Array, start: number, end: number): boolean {
    const { block } = this;
    if (block.streamId === 0) return this.faults.connection(PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    if (start === end && !this.faults.spend('empty CONTINUATION')) return false;
    if (!this.continueBlock(chunk, start, end)) return false;
    if ((flags & Flag.END_HEADERS) === 0) return true;
    const { streamId, endStream, dependsOnItself, bytes, length } = block;
    block.finish();
    return this.onBlock(streamId, endStream, dependsOnItself, bytes, 0, length);
  }

  private continueBlock(chunk: Uint8Array, start: number, end: number): boolean {
    this.block.append(chunk, start, end);
    const { maxHeaderBlockFrames } = this.limits;
    if (this.block.frames <= maxHeaderBlockFrames) return true;
    return this.faults.connection(
      ErrorCode.ENHANCE_YOUR_CALM,
      `a header block of more than ${maxHeaderBlockFrames} frames`,
    );
  }

  /** A whole block. It is decoded whatever becomes of it, to keep the HPACK state in step (RFC 9113 4.3). */
  private onBlock(
    streamId: number,
    endStream: boolean,
    dependsOnItself: boolean,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    this.blocks += 1;
    const { maxHeaderListSize } = this.limits;
    const result = (this.decoder ?? this.beginDecoder()).decode(bytes, start, end, maxHeaderListSize);
    if (!result.ok) return this.faults.connection(ErrorCode.COMPRESSION_ERROR, result.detail);
    const tooLarge = result.tooLarge || end - start > maxHeaderListSize;
    const stream = this.table.get(streamId);
    if (stream === undefined) {
      if (this.role === 'server' && (streamId & 1) === 1 && streamId > this.faults.highestPeerId)
        return this.onNewRequest(streamId, endStream, dependsOnItself, result.fields, tooLarge);
      return this.faults.lateHeaders(streamId, endStream);
    }
    if (dependsOnItself) return this.faults.stream(stream, PROTOCOL_ERROR, 'a stream that depends on itself');
    if (stream.receiveClosed) return this.faults.stream(stream, STREAM_CLOSED, 'HEADERS after END_STREAM');
    if (stream.answered) return this.onTrailers(stream, endStream, result.fields, tooLarge);
    return this.onResponse(stream, endStream, result.fields, tooLarge);
  }

  private onNewRequest(
    streamId: number,
    endStream: boolean,
    dependsOnItself: boolean,
    fields: HeaderField[],
    tooLarge: boolean,
  ): boolean {
    if (streamId > this.faults.highestPeerId + 2) this.table.past.skip(this.faults.highestPeerId + 1, streamId);
    this.faults.highestPeerId = streamId;
    if (streamId > this.faults.acceptUpTo) return this.faults.spend('frames on closed streams');
    this.faults.lastPeerStreamId = streamId;
    const window = endStream ? -1 : this.firstWindow;
    if (dependsOnItself) return this.faults.refuseRequest(streamId, window);
    // RFC 9113 5.1.2.
    if (this.table.size >= this.limits.maxConcurrentStreams)
      return this.faults.refusePastLimit(streamId, window, this.acknowledged);
    const { rules } = this;
    let length = unknownLength;
    if (!tooLarge) {
      if (!rules.request(fields)) return this.faults.refuseRequest(streamId, window);
      length = rules.contentLength;
      if (endStream && length > 0) return this.faults.refuseRequest(streamId, window);
    }
    const stream = new StreamCore(streamId, null, this.peer.initialWindow, this.newReceiveWindow());
    stream.flushed = true;
    stream.openedAt = this.budget.now;
    stream.answered = true;
    stream.lengthLeft = length;
    stream.open();
    if (endStream) stream.endReceive();
    this.table.add(stream);
    this.events.onRequest(stream, fields, endStream, tooLarge);
    // An owner that takes no notice of it must not keep it open.
    if (stream.events === null && !stream.closed) this.sender.reset(stream, ErrorCode.INTERNAL_ERROR);
    return !this.faults.stopped;
  }

  private onResponse(stream: StreamCore, endStream: boolean, fields: HeaderField[], tooLarge: boolean): boolean {
    if (tooLarge) return this.faults.headersTooLarge(stream);
    const { rules } = this;
    if (!rules.response(fields)) return this.faults.stream(stream, PROTOCOL_ERROR, rules.fault);
    const { status, contentLength } = rules;
    if (status < 200) {
      // RFC 9113 8.1: interim responses are without END_STREAM; 8.6: there is no 101.
      if (endStream || status === 101)
        return this.faults.stream(stream, PROTOCOL_ERROR, `:status ${status} out of place`);
      return this.faults.spend('interim responses');
    }
    // RFC 9110 8.6: these have no content, whatever the length says.
    const bodiless = status === 204 || status === 304;
    if (endStream && contentLength > 0 && !bodiless)
      return this.faults.stream(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    stream.answered = true;
    stream.lengthLeft = bodiless ? unknownLength : contentLength;
    const over = endStream && this.endReceive(stream);
    stream.events?.onHeaders(stream, fields, endStream);
    if (over) this.table.announce(stream);
    return !this.faults.stopped;
  }

  private onTrailers(stream: StreamCore, endStream: boolean, fields: HeaderField[], tooLarge: boolean): boolean {
    // RFC 9113 8.1.
    if (!endStream) return this.faults.stream(stream, PROTOCOL_ERROR, 'trailers without END_STREAM');
    // A client's call is over by it; a server can still answer, as to a request that begins so.
    if (tooLarge && this.role === 'client') return this.faults.headersTooLarge(stream);
    if (!tooLarge && !this.rules.trailers(fields)) return this.faults.stream(stream, PROTOCOL_ERROR, this.rules.fault);
    if (stream.lengthLeft > 0)
      return this.faults.stream(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    const over = this.endReceive(stream);
    stream.events?.onTrailers(stream, fields, tooLarge);
    if (over) this.table.announce(stream);
    return !this.faults.stopped;
  }

  /**
   * END_STREAM has come. Where that closes the stream (true), there is room for another before its owner hears of it, and
   * it is announced after that.
   */
  private endReceive(stream: StreamCore): boolean {
    stream.endReceive();
    if (!stream.closed) return false;
    this.budget.callCompleted();
    this.table.remove(stream);
    return true;
  }
}
