import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder, maxEncodedSize } from '../../../../src/http2/hpack/encoder.js';
import { decoded, encoded, field, fields, hex, pair, tableOf } from './codec.js';

const request = fields(
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/shop.v1.Catalogue/GetProduct'],
  [':authority', 'catalogue:50051'],
  ['te', 'trailers'],
  ['content-type', 'application/grpc'],
  ['user-agent', 'grpc-node-js/1.14.7'],
  ['grpc-accept-encoding', 'identity,deflate,gzip'],
);

describe('a field that comes again', () => {
  test('costs one byte, every one of a request', () => {
    const { encoder, decoder } = pair();
    expect(decoded(decoder, encoded(encoder, request))).toEqual(request);
    const again = encoded(encoder, request);
    expect(again).toHaveLength(request.length);
    expect(decoded(decoder, again)).toEqual(request);
  });

  test('is found by its text, not only as the same object', () => {
    const encoder = createHpackEncoder(4096);
    encoded(encoder, request);
    const copies = request.map(({ name, value }) => field(`${name} `.slice(0, -1), `${value} `.slice(0, -1)));
    expect(encoded(encoder, copies)).toHaveLength(request.length);
  });

  test('costs two bytes from index 127 on', () => {
    const { encoder, decoder } = pair();
    const many = Array.from({ length: 80 }, (_, i) => field(`n${i}`, 'v'));
    decoded(decoder, encoded(encoder, many));
    const block = encoded(encoder, many);
    // The table holds the 80 at 62 to 141; those at 127 and above, 15 of them, cost two bytes.
    expect(block).toHaveLength(80 + 15);
    expect(decoded(decoder, block)).toEqual(many);
  });

  test('is sent anew when it has been pushed out', () => {
    const { encoder, decoder } = pair();
    const many = Array.from({ length: 300 }, (_, i) => field(`name-${i}`, `value-${i}`));
    for (let round = 0; round < 3; round += 1)
      for (const one of many) expect(decoded(decoder, encoded(encoder, [one]))).toEqual([one]);
    expect(encoder.tableSize).toBeLessThanOrEqual(4096);
    expect(decoder.tableSize).toBe(encoder.tableSize);
  });

  test('has its name referred to when only the value is new', () => {
    const encoder = createHpackEncoder(4096);
    encoded(encoder, fields(['x-shop', 'a']));
    expect(hex(encoder, fields(['x-shop', '#']))).toBe('7e0123');
  });

  test('a static field costs a byte from the first time and never enters the table', () => {
    const encoder = createHpackEncoder(4096);
    expect(hex(encoder, fields([':method', 'POST'], [':status', '200'], ['cookie', '']))).toBe('8388a0');
    expect(encoder.tableSize).toBe(0);
  });
});

