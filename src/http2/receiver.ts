import { ResetBy } from './closed-streams.js';
import { ReceiveWindow } from './flow.js';
import { readUint8, readUint31, readUint32 } from './frame/bytes.js';
import { clientPreface, defaultWindow, Flag, FrameType, maxUint31 } from './frame/kinds.js';
import { FrameReader, type FrameSink } from './frame/reader.js';
import { HeaderBlock } from './header-block.js';
import { HeaderRules } from './header-rules.js';
import { createHpackDecoder } from './hpack/decoder.js';
import type { HpackDecoder } from './hpack/types.js';
import type { Sender } from './sender.js';
import { defaultHeaderTableSize, type PeerSettings, type SettingsTarget } from './settings.js';
import { StreamCore, unknownLength } from './stream.js';
import type { StreamTable } from './stream-table.js';
import { type ConnectionEvents, ErrorCode, type HeaderField, type Http2Settings, type Role } from './types.js';

const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR } = ErrorCode;

/** What arrives: each frame's rules, and the events that come of it. */
export class Receiver implements FrameSink, SettingsTarget {
  /** Nothing is read any more: a connection error, or the socket is gone. */
  stopped = false;
  /** The peer's first SETTINGS have come. */
  settled = false;
  /** A GOAWAY went either way. */
  draining = false;
  /** The highest peer's stream that was let in. */
  lastPeerStreamId = 0;
  /** Of the GOAWAY that we sent: streams above it are read and ignored (RFC 9113 6.8). */
  acceptUpTo = maxUint31;
  /** What the peer's GOAWAY said, for the words of a later loss; empty before. */
  farewell = '';
  /**
   * Frames so far that carry nothing for a call. Every such frame passes `spend`: the place where a budget against floods
   * belongs.
   */
  spent = 0;

  private readonly role: Role;
  private readonly limits: Http2Settings;
  private readonly events: ConnectionEvents;
  private readonly table: StreamTable;
  private readonly sender: Sender;
  private readonly peer: PeerSettings;
  private readonly reader: FrameReader;
  private readonly decoder: HpackDecoder;
  private readonly rules = new HeaderRules();
  private readonly block = new HeaderBlock();
  private readonly window: ReceiveWindow;
  private prefaceSeen: number;
  private acknowledged = false;
  /** The highest id the peer used, ignored streams included. */
  private highestPeerId = 0;
  /** Of the peer's GOAWAY; it may only fall (RFC 9113 6.8). */
  private peerLastStreamId = maxUint31;

  constructor(
    role: Role,
    limits: Http2Settings,
    events: ConnectionEvents,
    table: StreamTable,
    sender: Sender,
    peer: PeerSettings,
  ) {
    this.role = role;
    this.limits = limits;
    this.events = events;
    this.table = table;
    this.sender = sender;
    this.peer = peer;
    this.reader = new FrameReader(this, limits.maxFrameSize);
    this.decoder = createHpackDecoder(defaultHeaderTableSize);
    this.window = new ReceiveWindow(Math.max(limits.connectionWindow, defaultWindow), defaultWindow);
    this.prefaceSeen = role === 'client' ? clientPreface.length : 0;
  }

  /** Raises the connection's window to its size (RFC 9113 6.9.2: SETTINGS cannot). */
  openWindow(): void {
    const increment = this.limits.connectionWindow - defaultWindow;
    if (increment <= 0) return;
    this.window.left += increment;
    this.sender.windowUpdate(0, increment);
  }

  receive(chunk: Uint8Array): void {
    if (this.stopped) return;
    let at = 0;
    for (; this.prefaceSeen < clientPreface.length && at < chunk.length; at += 1) {
      if (chunk[at] !== clientPreface[this.prefaceSeen]) {
        this.fail(PROTOCOL_ERROR, 'the connection did not begin with the HTTP/2 preface');
        return;
      }
      this.prefaceSeen += 1;
    }
    this.reader.read(chunk, at);
  }

  stop(): void {
    this.stopped = true;
    this.reader.stop();
  }

  /** A connection error (RFC 9113 5.4.1). False, for the reader. */
  fail(code: number, detail: string): false {
    if (this.stopped) return false;
    this.stop();
    this.sender.goaway(this.lastPeerStreamId, code, detail);
    this.table.loseAll(detail);
    this.events.onFailed(code, detail);
    return false;
  }

  /** A stream of ours or the peer's starts with this receive window. */
  newReceiveWindow(): ReceiveWindow {
    const { streamWindow } = this.limits;
    // Until the peer has read our SETTINGS it may hold the default (RFC 9113 6.9.2).
    return new ReceiveWindow(streamWindow, this.acknowledged ? streamWindow : Math.max(streamWindow, defaultWindow));
  }

