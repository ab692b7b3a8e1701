import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder } from '../../../../src/http2/hpack/encoder.js';
import { staticFields } from '../../../../src/http2/hpack/static-table.js';
import { bytes, decode, decoded, encoded, faultOf, field, fields, noLimit, tableOf } from './codec.js';

describe('wrong bytes end the connection with words', () => {
  test.each([
    ['RFC 7541 6.1: index 0', '80', /index 0/],
    ['RFC 7541 2.3.3: an index beyond the tables', 'be', /index 62, where the tables have 61/],
    ['RFC 7541 2.3.3: a name index beyond the tables', '7e00', /index 62/],
    ['RFC 7541 2.3.3: a name index beyond the tables, not indexed', '0f2f00', /index 62/],
    ['RFC 7541 5.1: an index cut off', 'ff', /ends inside an integer/],
    ['RFC 7541 5.1: an index cut off later', 'ff80', /ends inside an integer/],
    ['RFC 7541 5.1: an integer of seven bytes', 'ff808080808000', /more than six bytes/],
    ['RFC 7541 5.1: an integer that never ends', `ff${'80'.repeat(64)}`, /more than six bytes/],
    ['RFC 7541 5.1: an integer over 2^31 - 1', 'ff81ffffff07', /the integer 2147483648/],
    ['RFC 7541 5.1: an integer of 35 bits', 'ffffffffff7f', /the integer 34359738494/],
    ['RFC 7541 5.2: no name', '40', /where a string should begin/],
    ['RFC 7541 5.2: no value', '41', /where a string should begin/],
    ['RFC 7541 5.2: no value after a name', '400161', /where a string should begin/],
    ['RFC 7541 5.2: a name cut off', '400561', /string of 5 bytes with 1 bytes/],
    ['RFC 7541 5.2: a value cut off', '410561', /string of 5 bytes with 1 bytes/],
    ['RFC 7541 5.2: a length of 2^31 - 1', '417f80ffffff07', /string of 2147483647 bytes/],
    ['RFC 7541 5.2: a length over 2^31 - 1', '417fffffffff7f', /the integer/],
    ['RFC 7541 5.2: EOS in a string', '4184ffffffff', /EOS/],
    ['RFC 7541 5.2: eight bits of padding', '4181ff', /padding/],
    ['RFC 7541 5.2: padding of zeros in a name', '40811800', /padding/],
    ['RFC 7541 5.2: EOS in a never-indexed value', '1184ffffffff', /EOS/],
    ['RFC 7541 4.2: a size update after a field', '8220', /after a field/],
    ['RFC 7541 6.3: a size over the one advertised', '3fe21f', /4097 bytes, over the 4096/],
    ['RFC 7541 6.3: a size cut off', '3f', /ends inside an integer/],
  ])('%s', (_name, wire, words) => {
    expect(faultOf(wire)).toMatch(words);
  });

  test('every way of cutting off a block is told or is a shorter block', () => {
    const block = encoded(createHpackEncoder(4096), [
      ...fields([':path', '/a/b'], ['x-long-name', 'v'.repeat(200)], ['content-type', 'application/grpc']),
      field('authorization', 'Bearer x', true),
    ]);
    const whole = new Set<number>();
    for (let end = 0; end <= block.length; end += 1) {
      const result = createHpackDecoder(4096).decode(block, 0, end, noLimit);
      if (result.ok) whole.add(end);
    }
    // After nothing and after each of the four fields.
    expect(whole.size).toBe(5);
  });

  test('an error is final: later blocks are refused with the same words', () => {
    const decoder = createHpackDecoder(4096);
    const first = decode(decoder, '82be');
    expect(first).toEqual({ ok: false, detail: expect.stringContaining('index 62') });
    expect(decode(decoder, '82')).toEqual(first);
    expect(decode(decoder, '')).toEqual(first);
  });
});

