/** What the first bytes of a cleartext connection are. */
export type Sniffed = 'http2' | 'http1' | 'other' | 'more';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/**
 * Tells HTTP/2 by prior knowledge from HTTP/1.x and noise by a connection's first bytes. `more`: too few to tell. Only 24
 * bytes are ever needed (RFC 9113 3.4).
 */
export function sniff(bytes: Uint8Array): Sniffed {
  const length = Math.min(bytes.length, preface.length);
  for (let i = 0; i < length; i += 1) {
    if (bytes[i] !== preface[i]) return startsLikeHttp1(bytes) ? 'http1' : 'other';
  }
  return length === preface.length ? 'http2' : 'more';
}

/**
 * A method token, a space and the first byte of a target in a form that RFC 9112 3.2 has: `/path`, `http://…`, `*`, or an
 * authority after CONNECT. The bytes may end before that.
 */
function startsLikeHttp1(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x20) return i > 0 && (targetStart.has(bytes[i + 1]) || bytes[0] === connect);
    if (byte < 0x41 || byte > 0x5a) return false;
  }
  return bytes.length > 0;
}

/** The first bytes of `/`, `*`, `http:`, `HTTP:`, and of a target that has not come yet. */
const targetStart: ReadonlySet<number | undefined> = new Set([0x2f, 0x2a, 0x68, 0x48, undefined]);
/** C: no other method in use has a target of another form. */
const connect = 0x43;

const sentence = 'This port speaks gRPC over HTTP/2 only. Point a gRPC client at it.\n';

/** The one answer that an HTTP/1.x request gets (contract, Metadata). */
export const http1Answer: string = [
  'HTTP/1.1 505 HTTP Version Not Supported',
  'content-type: text/plain; charset=utf-8',
  `content-length: ${Buffer.byteLength(sentence)}`,
  'connection: close',
  '',
  sentence,
].join('\r\n');
