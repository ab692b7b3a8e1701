import type { AttemptEnd, EndedBy, Pushback, Reach, WireSign } from './attempt-facts.js';
import { isGrpcContentType } from './content-type.js';
import { statusOfHttp } from './http-status.js';
import { contentTypeGrpc, field, httpOk, statusField } from './known-fields.js';
import type { MetadataField } from './metadata.js';
import { encodeMessage } from './percent.js';
import { neverAgain, noPushback, parsePushback, pushbackName, readPushback } from './pushback.js';
import { cancelled, refusedStream, resetCodeName, statusOfReset } from './reset-code.js';
import { readHoldOff, readRetryAfter } from './retry-hint.js';
import { Status, type StatusCode } from './status.js';

/*
 * The one table from wire facts to what an attempt's end means (gRPC PROTOCOL-HTTP2; A6; PRX-18, PRX-19). Everything that
 * can end an attempt is judged here and nowhere else.
 */

/** What a response's first header block is. */
export type HeadersVerdict =
  /** Real response headers: they commit the call (A6, Commit). */
  | { readonly kind: 'initial' }
  | {
      readonly kind: 'end';
      readonly end: AttemptEnd;
      /** The backend's own end, to pass on as Trailers-Only; null where it gave no grpc-status and the answer is ours to make. */
      readonly trailers: readonly MetadataField[] | null;
    };

/** How a stream ended other than by END_STREAM from both sides; the shape of http2's StreamEnd, which this layer does not know. */
export type WireEnd =
  | { readonly kind: 'reset'; readonly code: number }
  | { readonly kind: 'goaway'; readonly code: number }
  | { readonly kind: 'streamError'; readonly code: number; readonly detail: string }
  | { readonly kind: 'headersTooLarge' }
  | { readonly kind: 'lost'; readonly flushed: boolean; readonly detail: string };

const initial: HeadersVerdict = { kind: 'initial' };

const stated: WireSign = { kind: 'stated' };
const unstated: WireSign = { kind: 'unstated' };
const declined: WireSign = { kind: 'declined' };
const goneAway: WireSign = { kind: 'goaway' };
const reset: WireSign = { kind: 'reset' };
const broken: WireSign = { kind: 'broken' };
const lost: WireSign = { kind: 'lost' };
const outlived: WireSign = { kind: 'outlived' };
const own: WireSign = { kind: 'own' };

/** The commonest end, made once. */
const ok: AttemptEnd = {
  code: Status.OK,
  message: '',
  reach: 'processed',
  pushback: noPushback,
  by: 'backend',
  sign: stated,
};

const maxShown = 64;

/**
 * Judges a response's first header block that is not 1xx (SM-38: those never come here).
 *
 * | HTTP status and content-type | END_STREAM | grpc-status | verdict |
 * |---|---|---|---|
 * | 200, gRPC's | no | any | initial |
 * | 200, gRPC's or none | yes | a number | that code: Trailers-Only, OK too (SM-14, SM-15) |
 * | any | yes | not a number, or more than one | UNKNOWN (SM-39), the backend's fields pass |
 * | any | yes | absent | from the HTTP status (SM-09: 200 is UNKNOWN; SM-10) |
 * | other than 200, or not gRPC's | no | not OK | that code: "if grpc-status was provided, it must be used" |
 * | other than 200, or not gRPC's | no | absent or OK | from the HTTP status (SM-11): what follows is no message |
 */
export function judgeHeaders(fields: readonly MetadataField[], endStream: boolean): HeadersVerdict {
  let httpStatus = '';
  let contentType: string | null = null;
  for (const { name, value } of fields) {
    if (name === ':status') httpStatus = value;
    else if (name === 'content-type') contentType ??= value;
  }
  const good = httpStatus === '200' && (contentType === null ? endStream : isGrpcContentType(contentType));
  if (good && !endStream) return initial;

  const end = readEnd(fields);
  if (end !== null && (endStream || end.code !== Status.OK))
    return { kind: 'end', end, trailers: good ? fields : asTrailersOnly(fields) };
  return {
    kind: 'end',
    end: ended(
      statusOfHttp(Number(httpStatus)),
      `the backend answered HTTP ${httpStatus} with ${contentType === null ? 'no content-type' : `content-type ${shown(contentType)}`}` +
        (end === null ? ' and no grpc-status' : ''),
      'processed',
      'backend',
      httpSign(httpStatus, fields),
      readPushback(fields),
    ),
    trailers: null,
  };
}

