import type { HeaderField } from '../types.js';

/** Decodes the header blocks of one direction of one connection (RFC 7541). Owns the dynamic table. */
export interface HpackDecoder {
  /**
   * Decodes the whole block [start, end). Fields of the static and dynamic table are shared objects. Stops keeping fields
   * (but decodes on, so that the table stays in step) once their size, 32 a field included, is over `maxListSize`.
   * Fields with pseudo names are kept in any case while they fit twice the limit.
   */
  decode(block: Uint8Array, start: number, end: number, maxListSize: number): DecodeResult;
  /** The SETTINGS_HEADER_TABLE_SIZE that we advertised and the peer acknowledged: the most a size update may ask for. */
  setMaxTableSize(bytes: number): void;
  /** Bytes in the dynamic table (RFC 7541 4.1). */
  readonly tableSize: number;
}

export type DecodeResult =
  | { readonly ok: true; readonly fields: HeaderField[]; readonly tooLarge: boolean }
  /** A COMPRESSION_ERROR of the connection: the table is out of step for good. */
  | { readonly ok: false; readonly detail: string };

/** Encodes the header blocks of one direction of one connection. Owns the dynamic table. */
export interface HpackEncoder {
  /**
   * Appends the block for `fields` to `out` from `at`; returns the offset after it, or -1 where `out` is too short (nothing
   * has changed then; retry with more room: `maxEncodedSize(fields)` bytes are always enough).
   */
  encode(fields: readonly HeaderField[], out: Uint8Array, at: number): number;
  /** The peer's SETTINGS_HEADER_TABLE_SIZE; the next block begins with the size updates that RFC 7541 4.2 asks for. */
  setPeerTableSize(bytes: number): void;
  readonly tableSize: number;
}
