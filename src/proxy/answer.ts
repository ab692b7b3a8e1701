import type { MetadataField } from '../grpc/metadata.js';
import { answerHeaders, answerTrailers, ownAnswer, ownTrailers } from '../grpc/rewrite.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
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

/** The backend's own end: its trailers, or its Trailers-Only answer, which stays one. */
export function relayedEnd(parts: NoteParts, fields: readonly MetadataField[], notes: AnswerNotes): MetadataField[] {
  return answerTrailers(fields, parts.prefix, trailerNotes(parts, notes));
}

/** Trailers made here, after response headers. */
export function localTrailers(parts: NoteParts, code: StatusCode, detail: string, notes: AnswerNotes): MetadataField[] {
  return ownTrailers(code, detail, trailerNotes(parts, notes));
}

/** A Trailers-Only answer made here (PRX-29). */
export function localAnswer(parts: NoteParts, code: StatusCode, detail: string, notes: AnswerNotes): MetadataField[] {
  return ownAnswer(code, detail, trailerNotes(parts, notes));
}

/** The answer to a call that was refused before it began. */
export function refusal(parts: NoteParts, code: StatusCode, detail: string, reason: StopReason): MetadataField[] {
  return localAnswer(parts, code, detail, { backend: null, retries: 0, reason: code === Status.OK ? null : reason });
}
