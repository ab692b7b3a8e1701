import type { Pushback } from './attempt-facts.js';
import { maxInt32 } from './int32.js';
import type { MetadataField } from './metadata.js';
import { type Millis, millis } from './millis.js';

/*
 * When a peer says that it would take more: what tells a quota from RESOURCE_EXHAUSTED for another reason (D21). Whatever it
 * sends, nothing here throws, and delays saturate at 2^31 - 1 ms.
 */

/** Longer details are no hint: what they hold is the client's. */
const maxDetails = 16 * 1024;

const retryInfo = '/google.rpc.RetryInfo';

/**
 * The delay that trailing metadata asks for: by its pushback, else by a RetryInfo, else by `retry-after`.
 *
 * @returns null: asked for, and not said as a number; undefined: nothing asks
 */
export function readHoldOff(fields: readonly MetadataField[], pushback: Pushback): Millis | null | undefined {
  if (pushback.kind === 'after') return pushback.ms;
  let retryAfter: Millis | null | undefined;
  for (const { name, value } of fields) {
    if (name === 'grpc-status-details-bin') {
      const delay = readRetryInfo(value);
      if (delay !== undefined) return delay;
    } else if (name === 'retry-after') retryAfter ??= readRetryAfter(value);
  }
  return retryAfter;
}

/** RFC 9110 10.2.3: seconds; null for a date, which only a wall clock could tell, and for anything else. */
export function readRetryAfter(value: string): Millis | null {
  return /^\d{1,300}$/.test(value) ? atMostInt32(Number(value) * 1000) : null;
}

/** The delay of the first google.rpc.RetryInfo in a base64 google.rpc.Status; undefined where there is none to be read. */
export function readRetryInfo(base64: string): Millis | undefined {
  if (base64.length > maxDetails) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  let found: Millis | undefined;
  // Status: 3 details. Any: 1 type_url, 2 value. RetryInfo: 1 retry_delay. Duration: 1 seconds, 2 nanos.
  const whole = readFields(bytes, (field, detail) => {
    if (field !== 3 || typeof detail === 'number' || found !== undefined) return;
    let type = '';
    let info: Uint8Array | null = null;
    const sound = readFields(detail, (key, value) => {
      if (typeof value === 'number') return;
      if (key === 1) type = Buffer.from(value).toString('latin1');
      else if (key === 2) info = value;
    });
    if (sound && type.endsWith(retryInfo)) found = readDelay(info ?? new Uint8Array());
  });
  return whole ? found : undefined;
}

function readDelay(info: Uint8Array): Millis | undefined {
  let seconds = 0;
  let nanos = 0;
  let sound = true;
  const whole = readFields(info, (field, duration) => {
    if (field !== 1 || typeof duration === 'number') return;
    sound = readFields(duration, (key, value) => {
      if (typeof value !== 'number') return;
      if (key === 1) seconds = value;
      else if (key === 2) nanos = value;
    });
  });
  if (!whole || !sound) return undefined;
  // Negative ones are no delay: as varints they are two's complement of 64 bits.
  return seconds >= 2 ** 63 || nanos >= 2 ** 63 ? millis(0) : atMostInt32(seconds * 1000 + nanos / 1e6);
}

function atMostInt32(ms: number): Millis {
  return millis(Math.min(maxInt32, ms));
}

/**
 * Reads a protobuf message field by field: varints as numbers, delimited ones as bytes. False where it is broken, which may be
 * found out behind what was visited.
 */
function readFields(bytes: Uint8Array, visit: (field: number, value: number | Uint8Array) => void): boolean {
  const { length } = bytes;
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 10; shift += 1) {
      const byte = bytes[at];
      if (byte === undefined) return -1;
      at += 1;
      value += (byte & 0x7f) * 2 ** (7 * shift);
      if (byte < 0x80) return value;
    }
    return -1;
  };
  while (at < length) {
    const key = readVarint();
    const field = Math.floor(key / 8);
    if (field < 1) return false;
    switch (key % 8) {
      case 0: {
        const value = readVarint();
        if (value < 0) return false;
        visit(field, value);
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const size = readVarint();
        if (size < 0) return false;
        visit(field, bytes.subarray(at, at + size));
        at += size;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return false;
    }
  }
  return at === length;
}
