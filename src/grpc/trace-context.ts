import type { MetadataField } from './metadata.js';
import { readTraceState } from './trace-state.js';

/*
 * Trace context in a request's metadata: `traceparent` and `tracestate` (W3C Trace Context, level 2), and `grpc-trace-bin`
 * (A72, GrpcTraceBinPropagator: OpenCensus' binary format).
 */

export const traceparentName = 'traceparent';
export const traceStateName = 'tracestate';
export const traceBinName = 'grpc-trace-bin';

/** The bits of `flags` that are known: sampled, and that the trace id is random (W3C 3.2.2.5). */
export const sampledFlag = 0x01;
export const randomFlag = 0x02;

/** A span, as another process names it. */
export interface TraceContext {
  /** 32 digits of lower-case hex, not all 0. */
  readonly traceId: string;
  /** 16 digits of lower-case hex, not all 0. */
  readonly spanId: string;
  /** Known bits alone. */
  readonly flags: number;
}

/** What a request says of the trace that it is part of. */
export interface IncomingTrace {
  /** Null: it says nothing, or nothing usable. */
  readonly parent: TraceContext | null;
  /** `tracestate`, bounded; empty: none, or none that belongs to `parent`. */
  readonly state: string;
  /** The first line of each form that the client used, usable or not; null: it did not. */
  readonly traceparent: MetadataField | null;
  readonly binary: MetadataField | null;
}

const nothing: IncomingTrace = { parent: null, state: '', traceparent: null, binary: null };

const traceparentLine = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const zeros = /^0+$/;

/** Reads one traceparent; null where it is malformed (W3C 3.2). A version that is not known is read as far as version 00 goes. */
export function parseTraceparent(text: string): TraceContext | null {
  const match = traceparentLine.exec(text);
  if (match === null) return null;
  const [, version = '', traceId = '', spanId = '', flags = ''] = match;
  if (version === 'ff' || (version === '00' && text.length !== 55)) return null;
  return contextOf(traceId, spanId, Number.parseInt(flags, 16));
}

/** As version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
}

/** Base64 of 29 bytes, padded or not. */
const base64Text = /^[A-Za-z0-9+/]+={0,2}$/;
/** Version, then each field's number before it: 16 bytes of trace id, 8 of span id, 1 of options. */
const binaryLength = 29;
/** The options may be missing. */
const leastBinaryLength = 27;
/** Of base64: what follows the fields that are known is skipped, but nobody sends much of it. */
const longestBinary = 256;

/** Reads one grpc-trace-bin (base64); null where it is malformed. */
export function parseTraceBin(base64: string): TraceContext | null {
  if (base64.length > longestBinary || !base64Text.test(base64)) return null;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < leastBinaryLength || bytes[0] !== 0 || bytes[1] !== 0 || bytes[18] !== 1) return null;
  const options = bytes[27] === 2 ? (bytes[28] ?? 0) : 0;
  return contextOf(bytes.toString('hex', 2, 18), bytes.toString('hex', 19, 27), options & sampledFlag);
}

/** Without padding, as gRPC sends `-bin` values. */
export function formatTraceBin({ traceId, spanId, flags }: TraceContext): string {
  const bytes = Buffer.alloc(binaryLength);
  bytes.write(traceId, 2, 'hex');
  bytes[18] = 1;
  bytes.write(spanId, 19, 'hex');
  bytes[27] = 2;
  bytes[28] = flags & sampledFlag;
  return bytes.toString('base64').replace(/=+$/, '');
}

function contextOf(traceId: string, spanId: string, flags: number): TraceContext | null {
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  return { traceId, spanId, flags: flags & (sampledFlag | randomFlag) };
}

/**
 * What a request's fields say. traceparent goes before grpc-trace-bin; one that is malformed or comes twice counts as none.
 * tracestate belongs to traceparent alone (W3C 3.3).
 */
export function readTrace(fields: readonly MetadataField[]): IncomingTrace {
  let traceparent: MetadataField | null = null;
  let binary: MetadataField | null = null;
  let parents = 0;
  let binaries = 0;
  let states: string | null = null;
  for (const line of fields) {
    switch (line.name) {
      case traceparentName:
        traceparent ??= line;
        parents += 1;
        break;
      case traceBinName:
        binary ??= line;
        binaries += 1;
        break;
      case traceStateName:
        states = states === null ? line.value : `${states},${line.value}`;
        break;
    }
  }
  if (traceparent === null && binary === null) return nothing;
  const parent = traceparent !== null && parents === 1 ? parseTraceparent(traceparent.value) : null;
  if (parent !== null) return { parent, state: states === null ? '' : readTraceState(states), traceparent, binary };
  const other = binary !== null && binaries === 1 ? parseTraceBin(binary.value) : null;
  return { parent: other, state: '', traceparent, binary };
}

/**
 * Puts a span's context into a request's fields, in each form that the client used, as traceparent where it used none. The
 * client's own trace keys go.
 *
 * @param fields changed in place
 */
export function putTrace(fields: MetadataField[], context: TraceContext, client: IncomingTrace): void {
  let kept = 0;
  for (const line of fields) {
    if (isTraceKey(line.name)) continue;
    fields[kept] = line;
    kept += 1;
  }
  fields.length = kept;
  const { traceparent, binary, state } = client;
  // What came never-indexed leaves never-indexed (contract, Metadata).
  if (traceparent !== null || binary === null) {
    const neverIndexed = traceparent?.neverIndexed ?? false;
    fields.push({ name: traceparentName, value: formatTraceparent(context), neverIndexed });
    if (state !== '') fields.push({ name: traceStateName, value: state, neverIndexed });
  }
  if (binary !== null)
    fields.push({ name: traceBinName, value: formatTraceBin(context), neverIndexed: binary.neverIndexed });
}

function isTraceKey(name: string): boolean {
  return name === traceparentName || name === traceStateName || name === traceBinName;
}
