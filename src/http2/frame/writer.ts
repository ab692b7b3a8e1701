import type { Outbox } from '../outbox.js';
import { writeUint16, writeUint32 } from './bytes.js';
import { Flag, FrameType, frameHeaderLength } from './kinds.js';

/** A setting and its value (RFC 9113 6.5.1). */
export type Setting = readonly [id: number, value: number];

/** Writes a frame header at `at`; the room must be there (RFC 9113 4.1). */
export function putFrameHeader(
  block: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  block[at] = length >>> 16;
  block[at + 1] = length >>> 8;
  block[at + 2] = length;
  block[at + 3] = type;
  block[at + 4] = flags;
  writeUint32(block, at + 5, streamId);
}

/**
 * Reserves a frame with a payload of `length` bytes, writes its header and returns where the payload begins, in what is
 * `out.block` from then on: it may be another block than before.
 */
function beginFrame(out: Outbox, length: number, type: number, flags: number, streamId: number): number {
  out.reserve(frameHeaderLength + length);
  out.tally.sent(type);
  const { at } = out;
  putFrameHeader(out.block, at, length, type, flags, streamId);
  out.at = at + frameHeaderLength + length;
  return at + frameHeaderLength;
}

/** RFC 9113 6.1, never padded. */
export function writeData(
  out: Outbox,
  streamId: number,
  chunk: Uint8Array,
  start: number,
  end: number,
  endStream: boolean,
): void {
  out.reserve(frameHeaderLength);
  out.tally.sent(FrameType.DATA);
  putFrameHeader(out.block, out.at, end - start, FrameType.DATA, endStream ? Flag.END_STREAM : 0, streamId);
  out.at += frameHeaderLength;
  out.append(chunk, start, end);
}

/** One frame of a header block: HEADERS or CONTINUATION (RFC 9113 6.2, 6.10). */
export function writeHeaderBlockFrame(
  out: Outbox,
  type: number,
  flags: number,
  streamId: number,
  block: Uint8Array,
  start: number,
  end: number,
): void {
  out.reserve(frameHeaderLength);
  out.tally.sent(type);
  putFrameHeader(out.block, out.at, end - start, type, flags, streamId);
  out.at += frameHeaderLength;
  out.append(block, start, end);
}

/** RFC 9113 6.4. */
export function writeReset(out: Outbox, streamId: number, code: number): void {
  const at = beginFrame(out, 4, FrameType.RST_STREAM, 0, streamId);
  writeUint32(out.block, at, code);
}

/** RFC 9113 6.5. */
export function writeSettings(out: Outbox, settings: readonly Setting[]): void {
  let at = beginFrame(out, settings.length * 6, FrameType.SETTINGS, 0, 0);
  for (const [id, value] of settings) {
    writeUint16(out.block, at, id);
    writeUint32(out.block, at + 2, value);
    at += 6;
  }
}

export function writeSettingsAck(out: Outbox): void {
  beginFrame(out, 0, FrameType.SETTINGS, Flag.ACK, 0);
}

/** RFC 9113 6.7: eight opaque bytes. */
export function writePing(out: Outbox, flags: number, payload: Uint8Array, start: number): void {
  const at = beginFrame(out, 8, FrameType.PING, flags, 0);
  for (let i = 0; i < 8; i += 1) out.block[at + i] = payload[start + i] ?? 0;
}

/** RFC 9113 6.8. */
export function writeGoaway(out: Outbox, lastStreamId: number, code: number, debug: string): void {
  const text = Buffer.from(debug, 'utf8');
  const at = beginFrame(out, 8 + text.length, FrameType.GOAWAY, 0, 0);
  writeUint32(out.block, at, lastStreamId);
  writeUint32(out.block, at + 4, code);
  out.block.set(text, at + 8);
}

/** RFC 9113 6.9; `streamId` 0 is the connection. */
export function writeWindowUpdate(out: Outbox, streamId: number, increment: number): void {
  const at = beginFrame(out, 4, FrameType.WINDOW_UPDATE, 0, streamId);
  writeUint32(out.block, at, increment);
}
