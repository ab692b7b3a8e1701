import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder } from '../../../../src/http2/hpack/encoder.js';
import type { HeaderField } from '../../../../src/http2/types.js';
import { decoded, encoded } from './codec.js';

const latin1 = (maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength }).map((data) => Buffer.from(data).toString('latin1'));
/** Names and values that meet again, and any others. */
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(':path', ':status', 'te', 'x-a', 'x-b', 'authorization', 'grpc-timeout') },
  { weight: 1, arbitrary: latin1(80) },
);
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('', '0', '200', 'trailers', '/', 'a', 'b', 'v'.repeat(100)) },
  { weight: 2, arbitrary: latin1(40) },
  { weight: 1, arbitrary: latin1(600) },
);
const line: fc.Arbitrary<HeaderField> = fc.record({
  name,
  value,
  neverIndexed: fc.boolean(),
});
const list = fc.array(line, { maxLength: 12 });
type Step = { readonly list: HeaderField[] } | { readonly size: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ list }) },
  { weight: 1, arbitrary: fc.record({ size: fc.constantFrom(0, 1, 40, 100, 500, 4096, 10_000) }) },
);

describe('whatever is encoded', () => {
  test('is decoded to the same lines and marks, through changes of the table size, by two decoders alike', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.constantFrom(0, 64, 300, 4096, 20_000), (steps, own) => {
        const encoder = createHpackEncoder(own);
        const one = createHpackDecoder(4096);
        const other = createHpackDecoder(4096);
        for (const step of steps) {
          if ('size' in step) {
            encoder.setPeerTableSize(step.size);
            one.setMaxTableSize(step.size);
            other.setMaxTableSize(step.size);
            continue;
          }
          const block = encoded(encoder, step.list);
          expect(decoded(one, block)).toEqual(step.list);
          expect(one.tableSize).toBe(encoder.tableSize);
          expect(encoder.tableSize).toBeLessThanOrEqual(own);
          expect(decoded(other, block)).toEqual(step.list);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('is relayed over several hops as it was', () => {
    fc.assert(
      fc.property(fc.array(list, { maxLength: 12 }), (lists) => {
        const hops = [4096, 100, 0].map((size) => ({
          encoder: createHpackEncoder(size),
          decoder: createHpackDecoder(4096),
        }));
        for (const sent of lists) {
          const arrived = hops.reduce(
            (fields, { encoder, decoder }) => decoded(decoder, encoded(encoder, fields)),
            sent,
          );
          expect(arrived).toEqual(sent);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('is never longer than the strings and nine bytes a line allow', () => {
    fc.assert(
      fc.property(list, (sent) => {
        const plain = sent.reduce((sum, { name, value }) => sum + name.length + value.length + 9, 3);
        expect(encoded(createHpackEncoder(4096), sent).length).toBeLessThanOrEqual(plain);
      }),
    );
  });

  test('a never-indexed line leaves no trace in either table', () => {
    fc.assert(
      fc.property(fc.array(list, { maxLength: 8 }), (lists) => {
        const encoder = createHpackEncoder(4096);
        const decoder = createHpackDecoder(4096);
        for (const sent of lists)
          decoded(
            decoder,
            encoded(
              encoder,
              sent.map((one) => ({ ...one, neverIndexed: true })),
            ),
          );
        expect(encoder.tableSize).toBe(0);
        expect(decoder.tableSize).toBe(0);
      }),
    );
  });
});
