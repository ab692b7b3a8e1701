import { parseInt32 } from './int32.js';
import type { MetadataField } from './metadata.js';

export const previousAttemptsName = 'grpc-previous-rpc-attempts';

/** The attempts that a request's sender says it has made before this one; 0 where it says nothing or nothing usable (D28, MD-08). */
export function readPreviousAttempts(fields: readonly MetadataField[]): number {
  let found: string | null = null;
  for (const { name, value } of fields) {
    if (name !== previousAttemptsName) continue;
    if (found !== null) return 0;
    found = value;
  }
  return found === null ? 0 : Math.max(0, parseInt32(found));
}
