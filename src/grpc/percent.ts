const percent = 0x25;
const space = 0x20;
const hex = '0123456789ABCDEF';

/**
 * A text as `grpc-message` carries it: UTF-8, each byte outside printable ASCII, and `%`, as `%XX` (gRPC PROTOCOL-HTTP2,
 * Percent-Encoded). A space at either end is escaped too: HTTP would strip it (RFC 9113 8.2.1).
 */
export function encodeMessage(text: string): string {
  if (isPlain(text)) return text;
  const bytes = Buffer.from(text, 'utf8');
  const last = bytes.length - 1;
  let wire = '';
  for (let i = 0; i <= last; i += 1) {
    const byte = bytes[i] as number;
    const keep = byte > space ? byte < 0x7f && byte !== percent : byte === space && i !== 0 && i !== last;
    wire += keep ? String.fromCharCode(byte) : `%${hex[byte >> 4]}${hex[byte & 15]}`;
  }
  return wire;
}

/**
 * The text of a `grpc-message`. Takes what peers really send: an escape that is none stays as it stands, bytes outside
 * ASCII count as they are, what is not UTF-8 becomes U+FFFD. Never throws.
 *
 * @param wire one character per byte (latin-1)
 */
export function decodeMessage(wire: string): string {
  if (isPlain(wire)) return wire;
  const bytes = Buffer.from(wire, 'latin1');
  let length = 0;
  for (let i = 0; i < bytes.length; i += 1, length += 1) {
    const byte = bytes[i] as number;
    if (byte === percent) {
      const high = digitOf(bytes[i + 1]);
      const low = digitOf(bytes[i + 2]);
      if (high >= 0 && low >= 0) {
        bytes[length] = high * 16 + low;
        i += 2;
        continue;
      }
    }
    bytes[length] = byte;
  }
  return bytes.toString('utf8', 0, length);
}

/** Printable ASCII without `%` and without a space at its ends: the same on the wire and off it. */
function isPlain(text: string): boolean {
  const last = text.length - 1;
  for (let i = 0; i <= last; i += 1) {
    const code = text.charCodeAt(i);
    if (code < space || code > 0x7e || code === percent) return false;
  }
  return last < 0 || (text.charCodeAt(0) !== space && text.charCodeAt(last) !== space);
}

function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
