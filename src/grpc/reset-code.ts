import { Status, type StatusCode } from './status.js';

/** Names of HTTP/2 error codes (RFC 9113 7). */
const names: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

/** RST_STREAM(REFUSED_STREAM): the stream was closed before any processing (RFC 9113 8.7). */
export const refusedStream = 0x7;

/** RST_STREAM(CANCEL): the sender has no more use for the stream. */
export const cancelled = 0x8;

/** An HTTP/2 error code in words: its name, or `code 0x2a` for one that RFC 9113 does not know. */
export function resetCodeName(code: number): string {
  return names[code] ?? `code 0x${code.toString(16)}`;
}

/** The status of a stream that was reset with `code` (gRPC PROTOCOL-HTTP2, Errors; PRX-18). */
export function statusOfReset(code: number): StatusCode {
  switch (code) {
    case refusedStream:
      return Status.UNAVAILABLE;
    case cancelled:
      return Status.CANCELLED;
    case 0xb: // ENHANCE_YOUR_CALM
      return Status.RESOURCE_EXHAUSTED;
    case 0xc: // INADEQUATE_SECURITY
      return Status.PERMISSION_DENIED;
    case 0xd: // HTTP_1_1_REQUIRED
      return Status.UNAVAILABLE;
    default:
      return Status.INTERNAL;
  }
}
