import { ResetBy } from './closed-streams.js';
import type { Faults } from './faults.js';
import { mayGrow } from './flow.js';
import { readUint8, readUint31, readUint32 } from './frame/bytes.js';
import { clientPreface, Flag, FrameType, maxUint31 } from './frame/kinds.js';
import { FrameReader, type FrameSink } from './frame/reader.js';
import type { Messages } from './messages.js';
import type { Sender } from './sender.js';
import { type PeerSettings, type SettingsTarget, setsWindow } from './settings.js';
import type { StreamTable } from './stream-table.js';
import { type ConnectionEvents, ErrorCode, type Http2Settings, type Role } from './types.js';
import type { WireTally } from './wire-tally.js';

const { PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR } = ErrorCode;

/** Settings in one frame that cost no more than the frame: those that are defined, gRPC's own and some to spare. */
const usualSettings = 16;
/** Streams whose windows a SETTINGS frame may change for one credit: that takes as long as another frame. */
const windowsPerCredit = 1000;

/** What arrives: the preface, the order of frames, and the frames that are about the connection or a stream's control. */
export class Receiver implements FrameSink, SettingsTarget {
  /** The peer's first SETTINGS have come. */
  settled = false;
  /** A GOAWAY went either way. */
  draining = false;
  /** See Http2Connection. */
  callFrames = 0;
  /** What the peer's GOAWAY said, for the words of a later loss; empty before. */
  farewell = '';

  private readonly role: Role;
  private readonly limits: Http2Settings;
  private readonly events: ConnectionEvents;
  private readonly table: StreamTable;
  private readonly sender: Sender;
  private readonly faults: Faults;
  private readonly messages: Messages;
  private readonly peer: PeerSettings;
  private readonly tally: WireTally;
  private readonly reader: FrameReader;
  private prefaceSeen: number;
  /** The lowest of the peer's GOAWAYs. */
  private peerLastStreamId = maxUint31;

  constructor(
    role: Role,
    limits: Http2Settings,
    events: ConnectionEvents,
    table: StreamTable,
    sender: Sender,
    faults: Faults,
    messages: Messages,
    peer: PeerSettings,
    tally: WireTally,
  ) {
    this.role = role;
    this.limits = limits;
    this.events = events;
    this.table = table;
    this.sender = sender;
    this.faults = faults;
    this.messages = messages;
    this.peer = peer;
    this.tally = tally;
    this.reader = new FrameReader(this, limits.maxFrameSize);
    this.prefaceSeen = role === 'client' ? clientPreface.length : 0;
  }

  /** See Http2Connection. */
  get headerBlock(): number {
    const { messages, reader } = this;
    return messages.blockOf !== 0 || reader.pending === FrameType.HEADERS ? messages.blocks + 1 : 0;
  }

  /** See Http2Connection.receive. */
  receive(chunk: Uint8Array): void {
    this.tally.receivedBytes += chunk.length;
    if (this.faults.stopped) return;
    let at = 0;
    for (; this.prefaceSeen < clientPreface.length && at < chunk.length; at += 1) {
      if (chunk[at] !== clientPreface[this.prefaceSeen]) {
        this.faults.connection(PROTOCOL_ERROR, 'the connection did not begin with the HTTP/2 preface');
        return;
      }
      this.prefaceSeen += 1;
    }
    this.reader.read(chunk, at);
  }

  // === FrameSink ===

  onOversizedFrame(type: number, length: number): void {
    this.faults.connection(
      FRAME_SIZE_ERROR,
      `a frame of type ${type} with ${length} bytes; at most ${this.limits.maxFrameSize} are permitted`,
    );
  }

  onFrame(type: number, flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    this.tally.received(type);
    if (this.messages.blockOf !== 0 && (type !== FrameType.CONTINUATION || streamId !== this.messages.blockOf))
      return this.faults.connection(
        PROTOCOL_ERROR,
        `a frame of type ${type} within the header block of stream ${this.messages.blockOf}`,
      );
    if (!this.settled && (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0))
      return this.faults.connection(PROTOCOL_ERROR, 'the first frame is not SETTINGS');
    switch (type) {
      case FrameType.DATA:
        this.callFrames += 1;
        return this.messages.onData(flags, streamId, chunk, start, end);
      case FrameType.HEADERS:
        this.callFrames += 1;
        return this.messages.onHeaders(flags, streamId, chunk, start, end);
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
        return this.messages.onContinuation(flags, chunk, start, end);
      case FrameType.PRIORITY:
        return this.onPriority(streamId, chunk, start, end);
      case FrameType.PUSH_PROMISE:
        // We set ENABLE_PUSH to 0, and a client cannot push (RFC 9113 6.6, 8.4).
        return this.faults.connection(PROTOCOL_ERROR, 'PUSH_PROMISE, though push is off');
      default:
        // RFC 9113 4.1, 5.5.
        return this.faults.spend('frames of unknown type');
    }
  }

  // === Control frames ===