describe('RFC 7541 7.1, what is kept out of the table', () => {
  test('a never-indexed field leaves as a never-indexed literal, with an indexed name', () => {
    const encoder = createHpackEncoder(4096);
    expect(hex(encoder, [field('authorization', '#', true)])).toBe('1f080123');
    expect(hex(encoder, [field('secret', '#', true)]).slice(0, 2)).toBe('10');
    expect(encoder.tableSize).toBe(0);
  });

  test('a never-indexed field does so also when the same name and value are in the table', () => {
    const { encoder, decoder } = pair();
    const open = field('x-key', 'v');
    const closed = field('x-key', 'v', true);
    expect(decoded(decoder, encoded(encoder, [open, closed, open]))).toEqual([open, closed, open]);
    expect(hex(encoder, [closed])).toBe('1f2f0176');
  });

  test('a never-indexed field does so also when it is in the static table', () => {
    const { encoder, decoder } = pair();
    const closed = field(':method', 'POST', true);
    expect(decoded(decoder, encoded(encoder, [closed]))).toEqual([closed]);
  });

  test.each(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])('%s leaves as it came', (name) => {
    const { encoder, decoder } = pair();
    for (const neverIndexed of [false, true, false]) {
      const secret = field(name, 'Bearer x', neverIndexed);
      expect(decoded(decoder, encoded(encoder, [secret]))).toEqual([secret]);
    }
    expect(encoder.tableSize).toBe(0);
  });

  test.each([
    'grpc-timeout',
    'grpc-previous-rpc-attempts',
    'content-length',
    'traceparent',
    'tracestate',
    'grpc-trace-bin',
    'x-request-id',
  ])('%s, which varies by call', (name) => {
    const { encoder, decoder } = pair();
    for (const value of ['1', '2', '1', '1']) {
      const one = field(name, value);
      expect(decoded(decoder, encoded(encoder, [one]))).toEqual([one]);
    }
    expect(encoder.tableSize).toBe(0);
  });

  test('values of more than 256 bytes', () => {
    const { encoder, decoder } = pair();
    const long = field('x-long', 'v'.repeat(257));
    expect(decoded(decoder, encoded(encoder, [long]))).toEqual([long]);
    expect(encoder.tableSize).toBe(0);
    const short = field('x-long', 'v'.repeat(256));
    expect(decoded(decoder, encoded(encoder, [short]))).toEqual([short]);
    expect(encoder.tableSize).toBe(32 + 6 + 256);
    // Its name is referred to from now on.
    expect(encoded(encoder, [long]).subarray(0, 2).toString('hex')).toBe('0f2f');
  });

  test('a field larger than the table does not empty it', () => {
    const { encoder, decoder } = pair(100);
    const small = field('a', 'b');
    const large = field('n'.repeat(50), 'v'.repeat(30));
    decoded(decoder, encoded(encoder, [small]));
    expect(decoded(decoder, encoded(encoder, [large]))).toEqual([large]);
    expect(hex(encoder, [small])).toBe('be');
  });
});

describe('names that vary are learnt', () => {
  const id = (call: number): ReturnType<typeof field> => field('x-call', `id-${call}`);

  test('after eight values in a row of which none came again, values stay out', () => {
    const { encoder, decoder } = pair();
    for (let call = 0; call < 100; call += 1)
      expect(decoded(decoder, encoded(encoder, [id(call)]))).toEqual([id(call)]);
    expect(tableOf(decoder, 8)).toEqual(['7', '6', '5', '4', '3', '2', '1', '0'].map((n) => `x-call: id-${n}`));
    expect(encoder.tableSize).toBe(8 * (32 + 6 + 4));
  });

  test('what is in the table already stays of use', () => {
    const encoder = createHpackEncoder(4096);
    for (let call = 0; call < 100; call += 1) encoded(encoder, [id(call)]);
    expect(encoded(encoder, [id(7)])).toHaveLength(1);
  });

  test('a value twice in a row lets the name in again', () => {
    const encoder = createHpackEncoder(4096);
    for (let call = 0; call < 100; call += 1) encoded(encoder, [id(call)]);
    expect(encoded(encoder, [id(200)]).length).toBeGreaterThan(1);
    expect(encoded(encoder, [id(200)]).length).toBeGreaterThan(1);
    expect(encoded(encoder, [id(200)])).toHaveLength(1);
  });

  test('a use of the last entry lets the name in again', () => {
    const encoder = createHpackEncoder(4096);
    for (let call = 0; call < 100; call += 1) encoded(encoder, [id(call)]);
    encoded(encoder, [id(7)]);
    encoded(encoder, [id(300)]);
    expect(encoded(encoder, [id(300)])).toHaveLength(1);
  });

  test('a name whose values come again is never taken to vary', () => {
    const encoder = createHpackEncoder(4096);
    for (let value = 0; value < 40; value += 1) {
      encoded(encoder, [id(value)]);
      expect(encoded(encoder, [id(value)])).toHaveLength(1);
    }
  });

  test('so many names are known at a time; the one learnt first is forgotten first', () => {
    const encoder = createHpackEncoder(65_536);
    encoder.setPeerTableSize(65_536);
    const admits = (one: ReturnType<typeof field>): boolean => {
      const before = encoder.tableSize;
      encoded(encoder, [one]);
      return encoder.tableSize > before;
    };
    for (let call = 0; call < 20; call += 1) encoded(encoder, [id(call)]);
    for (let i = 0; i < 63; i += 1) encoded(encoder, [field(`name-${i}`, 'v')]);
    expect(admits(id(100))).toBe(false);
    expect(admits(field('name-63', 'v'))).toBe(true);
    expect(admits(id(101))).toBe(true);
  });

  test('names of more than 64 bytes are not learnt', () => {
    const encoder = createHpackEncoder(4096);
    const long = (length: number, call: number): ReturnType<typeof field> => field('n'.repeat(length), `${call}`);
    for (let call = 0; call < 20; call += 1) encoded(encoder, [long(65, call)]);
    expect(encoded(encoder, [long(65, 19)])).toHaveLength(1);
    for (let call = 0; call < 20; call += 1) encoded(encoder, [long(64, call)]);
    expect(encoded(encoder, [long(64, 18)]).length).toBeGreaterThan(1);
  });

  test(':path is exempt: a method not yet called twice will be', () => {
    const encoder = createHpackEncoder(4096);
    const paths = Array.from({ length: 40 }, (_, i) => field(':path', `/shop.v1.Catalogue/M${i}`));
    for (const path of paths) encoded(encoder, [path]);
    expect(encoded(encoder, paths)).toHaveLength(40);
  });

  test('several lines of one name, the same in each call, come to cost a byte each', () => {
    const { encoder, decoder } = pair();
    const lines = Array.from({ length: 20 }, (_, i) => field('x-tag', `tag-${i}`));
    for (let call = 0; call < 8; call += 1) expect(decoded(decoder, encoded(encoder, lines))).toEqual(lines);
    expect(encoded(encoder, lines)).toHaveLength(20);
  });

  test('one name that varies does not push out a call’s other fields', () => {
    const encoder = createHpackEncoder(4096);
    for (let call = 0; call < 1000; call += 1) encoded(encoder, [...request, id(call)]);
    expect(encoded(encoder, request)).toHaveLength(request.length);
  });
});