/**
 * Judges the trailers after response headers. Without a grpc-status UNKNOWN, as gRPC's http-grpc-status-mapping has it:
 * "200 is UNKNOWN because there should be a grpc-status".
 */
export function judgeTrailers(fields: readonly MetadataField[]): AttemptEnd {
  return (
    readEnd(fields) ??
    ended(
      Status.UNKNOWN,
      'the backend ended with trailers that have no grpc-status',
      'processed',
      'backend',
      unstated,
      readPushback(fields),
    )
  );
}

/**
 * An end as the client gets it: where the backend gave no grpc-status, one that is no number, or two that differ, the one that
 * was judged stands in their place, since such an answer reads differently in every client library (SM-09, SM-39).
 */
export function statedTrailers(fields: readonly MetadataField[], end: AttemptEnd): readonly MetadataField[] {
  // OK is never judged, always read.
  if (end.code === Status.OK) return fields;
  const stated = fields.filter(({ name }) => name === 'grpc-status');
  if (stated.length > 0 && stated.every(({ value }) => parseStatus(value) === end.code)) return fields;
  const list: MetadataField[] = fields.filter(({ name }) => name.startsWith(':'));
  list.push(statusField(end.code), field('grpc-message', end.message));
  for (const line of fields) {
    const { name } = line;
    if (name !== 'grpc-status' && name !== 'grpc-message' && !name.startsWith(':')) list.push(line);
  }
  return list;
}

/** END_STREAM came with DATA: an answer without trailers (PRX-18). */
export function judgeMissingTrailers(): AttemptEnd {
  return ended(Status.INTERNAL, 'the backend ended its answer without trailers', 'processed', 'backend', unstated);
}

/**
 * Judges a stream that was reset, refused or lost (PRX-18, CON-05, CON-14).
 *
 * @param answered response headers have come: whatever the peer says now, it has processed the call
 * @param superseded the connection was not its backend's newest, or served no more: its loss says nothing of the backend
 */
export function judgeStreamEnd(end: WireEnd, answered = false, superseded = false): AttemptEnd {
  const verdict = judgeWireEnd(end, superseded ? outlived : lost);
  return answered ? { ...verdict, reach: 'processed' } : verdict;
}

function judgeWireEnd(end: WireEnd, loss: WireSign): AttemptEnd {
  switch (end.kind) {
    case 'reset': {
      const detail = `the backend reset the stream with ${resetCodeName(end.code)}`;
      const sign = end.code === refusedStream || end.code === cancelled ? declined : reset;
      const reach = end.code === refusedStream ? 'refused' : 'processed';
      return ended(statusOfReset(end.code), detail, reach, 'backend', sign);
    }
    case 'goaway': {
      // Above the last id nothing was processed, whatever the code (RFC 9113 6.8; DIS-25).
      const detail = `the backend's connection is going away (${resetCodeName(end.code)}) and did not take the stream`;
      return ended(Status.UNAVAILABLE, detail, 'refused', 'backend', goneAway);
    }
    case 'streamError': {
      const detail = `the backend broke HTTP/2 on the stream, which was reset with ${resetCodeName(end.code)}: ${end.detail}`;
      return ended(Status.INTERNAL, detail, 'processed', 'backend', broken);
    }
    case 'headersTooLarge':
      return ended(
        Status.RESOURCE_EXHAUSTED,
        "the backend's metadata is larger than --max-header-list-size",
        'processed',
        'proxy',
        own,
      );
    case 'lost': {
      const detail = `the connection to the backend was lost: ${end.detail}`;
      return ended(Status.UNAVAILABLE, detail, end.flushed ? 'processed' : 'unsent', 'loss', loss);
    }
    default:
      return end satisfies never;
  }
}

