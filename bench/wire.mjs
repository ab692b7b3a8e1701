/**
 * The least of HTTP/2 that a load generator and a fast backend need, on raw sockets: they must never be what limits a run,
 * and must not share code with what they measure.
 */

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8, continuation: 9 };
export const flag = { end: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 };

/** @param {number} kind @param {number} flags @param {number} stream @param {Buffer} payload */
export function frame(kind, flags, stream, payload) {
  const out = Buffer.allocUnsafe(9 + payload.length);
  out.writeUIntBE(payload.length, 0, 3);
  out[3] = kind;
  out[4] = flags;
  out.writeUInt32BE(stream, 5);
  payload.copy(out, 9);
  return out;
}

/** @param {[number, number][]} pairs */
export function settings(pairs) {
  const payload = Buffer.alloc(6 * pairs.length);
  pairs.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  });
  return frame(type.settings, 0, 0, payload);
}

/** @param {number} stream @param {number} bytes */
export function windowUpdate(stream, bytes) {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes, 0);
  return frame(type.window, 0, stream, payload);
}

export const settingsAck = frame(type.settings, flag.ack, 0, Buffer.alloc(0));

/**
 * A literal header field without Huffman coding.
 * @param {string} name @param {string} value @param {boolean} indexed put into the peer's dynamic table
 */
export function literal(name, value, indexed) {
  const n = Buffer.from(name, 'latin1');
  const v = Buffer.from(value, 'latin1');
  if (n.length > 126 || v.length > 126) throw new Error('only short strings');
  return Buffer.concat([Buffer.from([indexed ? 0x40 : 0x00, n.length]), n, Buffer.from([v.length]), v]);
}

/**
 * A literal without indexing and without Huffman coding whose value may be long (RFC 7541 5.1, 6.2.2).
 * @param {string} name @param {string} value
 */
export function longLiteral(name, value) {
  const n = Buffer.from(name, 'latin1');
  const v = Buffer.from(value, 'latin1');
  const length = [];
  for (let rest = v.length - 127; ; rest >>= 7) {
    length.push(rest >= 128 ? (rest & 127) | 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([0x00, n.length]), n, Buffer.from([127, ...length]), v]);
}

/** A gRPC message of `bytes` zeros behind its five-byte prefix. @param {number} bytes */
export function message(bytes) {
  const out = Buffer.alloc(5 + bytes);
  out.writeUInt32BE(bytes, 1);
  return out;
}

/**
 * Splits a byte stream into frames; `onFrame` gets type, flags, stream and the payload's place in `buffer`.
 * @param {(kind: number, flags: number, stream: number, buffer: Buffer, start: number, end: number) => void} onFrame
 */
export function frameReader(onFrame) {
  let rest = Buffer.alloc(0);
  /** @param {Buffer} chunk */
  return (chunk) => {
    const buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (buffer.length - at >= 9) {
      const length = buffer.readUIntBE(at, 3);
      if (buffer.length - at < 9 + length) break;
      onFrame(
        buffer[at + 3],
        buffer[at + 4],
        buffer.readUInt32BE(at + 5) & 0x7fffffff,
        buffer,
        at + 9,
        at + 9 + length,
      );
      at += 9 + length;
    }
    rest = at === buffer.length ? Buffer.alloc(0) : buffer.subarray(at);
  };
}
