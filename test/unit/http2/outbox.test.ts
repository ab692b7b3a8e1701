import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyLimit, Outbox } from '../../../src/http2/outbox.js';

describe('the outbox', () => {
  it('gives out what was appended, in order, and counts it', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.nat({ max: 300 }), fc.integer({ min: copyLimit - 2, max: copyLimit + 2 }), fc.constant(-1)),
          { maxLength: 60 },
        ),
        (steps) => {
          const outbox = new Outbox();
          const expected: Buffer[] = [];
          const got: Buffer[] = [];
          const kept: { part: Uint8Array; was: string }[] = [];
          let waiting = 0;
          steps.forEach((step, index) => {
            if (step < 0) {
              for (const part of outbox.take()) {
                got.push(Buffer.from(part));
                kept.push({ part, was: Buffer.from(part).toString('hex') });
              }
              waiting = 0;
            } else {
              const chunk = Buffer.alloc(step + 10, index);
              outbox.append(chunk, 5, 5 + step);
              expected.push(chunk.subarray(5, 5 + step));
              waiting += step;
            }
            expect(outbox.bytes).toBe(waiting);
          });
          for (const part of outbox.take()) got.push(Buffer.from(part));
          expect(Buffer.concat(got).equals(Buffer.concat(expected))).toBe(true);
          // What was handed out may still lie in a socket's queue.
          for (const { part, was } of kept) expect(Buffer.from(part).toString('hex')).toBe(was);
        },
      ),
    );
  });

  it('a large payload goes out without a copy', () => {
    const outbox = new Outbox();
    const chunk = Buffer.alloc(copyLimit + 1);
    outbox.append(chunk, 0, chunk.length);
    const [part] = outbox.take();
    expect(part?.buffer).toBe(chunk.buffer);
  });

  it('one block serves many turns', () => {
    const outbox = new Outbox();
    const buffers = new Set<ArrayBufferLike>();
    for (let turn = 0; turn < 200; turn += 1) {
      outbox.append(Buffer.alloc(50), 0, 50);
      for (const part of outbox.take()) buffers.add(part.buffer);
    }
    // 10 000 bytes in blocks of 256 and 512 bytes, 1, 2, 4 and 8 KiB.
    expect(buffers.size).toBeLessThanOrEqual(6);
  });

  it('reserve gives room in one piece, however much', () => {
    const outbox = new Outbox();
    outbox.append(Buffer.from('abc'), 0, 3);
    outbox.reserve(100_000);
    expect(outbox.block.length - outbox.at).toBeGreaterThanOrEqual(100_000);
    expect(Buffer.concat(outbox.take()).toString()).toBe('abc');
  });
});