describe('RFC 7541 4.2, size updates', () => {
  test('none where nothing changed', () => {
    const encoder = createHpackEncoder(4096);
    encoder.setPeerTableSize(4096);
    encoder.setPeerTableSize(65_536);
    expect(hex(encoder, fields([':method', 'GET']))).toBe('82');
  });

  test('a lower size begins the next block, once', () => {
    const encoder = createHpackEncoder(4096);
    encoder.setPeerTableSize(100);
    expect(hex(encoder, fields([':method', 'GET']))).toBe('3f4582');
    expect(hex(encoder, fields([':method', 'GET']))).toBe('82');
  });

  test('also a block without fields', () => {
    const encoder = createHpackEncoder(4096);
    encoder.setPeerTableSize(0);
    expect(hex(encoder, [])).toBe('20');
  });

  test('lowered and raised again: the smallest, then the final one', () => {
    const { encoder, decoder } = pair();
    decoded(decoder, encoded(encoder, request));
    for (const size of [3000, 64, 1000]) {
      encoder.setPeerTableSize(size);
      decoder.setMaxTableSize(size);
    }
    const block = encoded(encoder, request);
    expect(block.subarray(0, 5).toString('hex')).toBe('3f213fc907');
    expect(decoded(decoder, block)).toEqual(request);
    expect(decoder.tableSize).toBe(encoder.tableSize);
  });

  test('lowered and raised to where it was: both, since the table has been emptied', () => {
    const encoder = createHpackEncoder(4096);
    encoder.setPeerTableSize(0);
    encoder.setPeerTableSize(4096);
    expect(hex(encoder, fields([':method', 'GET']))).toBe('203fe11f82');
  });

  test('a smaller table of our own is told in the first block', () => {
    expect(hex(createHpackEncoder(100), fields([':method', 'GET']))).toBe('3f4582');
    expect(hex(createHpackEncoder(0), fields([':method', 'GET']))).toBe('2082');
  });

  test('a larger one of our own is used once the peer permits it', () => {
    const { encoder, decoder } = pair(16_384);
    decoder.setMaxTableSize(65_536);
    encoder.setPeerTableSize(65_536);
    const many = Array.from({ length: 300 }, (_, i) => field(`n${i}`, 'value'));
    expect(decoded(decoder, encoded(encoder, many))).toEqual(many);
    expect(encoder.tableSize).toBeGreaterThan(4096);
    expect(encoder.tableSize).toBeLessThanOrEqual(16_384);
    expect(decoded(decoder, encoded(encoder, many))).toEqual(many);
  });

  test('a peer without a table gets literals without indexing', () => {
    const { encoder, decoder } = pair();
    encoder.setPeerTableSize(0);
    decoder.setMaxTableSize(0);
    for (let call = 0; call < 3; call += 1) {
      const block = encoded(encoder, request);
      expect(decoded(decoder, block)).toEqual(request);
      expect(encoder.tableSize).toBe(0);
    }
    expect(hex(encoder, fields(['x', '#']))).toBe('0001780123');
  });
});