describe('what is right at the edge', () => {
  test('an empty block is an empty list', () => {
    expect(decode(createHpackDecoder(4096), '')).toEqual({ ok: true, fields: [], tooLarge: false });
  });

  test('only [start, end) is read', () => {
    const block = bytes('ffffff 8286 ffffff');
    expect(createHpackDecoder(4096).decode(block, 3, 5, noLimit)).toEqual({
      ok: true,
      fields: fields([':method', 'GET'], [':scheme', 'http']),
      tooLarge: false,
    });
  });

  test('a plain Uint8Array at an offset of its memory is read as a Buffer is', () => {
    const memory = new Uint8Array(32);
    memory.set(bytes('400a637573746f6d2d6b6579027631'), 7);
    expect(decoded(createHpackDecoder(4096), memory.subarray(7, 22))).toEqual(fields(['custom-key', 'v1']));
  });

  test('integers padded with zeros up to six bytes are read', () => {
    expect(decoded(createHpackDecoder(4096), `017f8080808000${'61'.repeat(127)}`)).toEqual(
      fields([':authority', 'a'.repeat(127)]),
    );
  });

  test('empty names and values are strings, Huffman-coded or not', () => {
    expect(decoded(createHpackDecoder(4096), '400000 408080 000080')).toEqual(fields(['', ''], ['', ''], ['', '']));
  });

  test('each byte is one character', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const value = all.toString('latin1');
    const [one] = decoded(createHpackDecoder(4096), Buffer.concat([bytes('00 01 61 7f8101'), all]));
    expect(one).toEqual(field('a', value));
    for (let length = 0; length < 80; length += 1) {
      const from = all.subarray(170, 170 + length);
      expect(decoded(createHpackDecoder(4096), Buffer.concat([bytes('000161'), Buffer.of(length), from]))).toEqual(
        fields(['a', from.toString('latin1')]),
      );
    }
  });

  test('a long Huffman-coded value is read whole', () => {
    const value = 'a'.repeat(60_000);
    const coded = Buffer.alloc(37_500);
    // 00011 eight times.
    for (let i = 0; i < coded.length; i += 5) coded.set([0x18, 0xc6, 0x31, 0x8c, 0x63], i);
    const length = bytes('fffda302');
    expect(decoded(createHpackDecoder(4096), Buffer.concat([bytes('01'), length, coded]))).toEqual(
      fields([':authority', value]),
    );
  });
});

describe('fields of the tables are shared', () => {
  test('a static field is the same object in every block of every connection', () => {
    const [one] = decoded(createHpackDecoder(4096), '83');
    const [other] = decoded(createHpackDecoder(4096), '83');
    expect(one).toBe(other);
    expect(one).toBe(staticFields[2]);
  });

  test('a dynamic field is the same object from the literal that brought it on', () => {
    const decoder = createHpackDecoder(4096);
    const [brought] = decoded(decoder, '400161 0162');
    expect(decoded(decoder, 'bebe')[0]).toBe(brought);
    expect(decoded(decoder, 'bebe')[1]).toBe(brought);
  });

  test('each block has a list of its own', () => {
    const decoder = createHpackDecoder(4096);
    const list = decoded(decoder, '82');
    list.push(field('x', 'y'));
    expect(decoded(decoder, '82')).toHaveLength(1);
  });
});

describe('RFC 7541 6.2, the three literals', () => {
  test.each([
    ['6.2.1 with indexing', '40', false, 34],
    ['6.2.2 without indexing', '00', false, 0],
    ['6.2.3 never indexed', '10', true, 0],
  ])('%s', (_name, pattern, neverIndexed, tableSize) => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, `${pattern}0161 0162`)).toEqual([field('a', 'b', neverIndexed)]);
    expect(decoder.tableSize).toBe(tableSize);
  });

  test('a never-indexed value that is in the table is still never-indexed', () => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, '400161 0162 1f2f 0162 be')).toEqual([
      field('a', 'b'),
      field('a', 'b', true),
      field('a', 'b'),
    ]);
  });
});

