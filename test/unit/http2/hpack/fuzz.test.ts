import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder } from '../../../../src/http2/hpack/encoder.js';
import type { HpackDecoder } from '../../../../src/http2/hpack/types.js';
import type { HeaderField } from '../../../../src/http2/types.js';
import { fuzz, fuzzTimeout } from '../../../support/fuzz.js';
import { PlainDecoder } from '../../../support/plain-hpack.js';
import { decode, encoded, fields, noLimit } from './codec.js';

const tableSize = 1000;

/** Decodes, and checks what holds whatever the bytes are. Returns whether they were right. */
function survives(decoder: HpackDecoder, block: Uint8Array, limit: number): boolean {
  const before = Buffer.from(block);
  const result = decode(decoder, block, limit);
  expect(Buffer.compare(before, block)).toBe(0);
  expect(decoder.tableSize).toBeGreaterThanOrEqual(0);
  expect(decoder.tableSize).toBeLessThanOrEqual(tableSize);
  if (!result.ok) {
    expect(result.detail).not.toBe('');
    expect(decode(decoder, Buffer.of(0x82), limit)).toEqual(result);
    return false;
  }
  let kept = 0;
  for (const { name, value, neverIndexed } of result.fields) {
    expect([typeof name, typeof value, typeof neverIndexed]).toEqual(['string', 'string', 'boolean']);
    kept += name.length + value.length + 32;
  }
  expect(kept).toBeLessThanOrEqual(2 * limit);
  return true;
}

const sample = encoded(
  createHpackEncoder(tableSize),
  fields(
    [':method', 'POST'],
    [':path', '/shop.v1.Catalogue/GetProduct'],
    ['te', 'trailers'],
    ['grpc-timeout', '99999u'],
    ['x-long', 'v'.repeat(200)],
    ['authorization', 'Bearer abc'],
    ['x-odd', '\u0000\u0016\u00ff#'],
  ),
);
const limits = fc.constantFrom(0, 100, 1000, noLimit);
const block = fc.uint8Array({ maxLength: 300 });
/** Bytes that are likely to mean something: opcodes, short lengths, indices of entries there are. */
const meaningful = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x82, 0xbe, 0xbf, 0xff, 0x40, 0x41, 0x7f, 0x00, 0x0f, 0x10, 0x1f, 0x20, 0x3f, 0x81, 0x84, 0x80),
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 0, max: 255 }),
    ),
    { maxLength: 120 },
  )
  .map((data) => Uint8Array.from(data));

describe('a decoder', { timeout: fuzzTimeout }, () => {
  test('never throws on random blocks, and its first error is final', () => {
    fuzz(
      fc.property(fc.array(fc.oneof(block, meaningful), { maxLength: 6 }), limits, (blocks, limit) => {
        const decoder = createHpackDecoder(tableSize);
        for (const one of blocks) if (!survives(decoder, one, limit)) break;
      }),
      3000,
    );
  });

  test('never throws on a right block with bytes changed, cut out or put in', () => {
    const change = fc.record({
      at: fc.nat(sample.length),
      cut: fc.nat(4),
      put: fc.uint8Array({ maxLength: 4 }),
    });
    fuzz(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), limits, (changes, limit) => {
        const decoder = createHpackDecoder(tableSize);
        let changed: Uint8Array = sample;
        for (const { at, cut, put } of changes)
          changed = Buffer.concat([changed.subarray(0, at), put, changed.subarray(at + cut)]);
        if (survives(decoder, changed, limit)) survives(decoder, sample, limit);
      }),
      3000,
    );
  });

  test('never throws on a right block with any bit turned', () => {
    for (let bit = 0; bit < sample.length * 8; bit += 1) {
      const changed = Buffer.from(sample);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      survives(createHpackDecoder(tableSize), changed, noLimit);
    }
  });

  test('gives the same for the same blocks, whatever stands around them', () => {
    fuzz(
      fc.property(fc.oneof(block, meaningful), block, block, (one, before, after) => {
        const around = Buffer.concat([before, one, after]);
        expect(
          createHpackDecoder(tableSize).decode(around, before.length, before.length + one.length, noLimit),
        ).toEqual(decode(createHpackDecoder(tableSize), one));
      }),
      1000,
    );
  });

  test('reads random blocks as a second decoder does, which was written apart from it', () => {
    fuzz(
      fc.property(fc.array(fc.oneof(block, meaningful, meaningful), { maxLength: 8 }), (blocks) => {
        const decoder = createHpackDecoder(4096);
        const plain = new PlainDecoder();
        for (const one of blocks) {
          const wanted = readPlainly(plain, one);
          const result = decode(decoder, one);
          expect(result.ok ? result.fields : null).toEqual(wanted);
          if (wanted === null) return;
        }
      }),
      5000,
    );
  });
});

/** The fields of a block; null where it is wrong. */
function readPlainly(decoder: PlainDecoder, bytes: Uint8Array): HeaderField[] | null {
  try {
    return decoder
      .decode(bytes)
      .map(({ name, value, written }) => ({ name, value, neverIndexed: written === 'neverIndexed' }));
  } catch {
    return null;
  }
}