  // === FrameSink ===

  onOversizedFrame(type: number, length: number): void {
    this.fail(
      FRAME_SIZE_ERROR,
      `a frame of type ${type} with ${length} bytes; at most ${this.limits.maxFrameSize} are permitted`,
    );
  }

  onFrame(type: number, flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (this.block.streamId !== 0 && (type !== FrameType.CONTINUATION || streamId !== this.block.streamId))
      return this.fail(
        PROTOCOL_ERROR,
        `a frame of type ${type} within the header block of stream ${this.block.streamId}`,
      );
    if (!this.settled && (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0))
      return this.fail(PROTOCOL_ERROR, 'the first frame is not SETTINGS');
    switch (type) {
      case FrameType.DATA:
        return this.onData(flags, streamId, chunk, start, end);
      case FrameType.HEADERS:
        return this.onHeaders(flags, streamId, chunk, start, end);
      case FrameType.WINDOW_UPDATE:
        return this.onWindowUpdate(streamId, chunk, start, end);
      case FrameType.RST_STREAM:
        return this.onReset(streamId, chunk, start, end);
      case FrameType.SETTINGS:
        return this.onSettings(flags, streamId, chunk, start, end);
      case FrameType.PING:
        return this.onPing(flags, streamId, chunk, start, end);
      case FrameType.GOAWAY:
        return this.onGoaway(streamId, chunk, start, end);
      case FrameType.CONTINUATION:
        return this.onContinuation(flags, chunk, start, end);
      case FrameType.PRIORITY:
        return this.onPriority(streamId, chunk, start, end);
      case FrameType.PUSH_PROMISE:
        // We set ENABLE_PUSH to 0, and a client cannot push (RFC 9113 6.6, 8.4).
        return this.fail(PROTOCOL_ERROR, 'PUSH_PROMISE, though push is off');
      default:
        // RFC 9113 4.1, 5.5.
        return this.spend();
    }
  }

  // === DATA (RFC 9113 6.1) ===

  private onData(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.fail(PROTOCOL_ERROR, 'DATA on stream 0');
    let from = start;
    let to = end;
    if ((flags & Flag.PADDED) !== 0) {
      if (start === end) return this.fail(FRAME_SIZE_ERROR, 'a padded frame without a pad length');
      to -= readUint8(chunk, start);
      from += 1;
      if (to < from) return this.fail(PROTOCOL_ERROR, 'more padding than the frame is long');
    }
    const size = end - start;
    if (!this.window.take(size)) return this.fail(FLOW_CONTROL_ERROR, 'more DATA than the connection window permits');
    const increment = this.window.giveBack(size);
    if (increment > 0) this.sender.windowUpdate(0, increment);

    const stream = this.table.get(streamId);
    if (stream === undefined) return this.onFrameWithoutStream(streamId, 'DATA');
    const length = to - from;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (length === 0 && !endStream) this.spend();
    if (stream.receiveClosed) return this.streamError(stream, STREAM_CLOSED, 'DATA after END_STREAM');
    if (this.role === 'client' && !stream.answered)
      return this.streamError(stream, PROTOCOL_ERROR, 'DATA before the headers');
    if (!stream.receiveWindow.take(size))
      return this.streamError(stream, FLOW_CONTROL_ERROR, 'more DATA than the stream window permits');
    if (stream.lengthLeft !== unknownLength) {
      stream.lengthLeft -= length;
      if (stream.lengthLeft < 0 || (endStream && stream.lengthLeft > 0))
        return this.streamError(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    }
    stream.held += length;
    const over = endStream && this.endReceive(stream);
    if (size > length && !endStream) this.sender.giveBack(stream, size - length);
    stream.events?.onData(stream, chunk, from, to, endStream);
    if (over) this.table.announce(stream);
    return !this.stopped;
  }

  // === Header blocks (RFC 9113 6.2, 6.10, 8) ===

  private onHeaders(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.fail(PROTOCOL_ERROR, 'HEADERS on stream 0');
    let from = start;
    let to = end;
    let dependsOnItself = false;
    const padded = (flags & Flag.PADDED) !== 0;
    const prioritized = (flags & Flag.PRIORITY) !== 0;
    if (padded || prioritized) {
      if (end - start < (padded ? 1 : 0) + (prioritized ? 5 : 0))
        return this.fail(FRAME_SIZE_ERROR, 'HEADERS too short for its flags');
      if (padded) {
        to -= readUint8(chunk, start);
        from += 1;
      }
      if (prioritized) {
        dependsOnItself = readUint31(chunk, from) === streamId;
        from += 5;
      }
      if (to < from) return this.fail(PROTOCOL_ERROR, 'more padding than the frame is long');
    }
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) return this.onBlock(streamId, endStream, dependsOnItself, chunk, from, to);
    this.block.begin(streamId, endStream, dependsOnItself);
    return this.continueBlock(chunk, from, to);
  }