describe('RFC 7541 4, the table', () => {
  /** `name: value` with one-byte name and value: 34 bytes in the table. */
  const small = (name: string, value: string): string => `4001${hexOf(name)}01${hexOf(value)}`;

  test('4.4: the oldest entries go first, as many as must', () => {
    const decoder = createHpackDecoder(3 * 34);
    decoded(decoder, small('a', '1') + small('b', '2') + small('c', '3'));
    expect(tableOf(decoder, 3)).toEqual(['c: 3', 'b: 2', 'a: 1']);
    decoded(decoder, `4001640a${hexOf('0123456789')}`);
    expect(tableOf(decoder, 2)).toEqual(['d: 0123456789', 'c: 3']);
    expect(decoder.tableSize).toBe(77);
    expect(decode(decoder, 'c0').ok).toBe(false);
  });

  test('4.4: a field larger than the table empties it, and is a field', () => {
    const decoder = createHpackDecoder(100);
    const value = 'v'.repeat(68);
    expect(decoded(decoder, `${small('a', '1')}400162 44${hexOf(value)}`)).toEqual(fields(['a', '1'], ['b', value]));
    expect(decoder.tableSize).toBe(0);
    expect(decode(decoder, 'be').ok).toBe(false);
  });

  test('4.4: a name taken from the entry that it pushes out is still right', () => {
    const decoder = createHpackDecoder(40);
    decoded(decoder, small('a', '1'));
    expect(decoded(decoder, '7e0132')).toEqual(fields(['a', '2']));
    expect(tableOf(decoder, 1)).toEqual(['a: 2']);
  });

  test('4.4: a field exactly as large as the table stays in it', () => {
    const decoder = createHpackDecoder(34);
    decoded(decoder, small('a', '1') + small('b', '2'));
    expect(tableOf(decoder, 1)).toEqual(['b: 2']);
    expect(decoder.tableSize).toBe(34);
  });

  test('a table full to its last place has no entry beyond the oldest', () => {
    const decoder = createHpackDecoder(64);
    expect(decoded(decoder, '400000 400000 bebf')).toHaveLength(4);
    expect(decode(decoder, 'c0')).toEqual({ ok: false, detail: expect.stringContaining('have 63 entries') });
  });

  test('the ring goes round as often as it must', () => {
    const decoder = createHpackDecoder(3 * 34);
    for (let i = 0; i < 1000; i += 1) {
      const letter = String.fromCharCode(0x61 + (i % 26));
      decoded(decoder, small(letter, String(i % 10)));
      expect(tableOf(decoder, 1)).toEqual([`${letter}: ${i % 10}`]);
    }
    expect(tableOf(decoder, 3)).toEqual(['l: 9', 'k: 8', 'j: 7']);
  });

  test('4.3: a size update evicts, and a larger one brings nothing back', () => {
    const decoder = createHpackDecoder(4096);
    decoded(decoder, small('a', '1') + small('b', '2'));
    decoded(decoder, '3f03');
    expect(tableOf(decoder, 1)).toEqual(['b: 2']);
    decoded(decoder, '3fe11f');
    expect(tableOf(decoder, 1)).toEqual(['b: 2']);
    expect(decoder.tableSize).toBe(34);
  });

  test('4.2: two size updates clear the table', () => {
    const decoder = createHpackDecoder(4096);
    decoded(decoder, small('a', '1'));
    decoded(decoder, `203fe11f${small('b', '2')}`);
    expect(tableOf(decoder, 1)).toEqual(['b: 2']);
    expect(decoder.tableSize).toBe(34);
  });

  test('4.2: the table is 4096 bytes until the peer says more, whatever was advertised', () => {
    const decoder = createHpackDecoder(4096);
    decoder.setMaxTableSize(65_536);
    const value = 'v'.repeat(2016);
    const large = (name: string): string => `4001${hexOf(name)}7fe10e${hexOf(value)}`;
    decoded(decoder, large('a') + large('b'));
    expect(decoder.tableSize).toBe(2049);
    decoded(decoder, `3fe1ff03${large('c')}${large('d')}`);
    expect(decoder.tableSize).toBe(3 * 2049);
    expect(tableOf(decoder, 3).map((line) => line[0])).toEqual(['d', 'c', 'b']);
  });

  test('a table that grows keeps its entries in order', () => {
    const decoder = createHpackDecoder(2 * 34);
    for (const name of 'abcde') decoded(decoder, small(name, '1'));
    decoder.setMaxTableSize(64 * 34);
    decoded(decoder, `3fe110${small('f', '1')}`);
    expect(tableOf(decoder, 3)).toEqual(['f: 1', 'e: 1', 'd: 1']);
    for (const name of 'ghijklmnop') decoded(decoder, small(name, '1'));
    expect(tableOf(decoder, 13).join()).toBe([...'ponmlkjihgfed'].map((name) => `${name}: 1`).join());
  });
});

describe('RFC 9113 4.3.1, a lowered table size', () => {
  test('the next block has to begin with an update', () => {
    const decoder = createHpackDecoder(4096);
    decoder.setMaxTableSize(100);
    expect(decode(decoder, '82')).toEqual({ ok: false, detail: expect.stringContaining('lowered to 100') });
  });

  test('an update to at most the lowered size will do', () => {
    const decoder = createHpackDecoder(4096);
    decoder.setMaxTableSize(100);
    expect(decoded(decoder, '3f45 82')).toHaveLength(1);
    expect(decoded(decoder, '82')).toHaveLength(1);
  });

  test('RFC 7541 4.2: lowered and raised again, the first update says the lowest', () => {
    const lowered = (): ReturnType<typeof createHpackDecoder> => {
      const decoder = createHpackDecoder(4096);
      decoder.setMaxTableSize(0);
      decoder.setMaxTableSize(4096);
      return decoder;
    };
    expect(decoded(lowered(), '20 3fe11f 82')).toHaveLength(1);
    expect(decode(lowered(), '3fe11f 82').ok).toBe(false);
    expect(decode(lowered(), '82').ok).toBe(false);
  });

  test('lowered several times, the first update says the lowest', () => {
    for (const sizes of [
      [100, 50],
      [50, 100],
    ]) {
      const lowered = (): ReturnType<typeof createHpackDecoder> => {
        const decoder = createHpackDecoder(4096);
        for (const size of sizes) decoder.setMaxTableSize(size);
        return decoder;
      };
      expect(decode(lowered(), '3f14 82').ok).toBe(false);
      expect(decoded(lowered(), '3f13 82')).toHaveLength(1);
    }
  });

  test('an empty block owes nothing, the next one does', () => {
    const decoder = createHpackDecoder(4096);
    decoder.setMaxTableSize(0);
    expect(decode(decoder, '').ok).toBe(true);
    expect(decode(decoder, '82').ok).toBe(false);
  });

  test('raised, or lowered to what the table has anyway: nothing is owed', () => {
    const decoder = createHpackDecoder(4096);
    decoder.setMaxTableSize(8192);
    decoder.setMaxTableSize(4096);
    expect(decoded(decoder, '82')).toHaveLength(1);
  });
});

