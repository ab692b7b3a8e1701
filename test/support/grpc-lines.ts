import type { Line } from './frames.js';

/** gRPC's five-byte prefix and the message (PROTOCOL-HTTP2, Length-Prefixed-Message). */
export function frameMessage(message: string | Uint8Array, compressed = false): Buffer {
  const bytes = typeof message === 'string' ? Buffer.from(message) : message;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed ? 1 : 0, 0);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** The whole messages in `data`, without their prefixes; a part of one at the end is left out. */
export function splitMessages(data: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= data.length; ) {
    const end = at + 5 + data.readUInt32BE(at + 1);
    if (end > data.length) break;
    messages.push(data.subarray(at + 5, end));
    at = end;
  }
  return messages;
}

/** The values of one name, in order. */
export function valuesOf(lines: readonly Line[], name: string): string[] {
  return lines.filter(([other]) => other === name).map(([, value]) => value);
}

/** The value of one name; undefined where there is none. Throws where there are several: a test that means one, means one. */
export function soleValue(lines: readonly Line[], name: string): string | undefined {
  const values = valuesOf(lines, name);
  if (values.length > 1) throw new Error(`${name} came ${values.length} times: ${values.join(' | ')}`);
  return values[0];
}

export function requestLines(path: string, authority: string, extra: readonly Line[]): Line[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', authority],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...extra,
  ];
}

export function headerLines(extra: readonly Line[]): Line[] {
  return [[':status', '200'], ['content-type', 'application/grpc'], ...extra];
}

export function trailerLines(code: number, extra: readonly Line[]): Line[] {
  return [['grpc-status', String(code)], ...extra];
}

/** A status before any message: one HEADERS frame with END_STREAM. */
export function trailersOnlyLines(code: number, extra: readonly Line[]): Line[] {
  return [[':status', '200'], ['content-type', 'application/grpc'], ...trailerLines(code, extra)];
}