  /** RFC 9113 6.3; 5.3.2: what it says is ignored. */
  private onPriority(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.faults.connection(PROTOCOL_ERROR, 'PRIORITY on stream 0');
    if (end - start !== 5) return this.faults.streamId(streamId, FRAME_SIZE_ERROR, `PRIORITY of ${end - start} bytes`);
    if (readUint31(chunk, start) === streamId)
      return this.faults.streamId(streamId, PROTOCOL_ERROR, 'a stream that depends on itself');
    return this.faults.spend('PRIORITY');
  }

  /** RFC 9113 6.4. */
  private onReset(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId === 0) return this.faults.connection(PROTOCOL_ERROR, 'RST_STREAM on stream 0');
    if (end - start !== 4) return this.faults.connection(FRAME_SIZE_ERROR, `RST_STREAM of ${end - start} bytes`);
    const stream = this.table.get(streamId);
    if (stream === undefined) return this.faults.lateReset(streamId);
    this.table.past.remember(streamId, ResetBy.peer);
    this.table.end(stream, { kind: 'reset', code: readUint32(chunk, start) });
    return !this.faults.stopped && this.faults.spendReset(stream);
  }

  /** RFC 9113 6.5. */
  private onSettings(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.faults.connection(PROTOCOL_ERROR, `SETTINGS on stream ${streamId}`);
    const surplus = Math.max(0, Math.floor((end - start) / 6) - usualSettings);
    const windows = setsWindow(chunk, start, end) ? this.table.size / windowsPerCredit : 0;
    if (!this.faults.spend('SETTINGS', 1 + surplus + windows)) return false;
    if ((flags & Flag.ACK) !== 0) {
      if (start !== end) return this.faults.connection(FRAME_SIZE_ERROR, 'a SETTINGS acknowledgement with a payload');
      this.messages.onSettingsAcknowledged();
      return true;
    }
    if ((end - start) % 6 !== 0) return this.faults.connection(FRAME_SIZE_ERROR, `SETTINGS of ${end - start} bytes`);
    const fault = this.peer.apply(this.role, chunk, start, end, this);
    if (fault !== null) return this.faults.connection(fault.code, fault.detail);
    this.sender.settingsAck();
    this.settled = true;
    this.events.onSettings();
    this.sender.serve();
    return !this.faults.stopped;
  }

  onHeaderTableSize(bytes: number): void {
    this.sender.peerTableSize(bytes);
  }

  onInitialWindowChange(by: number, most: number): boolean {
    for (const stream of this.table.numbered()) {
      if (!mayGrow(stream.sendWindow, most) || !this.sender.growStream(stream, by)) return false;
    }
    return true;
  }

  /** RFC 9113 6.7. */
  private onPing(flags: number, streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.faults.connection(PROTOCOL_ERROR, `PING on stream ${streamId}`);
    if (end - start !== 8) return this.faults.connection(FRAME_SIZE_ERROR, `PING of ${end - start} bytes`);
    if (!this.faults.spend('PING')) return false;
    if ((flags & Flag.ACK) === 0) this.sender.pong(chunk, start);
    else if (readUint32(chunk, start) === 0) this.sender.pingAnswered(readUint32(chunk, start + 4));
    return !this.faults.stopped;
  }

  /** RFC 9113 6.8. */
  private onGoaway(streamId: number, chunk: Uint8Array, start: number, end: number): boolean {
    if (streamId !== 0) return this.faults.connection(PROTOCOL_ERROR, `GOAWAY on stream ${streamId}`);
    if (end - start < 8) return this.faults.connection(FRAME_SIZE_ERROR, `GOAWAY of ${end - start} bytes`);
    if (!this.faults.spend('GOAWAY')) return false;
    // It must not rise (RFC 9113 6.8). What was disowned has been sent elsewhere, and what was not goes on: the lower one holds.
    const last = Math.min(readUint31(chunk, start), this.peerLastStreamId);
    const code = readUint32(chunk, start + 4);
    const debug = printable(chunk, start + 8, end);
    this.peerLastStreamId = last;
    this.draining = true;
    this.farewell = `after GOAWAY with code ${code}${debug === '' ? '' : ` (${debug})`}`;
    if (this.role === 'client') this.disown(last, code);
    if (!this.faults.stopped) this.events.onGoaway(last, code, debug);
    return !this.faults.stopped;
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
    if (end - start !== 4) return this.faults.connection(FRAME_SIZE_ERROR, `WINDOW_UPDATE of ${end - start} bytes`);
    if (!this.faults.spend('WINDOW_UPDATE')) return false;
    const increment = readUint31(chunk, start);
    if (streamId === 0) {
      if (increment === 0) return this.faults.connection(PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
      if (!this.sender.growConnection(increment))
        return this.faults.connection(FLOW_CONTROL_ERROR, 'WINDOW_UPDATE takes the connection window over 2^31-1');
      return !this.faults.stopped;
    }
    const stream = this.table.get(streamId);
    if (stream === undefined) return this.faults.lateControl(streamId, 'WINDOW_UPDATE');
    if (increment === 0) return this.faults.stream(stream, PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
    if (!this.sender.growStream(stream, increment))
      return this.faults.stream(stream, FLOW_CONTROL_ERROR, 'WINDOW_UPDATE takes the stream window over 2^31-1');
    this.sender.serve();
    return !this.faults.stopped;
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
