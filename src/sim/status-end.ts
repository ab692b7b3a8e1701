import { judgeHeaders, judgeTrailers } from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { MetadataField } from '../grpc/metadata.js';
import { pushbackName } from '../grpc/pushback.js';
import type { StatusCode } from '../grpc/status.js';

/**
 * A backend's own end, judged by the table that judges the wire.
 *
 * @param pushbacks lines of grpc-retry-pushback-ms as they stand in its trailers; more than one means never (PB-08)
 * @param trailersOnly no response headers came before it
 */
export function statusEnd(code: StatusCode, pushbacks: readonly string[], trailersOnly: boolean): AttemptEnd {
  const fields = [line('grpc-status', String(code)), ...pushbacks.map((value) => line(pushbackName, value))];
  if (!trailersOnly) return judgeTrailers(fields);
  const verdict = judgeHeaders([line(':status', '200'), line('content-type', 'application/grpc'), ...fields], true);
  return verdict.kind === 'end' ? verdict.end : judgeTrailers(fields);
}

function line(name: string, value: string): MetadataField {
  return { name, value, neverIndexed: false };
}
