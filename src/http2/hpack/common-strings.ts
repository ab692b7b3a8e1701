import { staticFields } from './static-table.js';

/**
 * Names and values that gRPC peers send, by themselves: a decoder hands out these very strings, so that a comparison with
 * the same word elsewhere in the program ends at the pointer.
 */
export const commonStrings: ReadonlyMap<string, string> = new Map(
  [
    ...staticFields.flatMap(({ name, value }) => [name, value]),
    'te',
    'grpc-status',
    'grpc-message',
    'grpc-timeout',
    'grpc-encoding',
    'grpc-accept-encoding',
    'grpc-status-details-bin',
    'grpc-previous-rpc-attempts',
    'grpc-retry-pushback-ms',
    'grpc-trace-bin',
    'grpc-tags-bin',
    'traceparent',
    'tracestate',
    'x-request-id',
    'x-forwarded-for',
    'trailers',
    'application/grpc',
    'application/grpc+proto',
    'identity',
    'gzip',
    'identity, deflate, gzip',
    'identity,deflate,gzip',
    '0',
    '1',
  ].map((text) => [text, text] as const),
);