/** No backend could be picked or connected (A6, Transparent retries; D12): an ordinary failure, the policy decides. */
export function unplacedEnd(detail: string): AttemptEnd {
  return ended(Status.UNAVAILABLE, detail, 'unplaced', 'proxy', own);
}

/** D35: its backend was removed or drained, and the time that calls had there is over. */
export function overdueEnd(backend: string): AttemptEnd {
  const detail = `backend ${backend} is leaving, and the call did not end within --drain-timeout`;
  return { ...unplacedEnd(detail), reach: 'dropped', reason: 'drain_timeout' };
}

/** 429 with a `retry-after` asks for patience; without one it is as much an outage as 503 (D21). */
function httpSign(httpStatus: string, fields: readonly MetadataField[]): WireSign {
  const retryAfter = httpStatus === '429' ? fields.find(({ name }) => name === 'retry-after') : undefined;
  return retryAfter === undefined ? unstated : { kind: 'limited', ms: readRetryAfter(retryAfter.value) };
}

/** What a backend's trailing metadata says, or null where it has no grpc-status. One pass. */
function readEnd(fields: readonly MetadataField[]): AttemptEnd | null {
  let status: string | null = null;
  let statusTwice = false;
  let message = '';
  let pushback = noPushback;
  for (const { name, value } of fields) {
    switch (name.length) {
      case 11:
        if (name !== 'grpc-status') break;
        if (status !== null && status !== value) statusTwice = true;
        status = value;
        break;
      case 12:
        if (name === 'grpc-message') message = value;
        break;
      case 22:
        if (name === pushbackName) pushback = pushback === noPushback ? parsePushback(value) : neverAgain;
        break;
    }
  }
  if (status === null) return null;
  if (status === '0' && !statusTwice && message === '' && pushback === noPushback) return ok;
  const code = statusTwice ? -1 : parseStatus(status);
  if (code < 0) {
    const detail = statusTwice
      ? 'the backend sent more than one grpc-status'
      : `the backend sent grpc-status ${shown(status)}, which is not a number`;
    return ended(Status.UNKNOWN, detail, 'processed', 'backend', unstated, pushback);
  }
  const holdOff = code === Status.RESOURCE_EXHAUSTED ? readHoldOff(fields, pushback) : undefined;
  const sign: WireSign = holdOff === undefined ? stated : { kind: 'limited', ms: holdOff };
  return { code, message, reach: 'processed', pushback, by: 'backend', sign };
}

/** A grpc-status is decimal digits; any number passes (SM-14). -1 where it is none. */
function parseStatus(value: string): StatusCode {
  const { length } = value;
  if (length === 0 || length > 10) return -1;
  let code = 0;
  for (let i = 0; i < length; i += 1) {
    const digit = value.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    code = code * 10 + digit;
  }
  return code;
}

/**
 * A backend's end on top of an HTTP error, as a client can read it: HTTP 200 and gRPC's content-type (PRX-19), without a
 * content-length that counts a body nobody sends on (RFC 9113 8.1.1).
 */
function asTrailersOnly(fields: readonly MetadataField[]): readonly MetadataField[] {
  const list: MetadataField[] = [httpOk, contentTypeGrpc];
  for (const line of fields) {
    const { name } = line;
    if (name !== ':status' && name !== 'content-type' && name !== 'content-length') list.push(line);
  }
  return list;
}

/** An end in our own words. */
function ended(
  code: StatusCode,
  detail: string,
  reach: Reach,
  by: EndedBy,
  sign: WireSign,
  pushback: Pushback = noPushback,
): AttemptEnd {
  return { code, message: encodeMessage(detail), reach, pushback, by, sign };
}

/** A backend's text in a message: quoted, escaped, cut. */
function shown(text: string): string {
  return JSON.stringify(text.length > maxShown ? `${text.slice(0, maxShown)}...` : text);
}