  private onContinuation(flags: number, chunk: Uint8Array, start: number, end: number): boolean {
    const { block } = this;
    if (block.streamId === 0) return this.fail(PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    if (start === end) this.spend();
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
    return this.fail(ErrorCode.ENHANCE_YOUR_CALM, `a header block of more than ${maxHeaderBlockFrames} frames`);
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
    const { maxHeaderListSize } = this.limits;
    const result = this.decoder.decode(bytes, start, end, maxHeaderListSize);
    if (!result.ok) return this.fail(ErrorCode.COMPRESSION_ERROR, result.detail);
    const tooLarge = result.tooLarge || end - start > maxHeaderListSize;
    const stream = this.table.get(streamId);
    if (stream === undefined) {
      if (this.role === 'server' && (streamId & 1) === 1 && streamId > this.highestPeerId)
        return this.onNewRequest(streamId, endStream, dependsOnItself, result.fields, tooLarge);
      return this.onFrameWithoutStream(streamId, 'HEADERS');
    }
    if (dependsOnItself) return this.streamError(stream, PROTOCOL_ERROR, 'a stream that depends on itself');
    if (stream.receiveClosed) return this.streamError(stream, STREAM_CLOSED, 'HEADERS after END_STREAM');
    if (this.role === 'server' || stream.answered) return this.onTrailers(stream, endStream, result.fields, tooLarge);
    return this.onResponse(stream, endStream, result.fields, tooLarge);
  }

  private onNewRequest(
    streamId: number,
    endStream: boolean,
    dependsOnItself: boolean,
    fields: HeaderField[],
    tooLarge: boolean,
  ): boolean {
    if (streamId > this.highestPeerId + 2) this.table.past.skip(this.highestPeerId + 1, streamId);
    this.highestPeerId = streamId;
    if (streamId > this.acceptUpTo) return true;
    this.lastPeerStreamId = streamId;
    if (dependsOnItself) return this.refuse(streamId, PROTOCOL_ERROR);
    // RFC 9113 5.1.2.
    if (this.table.size >= this.limits.maxConcurrentStreams) return this.refuse(streamId, ErrorCode.REFUSED_STREAM);
    const { rules } = this;
    let length = unknownLength;
    if (!tooLarge) {
      if (!rules.request(fields)) return this.refuse(streamId, PROTOCOL_ERROR);
      length = rules.contentLength;
      if (endStream && length > 0) return this.refuse(streamId, PROTOCOL_ERROR);
    }
    const stream = new StreamCore(streamId, null, this.peer.initialWindow, this.newReceiveWindow());
    stream.flushed = true;
    stream.lengthLeft = length;
    stream.open();
    if (endStream) stream.endReceive();
    this.table.add(stream);
    this.events.onRequest(stream, fields, endStream, tooLarge);
    // An owner that takes no notice of it must not keep it open.
    if (stream.events === null && !stream.closed) this.sender.reset(stream, ErrorCode.INTERNAL_ERROR);
    return !this.stopped;
  }

  private onResponse(stream: StreamCore, endStream: boolean, fields: HeaderField[], tooLarge: boolean): boolean {
    if (tooLarge) return this.headersTooLarge(stream);
    const { rules } = this;
    if (!rules.response(fields)) return this.streamError(stream, PROTOCOL_ERROR, rules.fault);
    const { status, contentLength } = rules;
    if (status < 200) {
      // RFC 9113 8.1: interim responses are without END_STREAM; 8.6: there is no 101.
      if (endStream || status === 101)
        return this.streamError(stream, PROTOCOL_ERROR, `:status ${status} out of place`);
      return this.spend();
    }
    // RFC 9110 8.6: these have no content, whatever the length says.
    const bodiless = status === 204 || status === 304;
    if (endStream && contentLength > 0 && !bodiless)
      return this.streamError(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    stream.answered = true;
    stream.lengthLeft = bodiless ? unknownLength : contentLength;
    const over = endStream && this.endReceive(stream);
    stream.events?.onHeaders(stream, fields, endStream);
    if (over) this.table.announce(stream);
    return !this.stopped;
  }

  private onTrailers(stream: StreamCore, endStream: boolean, fields: HeaderField[], tooLarge: boolean): boolean {
    // RFC 9113 8.1.
    if (!endStream) return this.streamError(stream, PROTOCOL_ERROR, 'trailers without END_STREAM');
    if (tooLarge) return this.headersTooLarge(stream);
    if (!this.rules.trailers(fields)) return this.streamError(stream, PROTOCOL_ERROR, this.rules.fault);
    if (stream.lengthLeft > 0)
      return this.streamError(stream, PROTOCOL_ERROR, 'other than content-length bytes of DATA');
    const over = this.endReceive(stream);
    stream.events?.onTrailers(stream, fields);
    if (over) this.table.announce(stream);
    return !this.stopped;
  }

  // === Control frames ===

  /** RFC 9113 6.3; 5.3.2: what it says is ignored. */
  private onPriority(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.fail(PROTOCOL_ERROR, 'PRIORITY on stream 0');
    if (end - start !== 5) return this.errorOn(streamId, FRAME_SIZE_ERROR, `PRIORITY of ${end - start} bytes`);
    if (readUint31(chunk, start) === streamId)
      return this.errorOn(streamId, PROTOCOL_ERROR, 'a stream that depends on itself');
    return this.spend();
  }

  /** RFC 9113 6.4. */
  private onReset(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.fail(PROTOCOL_ERROR, 'RST_STREAM on stream 0');
    if (end - start !== 4) return this.fail(FRAME_SIZE_ERROR, `RST_STREAM of ${end - start} bytes`);
    this.spend();
    const stream = this.table.get(streamId);
    if (stream === undefined)
      return this.isIdle(streamId) ? this.fail(PROTOCOL_ERROR, 'RST_STREAM on an idle stream') : true;
    this.table.past.remember(streamId, ResetBy.peer);
    this.table.end(stream, { kind: 'reset', code: readUint32(chunk, start) });
    return !this.stopped;
  }

  /** RFC 9113 6.5. */
  private onSettings(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.fail(PROTOCOL_ERROR, `SETTINGS on stream ${streamId}`);
    this.spend();
    if ((flags & Flag.ACK) !== 0) {
      if (start !== end) return this.fail(FRAME_SIZE_ERROR, 'a SETTINGS acknowledgement with a payload');
      this.onSettingsAcknowledged();
      return true;
    }
    if ((end - start) % 6 !== 0) return this.fail(FRAME_SIZE_ERROR, `SETTINGS of ${end - start} bytes`);
    const fault = this.peer.apply(this.role, chunk, start, end, this);
    if (fault !== null) return this.fail(fault.code, fault.detail);
    this.sender.settingsAck();
    this.settled = true;
    this.events.onSettings();
    this.sender.serve();
    return !this.stopped;
  }

  onHeaderTableSize(bytes: number): void {
    this.sender.peerTableSize(bytes);
  }

  onInitialWindowChange(by: number): boolean {
    for (const stream of this.table.snapshot()) if (!this.sender.growStream(stream, by)) return false;
    return true;
  }

  /** Our SETTINGS bind the peer from here on. */
  private onSettingsAcknowledged(): void {
    if (this.acknowledged) return;
    this.acknowledged = true;
    this.decoder.setMaxTableSize(this.limits.headerTableSize);
    const lent = defaultWindow - this.limits.streamWindow;
    if (lent > 0) for (const stream of this.table.snapshot()) stream.receiveWindow.left -= lent;
  }

  /** RFC 9113 6.7. */
  private onPing(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.fail(PROTOCOL_ERROR, `PING on stream ${streamId}`);
    if (end - start !== 8) return this.fail(FRAME_SIZE_ERROR, `PING of ${end - start} bytes`);
    this.spend();
    if ((flags & Flag.ACK) === 0) this.sender.pong(chunk, start);
    else if (readUint32(chunk, start) === 0) this.sender.pingAnswered(readUint32(chunk, start + 4));
    return !this.stopped;
  }

  /** RFC 9113 6.8. */
  private onGoaway(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.fail(PROTOCOL_ERROR, `GOAWAY on stream ${streamId}`);
    if (end - start < 8) return this.fail(FRAME_SIZE_ERROR, `GOAWAY of ${end - start} bytes`);
    this.spend();
    const last = readUint31(chunk, start);
    const code = readUint32(chunk, start + 4);
    const debug = printable(chunk, start + 8, end);
    if (last > this.peerLastStreamId) return this.fail(PROTOCOL_ERROR, 'a GOAWAY that raises its last stream id');
    this.peerLastStreamId = last;
    this.draining = true;
    this.farewell = `after GOAWAY with code ${code}${debug === '' ? '' : ` (${debug})`}`;
    if (this.role === 'client') this.disown(last, code);
    if (!this.stopped) this.events.onGoaway(last, code, debug);
    return !this.stopped;
  }

  /** Streams that the peer will not process, those not sent yet among them. */
  private disown(last: number, code: number): void {
    for (const stream of this.table.snapshot()) {
      if (stream.closed || (stream.id !== 0 && stream.id <= last)) continue;
      if (stream.id !== 0) this.table.past.remember(stream.id, ResetBy.us);
      this.table.end(stream, { kind: 'goaway', code });
    }
  }

  /** RFC 9113 6.9. */
  private onWindowUpdate(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (end - start !== 4) return this.fail(FRAME_SIZE_ERROR, `WINDOW_UPDATE of ${end - start} bytes`);
    this.spend();
    const increment = readUint31(chunk, start);
    if (streamId === 0) {
      if (increment === 0) return this.fail(PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
      if (!this.sender.growConnection(increment))
        return this.fail(FLOW_CONTROL_ERROR, 'WINDOW_UPDATE takes the connection window over 2^31-1');
      return !this.stopped;
    }
    const stream = this.table.get(streamId);
    if (stream === undefined)
      return this.isIdle(streamId) ? this.fail(PROTOCOL_ERROR, 'WINDOW_UPDATE on an idle stream') : true;
    if (increment === 0) return this.streamError(stream, PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
    if (!this.sender.growStream(stream, increment))
      return this.streamError(stream, FLOW_CONTROL_ERROR, 'WINDOW_UPDATE takes the stream window over 2^31-1');
    this.sender.serve();
    return !this.stopped;
  }

  // === Errors and ends ===

  /** One frame that carries nothing for a call. */
  private spend(): true {
    this.spent += 1;
    return true;
  }

  /** A stream error (RFC 9113 5.4.2) on an open stream. */
  private streamError(stream: StreamCore, code: number, detail: string): boolean {
    this.sender.resetId(stream.id, code);
    this.table.end(stream, { kind: 'streamError', code, detail });
    return !this.stopped;
  }

  /** Only this call fails: the connection is well. */
  private headersTooLarge(stream: StreamCore): boolean {
    this.sender.resetId(stream.id, ErrorCode.CANCEL);
    this.table.end(stream, { kind: 'headersTooLarge' });
    return !this.stopped;
  }

  /** A stream error before anybody owned the stream. */
  private refuse(streamId: number, code: number): boolean {
    this.sender.resetId(streamId, code);
    return !this.stopped;
  }

  /** A stream error on whatever the stream is; an idle one cannot be reset (RFC 9113 6.4). */
  private errorOn(streamId: number, code: number, detail: string): boolean {
    const stream = this.table.get(streamId);
    if (stream !== undefined) return this.streamError(stream, code, detail);
    return this.isIdle(streamId) ? this.fail(code, detail) : this.refuse(streamId, code);
  }

  /** DATA or HEADERS on a stream that is not open (RFC 9113 5.1, idle and closed). */
  private onFrameWithoutStream(streamId: number, what: string): boolean {
    this.spend();
    const { past } = this.table;
    if (this.isIdle(streamId)) return this.fail(PROTOCOL_ERROR, `${what} on idle stream ${streamId}`);
    if (this.role === 'server' && streamId > this.acceptUpTo) return true;
    if (past.wasSkipped(streamId)) return this.fail(PROTOCOL_ERROR, `stream ${streamId} after higher ones`);
    const by = past.resetBy(streamId);
    if (by === ResetBy.us) return true;
    if (by === ResetBy.peer || past.uncertain(streamId)) return this.refuse(streamId, STREAM_CLOSED);
    return this.fail(STREAM_CLOSED, `${what} on closed stream ${streamId}`);
  }

  private isIdle(streamId: number): boolean {
    if ((streamId & 1) === 0) return true;
    return this.role === 'client' ? streamId >= this.sender.nextStreamId : streamId > this.highestPeerId;
  }

  /**
   * END_STREAM has come. Where that closes the stream (true), there is room for another before its owner hears of it, and
   * it is announced after that.
   */
  private endReceive(stream: StreamCore): boolean {
    stream.endReceive();
    if (!stream.closed) return false;
    this.table.remove(stream);
    return true;
  }
}

/** The printable part of a GOAWAY's debug data, cut to a line's length. */
function printable(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < Math.min(end, start + 200); at += 1) {
    const code = readUint8(bytes, at);
    text += code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '?';
  }
  return text;
}