describe('room', () => {
  test('maxEncodedSize is enough whatever the strings, the names and the sizes', () => {
    const worst = ['\u0000', '\u0016', '\u00ff', '#', 'a'].flatMap((character) =>
      [0, 1, 31, 32, 33, 125, 126, 127, 128, 256, 257, 5000].map((length) =>
        field(character.repeat(length), character.repeat(length)),
      ),
    );
    for (const one of worst)
      for (const neverIndexed of [false, true]) {
        const encoder = createHpackEncoder(4096);
        encoder.setPeerTableSize(0);
        encoder.setPeerTableSize(4095);
        const list = [{ ...one, neverIndexed }];
        const out = Buffer.alloc(maxEncodedSize(list));
        const end = encoder.encode(list, out, 0);
        expect(end).toBeGreaterThan(0);
        expect(end).toBeLessThanOrEqual(out.length);
        expect(decoded(createHpackDecoder(4096), out.subarray(0, end))).toEqual(list);
      }
  });

  test('too short an output changes nothing', () => {
    const { encoder, decoder } = pair();
    encoder.setPeerTableSize(2000);
    decoder.setMaxTableSize(2000);
    const out = Buffer.alloc(maxEncodedSize(request), 0xee);
    for (let at = 1; at <= out.length; at += 7) expect(encoder.encode(request, out, at)).toBe(-1);
    expect(out.every((byte) => byte === 0xee)).toBe(true);
    expect(encoder.tableSize).toBe(0);
    expect(decoded(decoder, encoded(encoder, request))).toEqual(request);
  });

  test('nothing before the offset is touched, and a plain Uint8Array is written as a Buffer is', () => {
    const list = fields(['x-a', 'v'.repeat(40)], ['authorization', 'v'.repeat(400)]);
    const plain = new Uint8Array(maxEncodedSize(list) + 11).fill(0xee);
    const end = createHpackEncoder(4096).encode(list, plain, 11);
    expect(plain.subarray(0, 11).every((byte) => byte === 0xee)).toBe(true);
    expect(Buffer.from(plain.subarray(11, end))).toEqual(encoded(createHpackEncoder(4096), list));
  });
});

describe('strings', () => {
  test('RFC 7541 5.2: Huffman-coded where that is shorter, in the table and out of it', () => {
    const encoder = createHpackEncoder(4096);
    expect(hex(encoder, fields(['x', 'aaaa']))).toBe('400178 83 18c63f'.replaceAll(' ', ''));
    expect(hex(encoder, fields(['x', '####']))).toBe('7e 04 23232323'.replaceAll(' ', ''));
    expect(hex(encoder, fields(['content-length', '10000']))).toBe('0f0d 84 0800007f'.replaceAll(' ', ''));
  });

  test('a long value that comes anew with each call goes as it is', () => {
    const token = 'a'.repeat(33);
    const block = encoded(createHpackEncoder(4096), fields(['authorization', token]));
    expect(block.subarray(-33).toString('latin1')).toBe(token);
    expect(encoded(createHpackEncoder(4096), fields(['authorization', token.slice(1)])).length).toBeLessThan(25);
  });
});
