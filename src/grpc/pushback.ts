import type { Pushback } from './attempt-facts.js';
import { parseInt32 } from './int32.js';
import type { MetadataField } from './metadata.js';
import { millis } from './millis.js';

export const pushbackName = 'grpc-retry-pushback-ms';

export const noPushback: Pushback = { kind: 'none' };
export const neverAgain: Pushback = { kind: 'never' };

/** What one value says: a number of milliseconds, or never (A6, Pushback; DIS-12). */
export function parsePushback(value: string): Pushback {
  const ms = parseInt32(value);
  return ms < 0 ? neverAgain : { kind: 'after', ms: millis(ms) };
}

/** What trailing metadata says of a further attempt. More than one value means never, equal ones too (PB-08). */
export function readPushback(fields: readonly MetadataField[]): Pushback {
  let found = noPushback;
  for (const { name, value } of fields) {
    if (name !== pushbackName) continue;
    if (found !== noPushback) return neverAgain;
    found = parsePushback(value);
  }
  return found;
}
