import { expect, test } from 'vitest';
import { encodeBlock, PlainDecoder } from './plain-hpack.js';

function lines(decoder: PlainDecoder, hex: string): string[] {
  return decoder.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex')).map(({ name, value }) => `${name}: ${value}`);
}

test('RFC 7541 C.4: requests with Huffman and the dynamic table', () => {
  const decoder = new PlainDecoder();
  const first = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];
  expect(lines(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).toEqual(first);
  expect(lines(decoder, '8286 84be 5886 a8eb 1064 9cbf')).toEqual([...first, 'cache-control: no-cache']);
  expect(lines(decoder, '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf')).toEqual([
    ':method: GET',
    ':scheme: https',
    ':path: /index.html',
    ':authority: www.example.com',
    'custom-key: custom-value',
  ]);
});

test('RFC 7541 C.6: responses that evict from a table of 256 bytes', () => {
  const decoder = new PlainDecoder(256);
  const date = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
  expect(
    lines(
      decoder,
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
    ),
  ).toEqual([':status: 302', 'cache-control: private', date, 'location: https://www.example.com']);
  expect(lines(decoder, '4883 640e ffc1 c0bf')).toEqual([
    ':status: 307',
    'cache-control: private',
    date,
    'location: https://www.example.com',
  ]);
  expect(
    lines(
      decoder,
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ),
  ).toEqual([
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    'location: https://www.example.com',
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ]);
});

test('what it writes it reads, never-indexed marks too', () => {
  const fields = [
    { name: ':method', value: 'POST', neverIndexed: false },
    { name: 'authorization', value: 'secret', neverIndexed: true },
    { name: 'x-long', value: 'y'.repeat(70_000), neverIndexed: false },
    { name: 'x-bin', value: '\u0000\u00ff', neverIndexed: false },
    { name: ':authority', value: '', neverIndexed: false },
  ];
  expect(new PlainDecoder().decode(encodeBlock(fields))).toEqual([
    { name: ':method', value: 'POST', written: 'indexed' },
    { name: 'authorization', value: 'secret', written: 'neverIndexed' },
    { name: 'x-long', value: 'y'.repeat(70_000), written: 'plain' },
    { name: 'x-bin', value: '\u0000\u00ff', written: 'plain' },
    { name: ':authority', value: '', written: 'plain' },
  ]);
});

test.each([
  ['an index past the tables', 'be'],
  ['a string past its block', '00 0561'],
  ['a size update over the ceiling', '3fe2 1f'],
  ['a size update after a field', '82 20'],
  ['Huffman padding of eight bits', '00 01 61 82 ff ff'],
  ['Huffman padding with a zero', '00 01 61 81 00'],
])('refuses %s', (_what, hex) => {
  expect(() => lines(new PlainDecoder(), hex)).toThrow('HPACK');
});
