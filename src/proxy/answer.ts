import type { MetadataField } from '../grpc/metadata.js';
import { answerFields, ownAnswer, ownTrailers } from '../grpc/rewrite.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { ErrorCode, type Http2Connection, type Http2Stream } from '../http2/types.js';
import type { Story } from './notes.js';
import type { ProxyParts } from './parts.js';

type AnswerParts = Pick<ProxyParts, 'prefix' | 'notes'>;

/** The backend's initial metadata as the client gets it. */
export function initialAnswer(
  parts: AnswerParts,
  fields: readonly MetadataField[],
  backend: string | null,
): MetadataField[] {
  return answerFields(fields, parts.prefix, parts.notes.initial(backend));
}

/** How a call ends, for its client. */
export interface CallEnd {
  /** The backend's own end, to pass on: its trailers, or its Trailers-Only answer, which stays one; null: we make it. */
  readonly trailers: readonly MetadataField[] | null;
  /** Response headers have been passed on. */
  readonly afterHeaders: boolean;
  readonly code: StatusCode;
  /** Plain text, used where the end is ours to make. */
  readonly message: string;
  /** Our own keys for it. */
  readonly notes: readonly MetadataField[];
  /** They, where the client has to be told `answerTooLarge` instead. */
  readonly otherwise: () => readonly MetadataField[];
}

/** What a client is told instead of an end that is larger than it accepts. */
export const answerTooLarge = {
  code: Status.RESOURCE_EXHAUSTED,
  message: "the answer's metadata is larger than the client accepts",
  reason: 'headers_too_large',
} as const;

/**
 * Ends the client's stream. An end that is larger than the client accepts becomes a status, not a reset (design §5):
 * returns false where the client has been told `answerTooLarge` so.
 */
export function sendEnd(connection: Http2Connection, stream: Http2Stream, parts: AnswerParts, end: CallEnd): boolean {
  const { trailers, code, message, notes } = end;
  const make = end.afterHeaders ? ownTrailers : ownAnswer;
  const fields = trailers === null ? make(code, spoken(message), notes) : answerFields(trailers, parts.prefix, notes);
  const whole = connection.sendHeaders(stream, fields, true);
  if (!whole) {
    const fallback = make(answerTooLarge.code, spoken(answerTooLarge.message), end.otherwise());
    if (!connection.sendHeaders(stream, fallback, true)) {
      connection.reset(stream, ErrorCode.INTERNAL_ERROR);
      return false;
    }
  }
  // The client may still be sending: it is told to stop (RFC 9113 8.1; PRX-17).
  if (!stream.receiveClosed) connection.reset(stream, ErrorCode.NO_ERROR);
  return whole;
}

/** The answer to a call that was refused before it began. */
export function refusal(
  parts: AnswerParts,
  code: StatusCode,
  detail: string,
  { reason, callId }: { readonly reason: StopReason; readonly callId: string },
): MetadataField[] {
  const failure = { reason, origin: 'proxy', processed: 'no', callId } as const;
  const story: Story = { backend: null, retries: 0, backends: [], hedged: false, failure };
  return ownAnswer(code, spoken(detail), parts.notes.trailers(story));
}

/** Our own words say whose they are: an application's client must be able to tell them from its server's (PRX-29). */
function spoken(detail: string): string {
  return `hedgerow: ${detail}`;
}
