/** The canonical gRPC status codes (google/rpc/code.proto). */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** A grpc-status as a number. Backends may send numbers outside 0..16; they pass, and match no list (SM-14). */
export type StatusCode = number;

const names: ReadonlyMap<number, string> = new Map(Object.entries(Status).map(([name, code]) => [code, name]));

/** The canonical name, or the number itself in words for a code outside the set: `14` → `UNAVAILABLE`, `300` → `300`. */
export function statusName(code: StatusCode): string {
  return names.get(code) ?? String(code);
}
