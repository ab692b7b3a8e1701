import type { StreamCounts } from './stream-counts.js';

/** One header line. See grpc/metadata.ts, whose MetadataField has the same shape: http2 knows no gRPC. */
export interface HeaderField {
  readonly name: string;
  /** One character per byte (latin-1). */
  readonly value: string;
  /** RFC 7541 6.2.3: came as, and must leave as, a never-indexed literal. */
  readonly neverIndexed: boolean;
}

export type Role = 'client' | 'server';

/** What this side permits and advertises. All bytes unless said. */
export interface Http2Settings {
  /** SETTINGS_MAX_CONCURRENT_STREAMS we advertise (server role). */
  readonly maxConcurrentStreams: number;
  /** SETTINGS_MAX_HEADER_LIST_SIZE, RFC 9113 6.5.2's count (32 a field); in force before and after decoding. */
  readonly maxHeaderListSize: number;
  /** Frames of one header block (HEADERS and CONTINUATION) before the connection ends ENHANCE_YOUR_CALM. */
  readonly maxHeaderBlockFrames: number;
  /** SETTINGS_HEADER_TABLE_SIZE we advertise, and the most that our encoder uses of the peer's. */
  readonly headerTableSize: number;
  /** SETTINGS_INITIAL_WINDOW_SIZE: what one stream may send before we give window back. */
  readonly streamWindow: number;
  /** The connection's receive window, given back as bytes arrive. */
  readonly connectionWindow: number;
  /** SETTINGS_MAX_FRAME_SIZE we advertise. */
  readonly maxFrameSize: number;
  /** Credits for frames that carry nothing for a call (see FloodBudget); with none left the connection ends ENHANCE_YOUR_CALM. */
  readonly floodBudget: number;
}

export const defaultHttp2Settings: Http2Settings = {
  maxConcurrentStreams: 1000,
  maxHeaderListSize: 16 * 1024,
  maxHeaderBlockFrames: 64,
  headerTableSize: 4096,
  streamWindow: 256 * 1024,
  connectionWindow: 4 * 1024 * 1024,
  maxFrameSize: 16_384,
  floodBudget: 10_000,
};

/** Why a stream ended other than by END_STREAM from both sides. */
export type StreamEnd =
  /** The peer sent RST_STREAM with this code. */
  | { readonly kind: 'reset'; readonly code: number }
  /** The peer sent GOAWAY with a last id below this stream: it was not processed, whatever the code (RFC 9113 6.8). */
  | { readonly kind: 'goaway'; readonly code: number }
  /** The peer broke a rule on this stream; we have reset it with `code` (RFC 9113 5.4.2). */
  | { readonly kind: 'streamError'; readonly code: number; readonly detail: string }
  /** The answer's header list was over our limit; we have reset the stream. */
  | { readonly kind: 'headersTooLarge' }
  /**
   * The connection is gone. `flushed`: whether this stream's HEADERS had been taken for writing; false means the
   * peer cannot have seen the stream.
   */
  | { readonly kind: 'lost'; readonly flushed: boolean; readonly detail: string };

/** What the owner of a stream hears. Calls are synchronous, inside `Connection.receive` or `Connection.lost`. */
export interface StreamEvents {
  /** Response headers (client role), never 1xx. With `endStream` nothing follows. */
  onHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void;
  /**
   * A second header block: trailers. END_STREAM is implied. `tooLarge` (server role): the list was over `maxHeaderListSize`;
   * `fields` then holds what fitted, unchecked.
   */
  onTrailers(stream: Http2Stream, fields: readonly HeaderField[], tooLarge: boolean): void;
  /**
   * DATA without its padding: the bytes [start, end) of `chunk`, which stay valid after the call (keep the slice, do not
   * write to it). May be empty. The owner gives stream window back by `Connection.consume` when it has kept or passed on the bytes.
   */
  onData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void;
  /** After a `sendData` that took less than offered: there is room again. */
  onWritable(stream: Http2Stream): void;
  /** The stream is over in another way than END_STREAM from both sides. The last event. Not fired for our own `reset`. */
  onEnd(stream: Http2Stream, end: StreamEnd): void;
}

/** One stream, as its owner sees it. */
export interface Http2Stream {
  /** 0 until HEADERS are sent (client role). */
  readonly id: number;
  /** Who hears of it; the server side sets it inside `onRequest`. */
  events: StreamEvents | null;
  /** We have sent END_STREAM or the stream is closed. */
  readonly sendClosed: boolean;
  /** The peer has sent END_STREAM or the stream is closed. */
  readonly receiveClosed: boolean;
  /** Closed both ways, reset or lost: every call about it is ignored. */
  readonly closed: boolean;
  /** Whether the bytes of its HEADERS have been taken by `takeOutput`. Server role: always, the peer has sent them. */
  readonly flushed: boolean;
}

