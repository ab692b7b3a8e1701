import { isGrpcContentType } from './content-type.js';
import { type Directives, noDirectives, readDirectives } from './directives.js';
import { field } from './known-fields.js';
import type { MetadataField } from './metadata.js';
import type { Millis } from './millis.js';
import { previousAttemptsName, readPreviousAttempts } from './previous-attempts.js';
import { Status, type StatusCode } from './status.js';
import type { StopReason } from './stop-reason.js';
import { parseTimeout } from './timeout.js';

/** A request that starts a call, taken apart once for all its attempts. */
export interface IncomingCall {
  /** `/package.Service/Method`, as it came. */
  readonly path: string;
  /** The client's `:authority`, or its `host` where it has none; empty where it has neither. */
  readonly authority: string;
  /** From grpc-timeout, more than 0; null where the client set no deadline. */
  readonly timeout: Millis | null;
  /** From grpc-previous-rpc-attempts; 0 where absent or not usable (D28). */
  readonly previous: number;
  /** What the prefix's keys ask for; `noDirectives` itself where they ask for nothing or are switched off. */
  readonly directives: Directives;
  /**
   * What goes to a backend as it came, in order: without pseudo-header fields, te, host, connection-specific fields,
   * grpc-timeout, grpc-previous-rpc-attempts and the prefix's keys.
   */
  readonly fields: readonly MetadataField[];
  /** The `:path` line as it came. */
  readonly pathField: MetadataField;
  /** The `:authority` line as it came; null where `authority` comes from elsewhere. */
  readonly authorityField: MetadataField | null;
  /** The grpc-previous-rpc-attempts lines as they came, for calls that no policy governs (PRX-01). */
  readonly previousFields: readonly MetadataField[];
}

/** What a request is. */
export type RequestVerdict =
  | { readonly kind: 'call'; readonly call: IncomingCall }
  /** Not gRPC: an HTTP answer. `headers` is whole, `:status` first. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly headers: readonly MetadataField[];
      readonly body: string;
    }
  /** gRPC, but it ends here: a Trailers-Only answer, no backend contacted. */
  | { readonly kind: 'status'; readonly code: StatusCode; readonly detail: string; readonly reason: StopReason };

const nothing: readonly MetadataField[] = [];
const textPlain = field('content-type', 'text/plain; charset=utf-8');

const methodNotAllowed: RequestVerdict = {
  kind: 'http',
  status: 405,
  headers: [field(':status', '405'), field('allow', 'POST'), textPlain],
  body: 'This is a gRPC proxy: the method must be POST.\n',
};

const unsupportedHeaders: readonly MetadataField[] = [field(':status', '415'), textPlain];

const timeIsUp: RequestVerdict = {
  kind: 'status',
  code: Status.DEADLINE_EXCEEDED,
  detail: 'the deadline was over when the call arrived (grpc-timeout is 0)',
  reason: 'deadline_exceeded',
};

/**
 * Reads a request's header list: a call, or the answer to what is none (contract, Accepted). Looks at each field once.
 *
 * Where several things are wrong the one told is, in this order: the method, the content-type, a malformed path or
 * grpc-timeout, a directive, a deadline that is over.
 *
 * @param fields well formed by RFC 9113 8.3: pseudo-header fields first, none twice, names in lower case
 * @param prefix of our own keys, with its dash
 * @param directivesOn false: the prefix's keys are removed and have no effect (contract, --directives)
 */
