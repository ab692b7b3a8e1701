import {
  contentTypeGrpc,
  field,
  httpOk,
  methodPost,
  schemeHttp,
  schemeHttps,
  statusField,
  teTrailers,
} from './known-fields.js';
import type { MetadataField } from './metadata.js';
import type { Millis } from './millis.js';
import { encodeMessage } from './percent.js';
import { previousAttemptsName } from './previous-attempts.js';
import type { IncomingCall } from './request.js';
import type { StatusCode } from './status.js';
import { formatTimeout } from './timeout.js';

/** What differs between the attempts of one call. */
export interface AttemptOptions {
  /** Of the connection to the backend. */
  readonly scheme: 'http' | 'https';
  /** Empty: none is sent (RFC 9113 8.3.1). */
  readonly authority: string;
  /** What is left of the deadline, more than 0; null where there is none. */
  readonly timeout: Millis | null;
  /** Attempts of our own before this one, transparent ones not counted (A6, Metadata). */
  readonly previous: number;
  /** A policy governs the call; else the client's own grpc-previous-rpc-attempts passes as it came (PRX-01). */
  readonly policy: boolean;
}

/** `:authority` lines of the configuration's own: few, but bounded all the same. */
const authorities = new Map<string, MetadataField>();
const maxAuthorities = 1024;

const previousCounts: readonly MetadataField[] = Array.from({ length: 16 }, (_, count) =>
  field(previousAttemptsName, String(count)),
);

/** The request header list of one attempt: a new list, the client's own fields in it untouched (contract, Metadata; PRX-25). */
export function attemptFields(call: IncomingCall, options: AttemptOptions): MetadataField[] {
  const list: MetadataField[] = [methodPost, options.scheme === 'http' ? schemeHttp : schemeHttps, call.pathField];
  const { authority } = options;
  if (authority !== '') {
    const { authorityField } = call;
    list.push(authorityField?.value === authority ? authorityField : authorityLine(authority));
  }
  list.push(teTrailers);
  for (const line of call.fields) list.push(line);
  if (options.timeout !== null) list.push(field('grpc-timeout', formatTimeout(options.timeout)));
  if (options.policy) {
    const previous = call.previous + options.previous;
    if (previous > 0) list.push(previousCounts[previous] ?? field(previousAttemptsName, String(previous)));
  } else {
    for (const line of call.previousFields) list.push(line);
  }
  return list;
}

function authorityLine(authority: string): MetadataField {
  let line = authorities.get(authority);
  if (line === undefined) {
    line = field(':authority', authority);
    if (authorities.size < maxAuthorities) authorities.set(authority, line);
  }
  return line;
}

/**
 * A backend's initial metadata, trailers or Trailers-Only answer as the client gets it: without the prefix's keys, with ours
 * (contract, Metadata).
 */
export function answerFields(
  fields: readonly MetadataField[],
  prefix: string,
  added: readonly MetadataField[],
): MetadataField[] {
  const list: MetadataField[] = [];
  const first = prefix.charCodeAt(0);
  for (const line of fields) {
    if (line.name.charCodeAt(0) === first && line.name.startsWith(prefix)) continue;
    list.push(line);
  }
  for (const line of added) list.push(line);
  return list;
}

/** A Trailers-Only answer made here (PRX-04, PRX-29). `detail` is plain text. */
export function ownAnswer(code: StatusCode, detail: string, added: readonly MetadataField[]): MetadataField[] {
  return endWith([httpOk, contentTypeGrpc], code, detail, added);
}

/** Trailers made here, for a call whose response headers have been passed on. `detail` is plain text. */
export function ownTrailers(code: StatusCode, detail: string, added: readonly MetadataField[]): MetadataField[] {
  return endWith([], code, detail, added);
}

function endWith(
  list: MetadataField[],
  code: StatusCode,
  detail: string,
  added: readonly MetadataField[],
): MetadataField[] {
  list.push(statusField(code));
  if (detail !== '') list.push(field('grpc-message', encodeMessage(detail)));
  for (const line of added) list.push(line);
  return list;
}
