import { describe, expect, test } from 'vitest';
import { codeLengths, codes, endOfString } from '../../../../src/http2/hpack/huffman-code.js';
import { decodedBound, decodeHuffman } from '../../../../src/http2/hpack/huffman-decode.js';
import { huffmanLength, writeHuffman } from '../../../../src/http2/hpack/huffman-encode.js';
import { bytes } from './codec.js';

function write(text: string): Buffer {
  const out = Buffer.alloc(text.length * 4 + 8);
  return out.subarray(0, writeHuffman(out, 0, text, out.length));
}

function read(coded: Uint8Array): string | null {
  const to = Buffer.alloc(decodedBound(coded.length));
  const length = decodeHuffman(coded, 0, coded.length, to);
  return length < 0 ? null : to.toString('latin1', 0, length);
}

/** Bits as bytes, filled up with ones. */
function packed(bits: string): Buffer {
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(whole.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

function codeOf(symbol: number): string {
  return (codes[symbol] ?? 0).toString(2).padStart(codeLengths[symbol] ?? 0, '0');
}

const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

describe('the code of RFC 7541 Appendix B', () => {
  test.each([
    ['0', '00000'],
    ['a', '00011'],
    [' ', '010100'],
    [':', '1011100'],
    ['&', '11111000'],
    ['!', '1111111000'],
    ['\u0000', '1111111111000'],
    ['\\', '1111111111111110000'],
    ['\u00ff', '11111111111111111111101110'],
    ['\n', '111111111111111111111111111100'],
    ['\u0016', '111111111111111111111111111110'],
  ])('%j is %s', (character, bits) => {
    expect(codeOf(character.charCodeAt(0))).toBe(bits);
  });

  test('EOS is thirty ones', () => {
    expect(codeOf(endOfString)).toBe('1'.repeat(30));
  });

  test('is complete: no bits are without a meaning', () => {
    expect(codeLengths.reduce((sum, length) => sum + 2 ** -length, 0)).toBe(1);
  });
});

describe('Huffman coding', () => {
  test('every character comes back alone, and is coded as the table says', () => {
    for (const character of characters) {
      expect(write(character)).toEqual(packed(codeOf(character.charCodeAt(0))));
      expect(read(write(character))).toBe(character);
    }
  });

  test('every two characters come back together, at every bit offset', () => {
    for (const first of characters)
      for (const prefix of ['', 'a', 'aa', 'aaa', 'aaaa', 'aaaaa', 'aaaaaa', 'aaaaaaa']) {
        const text = `${prefix}${first}${characters[(first.charCodeAt(0) * 7 + prefix.length) & 0xff]}`;
        expect(read(write(text))).toBe(text);
      }
  });

  test('the length is known beforehand', () => {
    const text = characters.join('');
    for (let end = 0; end <= 256; end += 1)
      expect(huffmanLength(text.slice(0, end))).toBe(write(text.slice(0, end)).length);
  });

  test('gives up where the code is not shorter than the limit', () => {
    const out = Buffer.alloc(64);
    expect(writeHuffman(out, 0, '00000000', 6)).toBe(5);
    expect(writeHuffman(out, 0, '00000000', 5)).toBe(-1);
    expect(writeHuffman(out, 0, '\u0016'.repeat(8), 8)).toBe(-1);
  });

  test('writes at most four bytes from the limit on', () => {
    for (const character of ['0', '!', '\\', '\u0016']) {
      for (let limit = 1; limit < 12; limit += 1) {
        const out = Buffer.alloc(64, 0xee);
        writeHuffman(out, 0, character.repeat(12), limit);
        expect(out.subarray(limit + 4).every((byte) => byte === 0xee)).toBe(true);
      }
    }
  });
});

describe('RFC 7541 5.2, the end of a string', () => {
  test('up to seven ones pad it', () => {
    expect(read(packed(codeOf(0x61) + codeOf(0x61)))).toBe('aa');
    expect(read(bytes('1f'))).toBe('a');
    expect(read(bytes('f8'))).toBe('&');
  });

  test.each([
    ['padding with a zero in it', '1e'],
    ['padding of zeros', '18'],
    ['eight bits of padding after a whole byte', 'f8ff'],
    ['eight bits of padding alone', 'ff'],
    ['eleven bits of padding', '1fff'],
    ['a code cut off', 'fffe'],
  ])('%s is wrong', (_name, wire) => {
    expect(read(bytes(wire))).toBeNull();
  });

  test('EOS is wrong, at any bit offset and with anything after it', () => {
    for (const before of ['', codeOf(0x61), codeOf(0x20), codeOf(0x3a), codeOf(0x26), codeOf(0x21)])
      for (const after of ['', codeOf(0x61), codeOf(0x61).repeat(8)])
        expect(read(packed(before + codeOf(endOfString) + after))).toBeNull();
  });

  test('nothing is the empty string', () => {
    expect(read(Buffer.alloc(0))).toBe('');
    expect(write('').length).toBe(0);
  });
});
