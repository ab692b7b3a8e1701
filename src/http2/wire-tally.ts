/** Frame types that are counted, by their number (RFC 9113 6); the last stands for all that are unknown. */
export const talliedFrames = [
  'DATA',
  'HEADERS',
  'PRIORITY',
  'RST_STREAM',
  'SETTINGS',
  'PUSH_PROMISE',
  'PING',
  'GOAWAY',
  'WINDOW_UPDATE',
  'CONTINUATION',
  'unknown',
] as const;

const unknown = talliedFrames.length - 1;

/** What connections have read and written, shared by all that are given it. */
export class WireTally {
  /** Bytes of HTTP/2, as they were before TLS; our own are counted when the socket takes them. */
  receivedBytes = 0;
  sentBytes = 0;
  /** By `talliedFrames`. */
  readonly receivedFrames = new Float64Array(talliedFrames.length);
  readonly sentFrames = new Float64Array(talliedFrames.length);

  received(type: number): void {
    const at = Math.min(type, unknown);
    this.receivedFrames[at] = (this.receivedFrames[at] ?? 0) + 1;
  }

  sent(type: number): void {
    this.sentFrames[type] = (this.sentFrames[type] ?? 0) + 1;
  }

  /** By type. */
  static named(frames: Float64Array): Record<string, number> {
    return Object.fromEntries(talliedFrames.map((type, at) => [type, frames[at] ?? 0]));
  }
}