/** What a connection's owner hears. */
export interface ConnectionEvents {
  /**
   * Server role: a request opened a stream. Set `stream.events` before returning. `tooLarge`: the list was over
   * `maxHeaderListSize`; `fields` then holds what fitted, pseudo-header fields first, and the owner must answer or reset.
   */
  onRequest(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean, tooLarge: boolean): void;
  /** The peer's SETTINGS were applied (the first time: the connection is ready). */
  onSettings(): void;
  /** The peer will take no stream above `lastStreamId`. Streams above it have been told already. */
  onGoaway(lastStreamId: number, code: number, debug: string): void;
  /** A stream closed: there may be room for a new one. */
  onStreamClosed(stream: Http2Stream): void;
  /** There is output to take. Fired once until `takeOutput`. */
  onOutput(): void;
  /**
   * The peer broke a rule of the connection (RFC 9113 5.4.1): GOAWAY is in the output; write it, then close. Streams are
   * told `lost` after this. A GOAWAY of the peer's with an error code comes as `onGoaway`: what it still answers is answered.
   */
  onFailed(code: number, detail: string): void;
}

/**
 * The HTTP/2 engine for one connection: bytes in → events; calls in → bytes out. Pure: no sockets, no clock. Never throws
 * on what a peer sends.
 */
export interface Http2Connection {
  readonly role: Role;
  /** Writes the preface (client role) and our SETTINGS. */
  start(): void;
  /** @param now when the bytes were read (clock ms); without it no time has passed since the last read */
  receive(chunk: Uint8Array, now?: number): void;
  /** Of a header block that has begun to come and is not whole: a number that no other has. 0: there is none. */
  readonly headerBlock: number;
  /** Ends the connection as for a rule that the peer broke: see `onFailed`. */
  fail(code: number, detail: string): void;
  /** The shell says that the socket ended. Every open stream hears `lost`. */
  lost(detail: string): void;

  /** The peer's SETTINGS have come and no GOAWAY, no failure, no loss. */
  readonly ready: boolean;
  /** Streams open now. */
  readonly openStreams: number;
  /** HEADERS and DATA frames received so far: what tells a peer's own count of our PINGs to begin anew (gRFC A8). */
  readonly callFrames: number;
  /** Client role: how many more streams the peer permits now; 0 while not ready, draining or out of ids. */
  readonly room: number;
  /** Client role: a new stream, or null where `room` is 0. Send its HEADERS in the same turn. */
  openStream(events: StreamEvents): Http2Stream | null;

  /**
   * Sends a header block: request headers, response headers, trailers. False, and nothing sent, where the list is over the
   * peer's SETTINGS_MAX_HEADER_LIST_SIZE.
   */
  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): boolean;
  /**
   * Sends the bytes [start, end) of `chunk` as far as the windows and the output's bound permit, and END_STREAM with the
   * last of them. Returns how many bytes were taken; the rest stays the caller's, who hears `onWritable`.
   * The bytes may be held until written: do not change them.
   */
  sendData(stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): number;
  /** RST_STREAM. The owner hears nothing more of the stream. */
  reset(stream: Http2Stream, code: number): void;
  /** Gives back stream window for `bytes` of received DATA. */
  consume(stream: Http2Stream, bytes: number): void;
  /** PING; `onAck` when the answer comes. */
  ping(onAck: () => void): void;
  /** GOAWAY with this last id: `2 ** 31 - 1` says "soon" (RFC 9113 6.8), the highest id seen says "now". */
  goaway(lastStreamId: number, code: number, debug?: string): void;
  /** The highest id of a stream that the peer opened. */
  readonly lastPeerStreamId: number;

  /** Bytes waiting for `takeOutput`. */
  readonly outputBytes: number;
  /** The pending output, in order; the caller owns it. Marks streams opened so far as `flushed`. */
  takeOutput(): Uint8Array[];
  /** The socket is (no longer) backed up: while true `sendData` takes nothing; after false blocked streams hear `onWritable`. */
  setOutputBlocked(blocked: boolean): void;
  /** Runs `task` right after the next `takeOutput`. */
  onceFlushed(task: () => void): void;
}

/** What a connection has carried so far, and may carry. Read when somebody looks. */
export interface ConnectionTraffic {
  readonly streamCounts: StreamCounts;
  /** What the peer lets us send on the connection, and we the peer (bytes). */
  readonly sendWindow: number;
  readonly receiveWindow: number;
}

/** What the shell that holds the socket asks as well. */
export interface BoundConnection extends Http2Connection, ConnectionTraffic {
  /** Bytes of memory that a header block of several frames takes until it is whole. */
  readonly headerBlockBytes: number;
}

/** RFC 9113 7. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;
