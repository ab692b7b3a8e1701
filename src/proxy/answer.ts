import type { MetadataField } from '../grpc/metadata.js';
import { answerHeaders, answerTrailers, ownAnswer, ownTrailers } from '../grpc/rewrite.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import { ErrorCode, type Http2Connection, type Http2Stream } from '../http2/types.js';
import type { ProxyParts } from './parts.js';

/** What our own response keys say of one call (contract, Metadata). */
export interface AnswerNotes {
  /** The backend whose answer or loss the client is told; null where none was reached. */
  readonly backend: string | null;
  readonly retries: number;
  /** Null where the call ended OK. */
  readonly reason: StopReason | null;
}

type NoteParts = Pick<ProxyParts, 'prefix' | 'responseMetadata'>;

const nothing: readonly MetadataField[] = [];

/** Field objects that repeat, so that the wire's encoder knows them again. Bounded by backends, stop reasons and attempts. */
const known = new Map<string, Map<string, MetadataField>>();

function constant(name: string, value: string): MetadataField {
  let byValue = known.get(name);
  if (byValue === undefined) {
    byValue = new Map();
    known.set(name, byValue);
  }
  let field = byValue.get(value);
  if (field === undefined) {
    field = { name, value, neverIndexed: false };
    byValue.set(value, field);
  }
  return field;
}

function trailerNotes(parts: NoteParts, notes: AnswerNotes): readonly MetadataField[] {
  if (!parts.responseMetadata) return nothing;
  const { prefix } = parts;
  const fields: MetadataField[] = [];
  if (notes.backend !== null) fields.push(constant(`${prefix}backend`, notes.backend));
  fields.push(constant(`${prefix}retries`, String(notes.retries)));
  if (notes.reason !== null) fields.push(constant(`${prefix}stop-reason`, notes.reason));
  return fields;
}

/** The backend's initial metadata as the client gets it. */
export function initialAnswer(
  parts: NoteParts,
  fields: readonly MetadataField[],
  backend: string | null,
): MetadataField[] {
  const added = parts.responseMetadata && backend !== null ? [constant(`${parts.prefix}backend`, backend)] : nothing;
  return answerHeaders(fields, parts.prefix, added);
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
  readonly notes: AnswerNotes;
}

/** Ends the client's stream. An end that is larger than the client accepts becomes a status, not a reset (design §5). */
export function sendEnd(connection: Http2Connection, stream: Http2Stream, parts: NoteParts, end: CallEnd): void {
  const { trailers, afterHeaders, code, message, notes } = end;
  const make = afterHeaders ? ownTrailers : ownAnswer;
  const ours = trailerNotes(parts, notes);
  const fields = trailers === null ? make(code, spoken(message), ours) : answerTrailers(trailers, parts.prefix, ours);
  if (!connection.sendHeaders(stream, fields, true)) {
    const short = trailerNotes(parts, { ...notes, reason: 'headers_too_large' });
    const detail = "the answer's metadata is larger than the client accepts";
    if (!connection.sendHeaders(stream, make(Status.RESOURCE_EXHAUSTED, spoken(detail), short), true)) {
      connection.reset(stream, ErrorCode.INTERNAL_ERROR);
      return;
    }
  }
  // The client may still be sending: it is told to stop (RFC 9113 8.1; PRX-17).
  if (!stream.receiveClosed) connection.reset(stream, ErrorCode.NO_ERROR);
}

/** Our own words say whose they are: an application's client must be able to tell them from its server's (PRX-29). */
function spoken(detail: string): string {
  return `hedgerow: ${detail}`;
}

/** The answer to a call that was refused before it began. */
export function refusal(parts: NoteParts, code: StatusCode, detail: string, reason: StopReason): MetadataField[] {
  return ownAnswer(code, spoken(detail), trailerNotes(parts, { backend: null, retries: 0, reason }));
}
