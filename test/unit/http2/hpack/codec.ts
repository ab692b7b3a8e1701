import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder, maxEncodedSize } from '../../../../src/http2/hpack/encoder.js';
import type { DecodeResult, HpackDecoder, HpackEncoder } from '../../../../src/http2/hpack/types.js';
import type { HeaderField } from '../../../../src/http2/types.js';

export const noLimit = Number.POSITIVE_INFINITY;

export function field(name: string, value: string, neverIndexed = false): HeaderField {
  return { name, value, neverIndexed };
}

/** `name: value` pairs as fields. */
export function fields(...lines: readonly (readonly [string, string])[]): HeaderField[] {
  return lines.map(([name, value]) => field(name, value));
}

export function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex');
}

export function decode(decoder: HpackDecoder, block: Uint8Array | string, maxListSize = noLimit): DecodeResult {
  const from = typeof block === 'string' ? bytes(block) : block;
  return decoder.decode(from, 0, from.length, maxListSize);
}

/** The fields of a block that has to be right. */
export function decoded(decoder: HpackDecoder, block: Uint8Array | string): HeaderField[] {
  const result = decode(decoder, block);
  if (!result.ok) throw new Error(result.detail);
  return result.fields;
}

/** Why a block is wrong, by a decoder of its own. */
export function faultOf(block: Uint8Array | string, tableSize = 4096): string {
  const result = decode(createHpackDecoder(tableSize), block);
  return result.ok ? 'none' : result.detail;
}

/** The block of these fields, in a buffer with room before and after it. */
export function encoded(encoder: HpackEncoder, list: readonly HeaderField[]): Buffer {
  const before = 3;
  const out = Buffer.alloc(before + maxEncodedSize(list) + 5, 0xee);
  const end = encoder.encode(list, out, before);
  if (end < 0) throw new Error('no room');
  return out.subarray(before, end);
}

export function hex(encoder: HpackEncoder, list: readonly HeaderField[]): string {
  return encoded(encoder, list).toString('hex');
}

/** The dynamic table's first `count` entries, newest first. Looking does not change it. */
export function tableOf(decoder: HpackDecoder, count: number): string[] {
  return decoded(decoder, Buffer.from(Array.from({ length: count }, (_, i) => 0x80 | (62 + i)))).map(
    ({ name, value }) => `${name}: ${value}`,
  );
}

/** An encoder and the peer's decoder, in step. */
export function pair(tableSize = 4096): { encoder: HpackEncoder; decoder: HpackDecoder } {
  return { encoder: createHpackEncoder(tableSize), decoder: createHpackDecoder(4096) };
}
