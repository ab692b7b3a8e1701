/*
 * Integers in network order (RFC 9113 2). The callers below have checked that the bytes are there, so that the reads need no
 * test of their own: this is the hot path.
 */

export function readUint24(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
}

/** A stream identifier or a window increment: the first bit is reserved and ignored (RFC 9113 4.1). */
export function readUint31(bytes: Uint8Array, at: number): number {
  return ((((bytes[at] as number) & 0x7f) << 24) | readUint24(bytes, at + 1)) >>> 0;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (((bytes[at] as number) << 24) | readUint24(bytes, at + 1)) >>> 0;
}

export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

export function readUint8(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}
