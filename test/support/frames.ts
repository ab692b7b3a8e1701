/*
 * A frame builder and parser of the tests' own, written from RFC 9113 alone: it shares nothing with the engine, so that a
 * slip in the engine cannot hide in both.
 */

export const Type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const endStream = 0x1;
export const ack = 0x1;
export const endHeaders = 0x4;
export const padded = 0x8;
export const prioritized = 0x20;

export const preface = Buffer.from('505249202a20485454502f322e300d0a0d0a534d0d0a0d0a', 'hex');

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export type Line = readonly [name: string, value: string];

/** A header block of literals without indexing, new names, no Huffman (RFC 7541 6.2.2): legal whatever the tables hold. */
export function block(lines: readonly Line[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of lines) parts.push(Buffer.of(0x00), text(name), text(value));
  return Buffer.concat(parts);
}

/** RFC 7541 5.2, 5.1. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const head: number[] = [];
  let rest = bytes.length;
  if (rest < 127) {
    head.push(rest);
  } else {
    head.push(127);
    rest -= 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) head.push((rest % 128) + 128);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), bytes]);
}

export function headers(streamId: number, lines: readonly Line[], flags: number = endHeaders): Buffer {
  return frame(Type.headers, flags, streamId, block(lines));
}

export function data(streamId: number, payload: string | Uint8Array, flags = 0): Buffer {
  return frame(Type.data, flags, streamId, typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload);
}

/** Pad Length, content, padding (RFC 9113 6.1). */
export function pad(content: Uint8Array, length: number): Buffer {
  return Buffer.concat([Buffer.of(length), content, Buffer.alloc(length)]);
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const parts = pairs.map(([id, value]) => Buffer.concat([Buffer.of(id >> 8, id & 0xff), uint32(value)]));
  return frame(Type.settings, 0, 0, Buffer.concat(parts));
}

export const settingsAck = frame(Type.settings, ack, 0);

export function ping(payload: string, flags = 0): Buffer {
  return frame(Type.ping, flags, 0, Buffer.from(payload, 'latin1'));
}

export function reset(streamId: number, code: number): Buffer {
  return frame(Type.reset, 0, streamId, uint32(code));
}

export function windowUpdate(streamId: number, increment: number): Buffer {
  return frame(Type.windowUpdate, 0, streamId, uint32(increment));
}

export function goaway(lastStreamId: number, code: number, debug = ''): Buffer {
  return frame(Type.goaway, 0, 0, Buffer.concat([uint32(lastStreamId), uint32(code), Buffer.from(debug, 'latin1')]));
}

export const requestLines: readonly Line[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/pkg.Service/Method'],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

export const responseLines: readonly Line[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Cuts whole frames off `bytes`; throws where a part of one is left, since the engine never writes half a frame. */
export function parse(bytes: Uint8Array): Frame[] {
  const all = Buffer.from(bytes);
  const frames: Frame[] = [];
  let at = 0;
  while (at < all.length) {
    const length = all.readUIntBE(at, 3);
    if (at + 9 + length > all.length) throw new Error(`half a frame at ${at}`);
    frames.push({
      type: all.readUInt8(at + 3),
      flags: all.readUInt8(at + 4),
      streamId: all.readUInt32BE(at + 5),
      payload: all.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

const names = Object.entries(Type);

/** A frame in a few words, without the content of header blocks: `DATA 1 "abc" end`. */
export function show({ type, flags, streamId, payload }: Frame): string {
  const name = names.find(([, value]) => value === type)?.[0] ?? `type-${type}`;
  const words: (string | number)[] = [name];
  switch (type) {
    case Type.data:
      words.push(streamId, payload.length > 40 ? payload.length : JSON.stringify(payload.toString('latin1')));
      break;
    case Type.reset:
      words.push(streamId, payload.readUInt32BE());
      break;
    case Type.windowUpdate:
      words.push(streamId, payload.readUInt32BE());
      break;
    case Type.goaway:
      words.push(payload.readUInt32BE(), payload.readUInt32BE(4));
      break;
    case Type.ping:
      words.push(payload.toString('latin1'));
      break;
    case Type.settings:
      break;
    default:
      words.push(streamId);
  }
  if ((type === Type.settings || type === Type.ping) && (flags & ack) !== 0) words.push('ack');
  if ((type === Type.data || type === Type.headers) && (flags & endStream) !== 0) words.push('end');
  if ((type === Type.headers || type === Type.continuation) && (flags & endHeaders) === 0) words.push('more');
  return words.join(' ');
}
