import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder } from '../../../../src/http2/hpack/encoder.js';
import { writeInteger } from '../../../../src/http2/hpack/integer.js';
import { decoded, faultOf, field, fields, hex, tableOf } from './codec.js';

describe('RFC 7541 C.1, integers', () => {
  test.each([
    ['C.1.1', 10, 5, '0a'],
    ['C.1.2', 1337, 5, '1f9a0a'],
    ['C.1.3', 42, 8, '2a'],
  ])('%s: %d with a prefix of %d bits', (_id, value, prefixBits, wire) => {
    const out = Buffer.alloc(8);
    expect(out.toString('hex', 0, writeInteger(out, 0, 0, prefixBits, value))).toBe(wire);
  });

  test('C.1.2 is read as 1337', () => {
    expect(faultOf('3f9a0a', 1337)).toBe('none');
    expect(faultOf('3f9a0a', 1336)).toMatch(/table size of 1337/);
  });
});

describe('RFC 7541 C.2, one field', () => {
  test('C.2.1: a literal with indexing', () => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, '400a637573746f6d2d6b65790d637573746f6d2d686561646572')).toEqual(
      fields(['custom-key', 'custom-header']),
    );
    expect(tableOf(decoder, 1)).toEqual(['custom-key: custom-header']);
    expect(decoder.tableSize).toBe(55);
  });

  test('C.2.2: a literal without indexing', () => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, '040c2f73616d706c652f70617468')).toEqual(fields([':path', '/sample/path']));
    expect(decoder.tableSize).toBe(0);
  });

  test('C.2.3: a literal never indexed', () => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, '100870617373776f726406736563726574')).toEqual([field('password', 'secret', true)]);
    expect(decoder.tableSize).toBe(0);
  });

  test('C.2.4: an indexed field', () => {
    const decoder = createHpackDecoder(4096);
    expect(decoded(decoder, '82')).toEqual(fields([':method', 'GET']));
    expect(decoder.tableSize).toBe(0);
  });
});

interface Step {
  readonly wire: string;
  readonly list: readonly (readonly [string, string])[];
  readonly table: readonly string[];
  readonly size: number;
}

const requests: readonly Omit<Step, 'wire'>[] = [
  {
    list: [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ],
    table: [':authority: www.example.com'],
    size: 57,
  },
  {
    list: [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
      ['cache-control', 'no-cache'],
    ],
    table: ['cache-control: no-cache', ':authority: www.example.com'],
    size: 110,
  },
  {
    list: [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ],
    table: ['custom-key: custom-value', 'cache-control: no-cache', ':authority: www.example.com'],
    size: 164,
  },
];

const plainRequests = [
  '828684410f7777772e6578616d706c652e636f6d',
  '828684be58086e6f2d6361636865',
  '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
];

const codedRequests = [
  '828684418cf1e3c2e5f23a6ba0ab90f4ff',
  '828684be5886a8eb10649cbf',
  '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
];

const at21 = 'Mon, 21 Oct 2013 20:13:21 GMT';
const at22 = 'Mon, 21 Oct 2013 20:13:22 GMT';
const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';

const responses: readonly Omit<Step, 'wire'>[] = [
  {
    list: [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', at21],
      ['location', 'https://www.example.com'],
    ],
    table: ['location: https://www.example.com', `date: ${at21}`, 'cache-control: private', ':status: 302'],
    size: 222,
  },
  {
    list: [
      [':status', '307'],
      ['cache-control', 'private'],
      ['date', at21],
      ['location', 'https://www.example.com'],
    ],
    table: [':status: 307', 'location: https://www.example.com', `date: ${at21}`, 'cache-control: private'],
    size: 222,
  },
  {
    list: [
      [':status', '200'],
      ['cache-control', 'private'],
      ['date', at22],
      ['location', 'https://www.example.com'],
      ['content-encoding', 'gzip'],
      ['set-cookie', cookie],
    ],
    table: [`set-cookie: ${cookie}`, 'content-encoding: gzip', `date: ${at22}`],
    size: 215,
  },
];

const plainResponses = [
  '4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d',
  '4803333037c1c0bf',
  '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
];

const codedResponses = [
  '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
  '4883640effc1c0bf',
  '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
];

describe.each([
  ['C.3, requests without Huffman coding', 4096, plainRequests, requests],
  ['C.4, requests with Huffman coding', 4096, codedRequests, requests],
  ['C.5, responses without Huffman coding, table of 256 bytes', 256, plainResponses, responses],
  ['C.6, responses with Huffman coding, table of 256 bytes', 256, codedResponses, responses],
])('RFC 7541 %s', (_name, tableSize, wires, steps) => {
  test('each block gives its list and leaves its table', () => {
    const decoder = createHpackDecoder(tableSize);
    for (const [i, { list, table, size }] of steps.entries()) {
      expect(decoded(decoder, wires[i] ?? '')).toEqual(fields(...list));
      expect(tableOf(decoder, table.length)).toEqual(table);
      expect(decoder.tableSize).toBe(size);
    }
  });
});

describe('RFC 7541 C, encoded', () => {
  test('C.4: the requests, byte for byte', () => {
    const encoder = createHpackEncoder(4096);
    for (const [i, { list, size }] of requests.entries()) {
      expect(hex(encoder, fields(...list))).toBe(codedRequests[i]);
      expect(encoder.tableSize).toBe(size);
    }
  });

  test('C.6: the first two responses, byte for byte after the size update', () => {
    const encoder = createHpackEncoder(256);
    expect(hex(encoder, fields(...(responses[0]?.list ?? [])))).toBe(`3fe101${codedResponses[0]}`);
    expect(encoder.tableSize).toBe(222);
    // The code of 307 is as long as 307, which then goes as it is: that is C.5's block.
    expect(hex(encoder, fields(...(responses[1]?.list ?? [])))).toBe(plainResponses[1]);
    expect(encoder.tableSize).toBe(222);
  });
});
