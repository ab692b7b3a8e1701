import { Flag, FrameType, frameHeaderLength } from './frame/kinds.js';
import { putFrameHeader, writeHeaderBlockFrame } from './frame/writer.js';
import { createHpackEncoder, maxEncodedSize } from './hpack/encoder.js';
import type { HpackEncoder } from './hpack/types.js';
import type { Outbox } from './outbox.js';
import type { PeerSettings } from './settings.js';
import type { HeaderField } from './types.js';

/** Room asked for at first for a header block; most are shorter (bytes). */
const usualBlock = 256;

/** Header blocks into the output, encoded in place. */
export class HeaderWriter {
  private readonly outbox: Outbox;
  private readonly headerTableSize: number;
  private readonly peer: PeerSettings;
  /** Made with the first block: a connection that is only held open costs 5 KiB less without its tables. */
  private encoder: HpackEncoder | null = null;
  /** Of the peer's table sizes before there is an encoder, the smallest and the last; the last is -1 while there is none. */
  private smallestTable = Number.POSITIVE_INFINITY;
  private lastTable = -1;

  /** @param headerTableSize the most of the peer's table that is used (bytes) */
  constructor(outbox: Outbox, headerTableSize: number, peer: PeerSettings) {
    this.outbox = outbox;
    this.headerTableSize = headerTableSize;
    this.peer = peer;
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  peerTableSize(bytes: number): void {
    if (this.encoder !== null) {
      this.encoder.setPeerTableSize(bytes);
      return;
    }
    this.smallestTable = Math.min(this.smallestTable, bytes);
    this.lastTable = bytes;
  }

  /** Whether the peer takes so large a list: name, value and 32 a field (RFC 9113 6.5.2). */
  fits(fields: readonly HeaderField[]): boolean {
    const limit = this.peer.maxHeaderListSize;
    if (limit === Number.POSITIVE_INFINITY) return true;
    let sum = 0;
    for (const field of fields) sum += field.name.length + field.value.length + 32;
    return sum <= limit;
  }

  /** Writes the block: HEADERS, and CONTINUATION where the peer's frames are shorter. */
  write(streamId: number, fields: readonly HeaderField[], endStream: boolean): void {
    const { outbox } = this;
    const encoder = this.encoder ?? this.begin();
    outbox.reserve(frameHeaderLength + usualBlock);
    let from = outbox.at + frameHeaderLength;
    let end = encoder.encode(fields, outbox.block, from);
    if (end < 0) {
      outbox.reserve(frameHeaderLength + maxEncodedSize(fields));
      from = outbox.at + frameHeaderLength;
      end = encoder.encode(fields, outbox.block, from);
      if (end < 0) throw new RangeError('the HPACK encoder needs more room than maxEncodedSize said');
    }
    const flags = endStream ? Flag.END_STREAM : 0;
    if (end - from <= this.peer.maxFrameSize) {
      outbox.tally.sent(FrameType.HEADERS);
      putFrameHeader(outbox.block, outbox.at, end - from, FrameType.HEADERS, flags | Flag.END_HEADERS, streamId);
      outbox.at = end;
    } else {
      this.writeInFrames(streamId, flags, Buffer.from(outbox.block.subarray(from, end)));
    }
  }

  /** RFC 7541 4.2: of several changes before a block, the smallest counts and the last. */
  private begin(): HpackEncoder {
    const encoder = createHpackEncoder(this.headerTableSize);
    if (this.lastTable >= 0) {
      encoder.setPeerTableSize(this.smallestTable);
      encoder.setPeerTableSize(this.lastTable);
    }
    this.encoder = encoder;
    return encoder;
  }

  /** RFC 9113 6.10: a block longer than a frame goes on in CONTINUATION frames, END_STREAM on the first. */
  private writeInFrames(streamId: number, flags: number, block: Uint8Array): void {
    const { maxFrameSize } = this.peer;
    for (let at = 0; at < block.length; at += maxFrameSize) {
      const next = Math.min(at + maxFrameSize, block.length);
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const own = (at === 0 ? flags : 0) | (next === block.length ? Flag.END_HEADERS : 0);
      writeHeaderBlockFrame(this.outbox, type, own, streamId, block, at, next);
    }
  }
}
