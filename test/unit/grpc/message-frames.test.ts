import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMessageScanner } from '../../../src/grpc/message-frames.js';

/** A message of `size` zero bytes behind its prefix. */
function message(size: number, flag = 0): Buffer {
  const bytes = Buffer.alloc(5 + size);
  bytes.writeUInt8(flag, 0);
  bytes.writeUInt32BE(size, 1);
  return bytes;
}

describe('a message scanner', () => {
  it('counts messages, compressed ones and empty ones too', () => {
    const scanner = createMessageScanner();
    const bytes = Buffer.concat([message(3), message(0), message(7, 1)]);
    scanner.scan(bytes, 0, bytes.length);
    expect([scanner.messages, scanner.largest, scanner.midMessage]).toEqual([3, 7, false]);
  });

  it('is in the middle of a message from its first byte to its last', () => {
    const scanner = createMessageScanner();
    const bytes = message(2);
    const middle: boolean[] = [scanner.midMessage];
    for (let i = 0; i < bytes.length; i += 1) {
      scanner.scan(bytes, i, i + 1);
      middle.push(scanner.midMessage);
    }
    expect(middle).toEqual([false, true, true, true, true, true, true, false]);
    expect(scanner.messages).toBe(1);
  });

  it('knows a length as soon as the prefix is there, up to 2^32 - 1', () => {
    const scanner = createMessageScanner();
    const prefix = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
    scanner.scan(prefix, 0, 4);
    expect(scanner.largest).toBe(0);
    scanner.scan(prefix, 4, 5);
    expect([scanner.largest, scanner.messages, scanner.midMessage]).toEqual([4_294_967_295, 0, true]);
  });

  it('looks only at [start, end) and not into bodies', () => {
    const scanner = createMessageScanner();
    const bytes = Buffer.concat([Buffer.alloc(4, 0xff), message(8).fill(0xff, 5), Buffer.alloc(4, 0xff)]);
    scanner.scan(bytes, 4, bytes.length - 4);
    expect([scanner.messages, scanner.largest, scanner.midMessage]).toEqual([1, 8, false]);
    scanner.scan(bytes, 9, 9);
    expect(scanner.midMessage).toBe(false);
  });

  it('any cut of any messages: the same count, greatest length and end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 250, max: 700 })), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
        fc.nat(30),
        (sizes, cuts, missing) => {
          const whole = Buffer.concat(sizes.map((size) => message(size)));
          const end = Math.max(0, whole.length - missing);
          const scanner = createMessageScanner();
          let at = 0;
          for (let i = 0; at < end; i += 1) {
            const next = Math.min(end, at + (cuts[i % cuts.length] ?? 1));
            scanner.scan(whole, at, next);
            at = next;
          }
          let offset = 0;
          let messages = 0;
          let largest = 0;
          for (const size of sizes) {
            if (offset + 5 <= end) largest = Math.max(largest, size);
            offset += 5 + size;
            if (offset <= end) messages += 1;
          }
          const boundaries = new Set([0]);
          sizes.reduce((sum, size) => {
            boundaries.add(sum + 5 + size);
            return sum + 5 + size;
          }, 0);
          expect(scanner.messages).toBe(messages);
          expect(scanner.largest).toBe(largest);
          expect(scanner.midMessage).toBe(!boundaries.has(end));
        },
      ),
    );
  });
});