describe('the limit of the list', () => {
  const list = fields([':method', 'GET'], ['a', '1'], ['b', '2'], ['c', '3']);
  const wire = '82 400161 0131 400162 0132 400163 0133';
  /** 42 bytes and three times 34. */
  const size = 42 + 3 * 34;

  test('counts name, value and 32 a field, and is inclusive', () => {
    expect(decode(createHpackDecoder(4096), wire, size)).toEqual({ ok: true, fields: list, tooLarge: false });
    expect(decode(createHpackDecoder(4096), wire, size - 1)).toEqual({
      ok: true,
      fields: list.slice(0, 3),
      tooLarge: true,
    });
  });

  test('past it decoding goes on, and the table stays in step', () => {
    const decoder = createHpackDecoder(4096);
    expect(decode(decoder, wire, 10)).toMatchObject({ ok: true, tooLarge: true });
    expect(tableOf(decoder, 3)).toEqual(['c: 3', 'b: 2', 'a: 1']);
    expect(decode(decoder, 'c0bfbe', noLimit)).toEqual({ ok: true, fields: list.slice(1), tooLarge: false });
  });

  test('past it wrong bytes are still wrong', () => {
    expect(decode(createHpackDecoder(4096), `${wire}80`, 10).ok).toBe(false);
    expect(decode(createHpackDecoder(4096), `${wire}00018401 84ffffffff`, 10).ok).toBe(false);
  });

  test('past it a small field is not kept either', () => {
    const result = decode(createHpackDecoder(4096), `000161 3c${'78'.repeat(60)} 000162 0132`, 80);
    expect(result).toEqual({ ok: true, fields: [], tooLarge: true });
  });

  test('pseudo names are kept in any place up to twice the limit', () => {
    const result = decode(createHpackDecoder(4096), '82 86 84 000161 0131 88', 60);
    expect(result).toEqual({
      ok: true,
      fields: fields([':method', 'GET'], [':scheme', 'http'], [':path', '/']).slice(0, 2),
      tooLarge: true,
    });
    expect(decode(createHpackDecoder(4096), `82 000161 3c${'78'.repeat(60)}86 84`, 62)).toEqual({
      ok: true,
      fields: fields([':method', 'GET'], [':scheme', 'http'], [':path', '/']),
      tooLarge: true,
    });
  });

  test('twice the limit is inclusive', () => {
    // :method GET counts 42, :path / 38.
    expect(decode(createHpackDecoder(4096), '8284', 40)).toMatchObject({ fields: { length: 2 }, tooLarge: true });
    expect(decode(createHpackDecoder(4096), '8284', 39)).toMatchObject({ fields: { length: 1 }, tooLarge: true });
  });

  test('a large entry referred to again and again costs no memory', () => {
    const decoder = createHpackDecoder(4096);
    const value = hexOf('v'.repeat(4000));
    const result = decode(decoder, Buffer.concat([bytes(`400161 7fa11e${value}`), Buffer.alloc(16_000, 0xbe)]), 16_384);
    expect(result).toMatchObject({ ok: true, tooLarge: true });
    expect(result.ok && result.fields.length).toBe(4);
  });
});

describe('strings that come again', () => {
  test('are right whatever came before: like lengths, like ends, coded and not', () => {
    const decoder = createHpackDecoder(4096);
    const words = [
      'te',
      'ta',
      'ab',
      'ba',
      'abc',
      'acb',
      'xbx',
      'xax',
      'application/grpc',
      'application-grpc',
      'aa',
      '',
    ];
    for (let round = 0; round < 3; round += 1)
      for (const name of words)
        for (const value of words) {
          const plain = `00${lengthOf(name)}${hexOf(name)}${lengthOf(value)}${hexOf(value)}`;
          expect(decoded(decoder, plain)).toEqual(fields([name, value]));
        }
    // "\x1f" as it is, and as the code of "a".
    expect(decoded(decoder, '0001 1f 01 1f 00 81 1f 81 1f 0001 1f 01 1f')).toEqual(
      fields(['\u001f', '\u001f'], ['a', 'a'], ['\u001f', '\u001f']),
    );
  });
});

function hexOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex');
}

function lengthOf(text: string): string {
  return Buffer.of(text.length).toString('hex');
}