export function readRequest(fields: readonly MetadataField[], prefix: string, directivesOn: boolean): RequestVerdict {
  let method = '';
  let pathField: MetadataField | null = null;
  let authorityField: MetadataField | null = null;
  let host = '';
  let contentType: string | null = null;
  let grpc = false;
  let timeoutValue: string | null = null;
  let timeoutTwice = false;
  let previousFields: MetadataField[] | null = null;
  // Made where there is one: nearly no call has any.
  let prefixed: MetadataField[] | null = null;
  const kept: MetadataField[] = [];
  const firstOfPrefix = prefix.charCodeAt(0);

  for (const line of fields) {
    const { name } = line;
    // By length first: nearly every name is past at once.
    switch (name.length) {
      case 2:
        if (name === 'te') continue;
        break;
      case 4:
        if (name === 'host') {
          host = line.value;
          continue;
        }
        break;
      case 5:
        if (name === ':path') {
          pathField = line;
          continue;
        }
        break;
      case 7:
        if (name === ':method') {
          method = line.value;
          continue;
        }
        if (name === ':scheme' || name === 'upgrade') continue;
        break;
      case 10:
        if (name === ':authority') {
          authorityField = line;
          continue;
        }
        if (name === 'connection' || name === 'keep-alive') continue;
        break;
      case 12:
        if (name === 'content-type') {
          // Repeated, each of them has to be gRPC's.
          grpc = (contentType === null || grpc) && isGrpcContentType(line.value);
          contentType = line.value;
        } else if (name === 'grpc-timeout') {
          if (timeoutValue !== null) timeoutTwice = true;
          timeoutValue = line.value;
          continue;
        }
        break;
      case 16:
        if (name === 'proxy-connection') continue;
        break;
      case 17:
        if (name === 'transfer-encoding') continue;
        break;
      case 26:
        if (name === previousAttemptsName) {
          previousFields ??= [];
          previousFields.push(line);
          continue;
        }
        break;
    }
    if (name.charCodeAt(0) === firstOfPrefix && name.startsWith(prefix)) {
      if (directivesOn) {
        prefixed ??= [];
        prefixed.push(line);
      }
      continue;
    }
    kept.push(line);
  }

  if (method !== 'POST') return methodNotAllowed;
  if (!grpc) return unsupported(contentType);
  if (pathField === null || pathField.value.charCodeAt(0) !== 0x2f) {
    return malformed(
      pathField === null ? 'the request has no :path' : `:path is ${shown(pathField.value)}: it must begin with /`,
    );
  }
  let timeout: Millis | null = null;
  if (timeoutValue !== null) {
    if (timeoutTwice) return malformed('the request has more than one grpc-timeout');
    timeout = parseTimeout(timeoutValue);
    if (timeout === null)
      return malformed(`grpc-timeout is ${shown(timeoutValue)}: it must be 1 to 8 digits and one of H, M, S, m, u, n`);
  }
  let directives = noDirectives;
  if (prefixed !== null) {
    const asked = readDirectives(prefixed, prefix);
    if (asked.kind === 'invalid') return invalidDirective(asked.detail);
    directives = asked.directives;
  }
  if (timeout === 0) return timeIsUp;
  return {
    kind: 'call',
    call: {
      path: pathField.value,
      authority: authorityField === null ? host : authorityField.value,
      timeout,
      previous: previousFields === null ? 0 : readPreviousAttempts(previousFields),
      directives,
      // A list that was pushed into has room for 17 (grpc/append.ts), and the call keeps it.
      fields: kept.slice(),
      pathField,
      authorityField,
      previousFields: previousFields ?? nothing,
    },
  };
}

function unsupported(contentType: string | null): RequestVerdict {
  const found = contentType === null ? 'there is none' : `it is ${shown(contentType)}`;
  return {
    kind: 'http',
    status: 415,
    headers: unsupportedHeaders,
    body: `This is a gRPC proxy: the content-type must be application/grpc, and ${found}.\n`,
  };
}

function malformed(detail: string): RequestVerdict {
  return { kind: 'status', code: Status.INTERNAL, detail, reason: 'malformed_request' };
}

function invalidDirective(detail: string): RequestVerdict {
  return { kind: 'status', code: Status.INVALID_ARGUMENT, detail, reason: 'invalid_directive' };
}

/** A client's text in an answer: quoted, escaped, cut. */
function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
