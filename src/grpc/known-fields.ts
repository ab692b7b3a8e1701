import type { MetadataField } from './metadata.js';
import type { StatusCode } from './status.js';

/*
 * Fields that repeat from call to call, each one object for good: the wire's encoder knows an object again faster than its
 * text.
 */

export const methodPost: MetadataField = field(':method', 'POST');
export const schemeHttp: MetadataField = field(':scheme', 'http');
export const schemeHttps: MetadataField = field(':scheme', 'https');
export const teTrailers: MetadataField = field('te', 'trailers');
export const httpOk: MetadataField = field(':status', '200');
export const contentTypeGrpc: MetadataField = field('content-type', 'application/grpc');

/** Tells a client's library not to repeat a call (A6, Pushback). */
export const stopPushback: MetadataField = field('grpc-retry-pushback-ms', '-1');

const statuses: readonly MetadataField[] = Array.from({ length: 17 }, (_, code) => field('grpc-status', String(code)));

export function field(name: string, value: string): MetadataField {
  return { name, value, neverIndexed: false };
}

/** The `grpc-status` line of a code. */
export function statusField(code: StatusCode): MetadataField {
  return statuses[code] ?? field('grpc-status', String(code));
}
