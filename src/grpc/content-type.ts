const grpc = 'application/grpc';
const plus = 0x2b;
const semicolon = 0x3b;

/**
 * Whether a content-type is gRPC's: `application/grpc` in any case, alone or followed by `+` or `;`. grpc-web is another
 * protocol.
 */
export function isGrpcContentType(value: string): boolean {
  if (value === grpc) return true;
  if (value.length > grpc.length) {
    const next = value.charCodeAt(grpc.length);
    if (next !== plus && next !== semicolon) return false;
  }
  return value.startsWith(grpc) || value.slice(0, grpc.length).toLowerCase() === grpc;
}
