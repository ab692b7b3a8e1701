import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../../src/grpc/percent.js';

describe('encodeMessage', () => {
  it.each([
    ['', ''],
    ['plain text, with ~ and "quotes"', 'plain text, with ~ and "quotes"'],
    ['100%', '100%25'],
    ['%41', '%2541'],
    ['a\nb\tc', 'a%0Ab%09c'],
    ['\x00\x1f\x7f', '%00%1F%7F'],
    ['é', '%C3%A9'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
    ['😀', '%F0%9F%98%80'],
    [' both ends ', '%20both ends%20'],
    [' ', '%20'],
    [' x', '%20x'],
    ['x ', 'x%20'],
    ['\n', '%0A'],
    ['%', '%25'],
    ['\ud800', '%EF%BF%BD'],
  ])('%j is %j on the wire', (text, wire) => {
    expect(encodeMessage(text)).toBe(wire);
  });

  it('any text comes back, and on the wire is nothing but printable ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wire = encodeMessage(text);
        expect(wire).toMatch(/^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/);
        expect(decodeMessage(wire)).toBe(text);
      }),
    );
  });
});

describe('decodeMessage', () => {
  it.each([
    ['%C3%A9', 'é'],
    ['%c3%a9', 'é'],
    ['%41%4a%6F', 'AJo'],
    ['a%', 'a%'],
    ['a%4', 'a%4'],
    ['%zz%4', '%zz%4'],
    ['%4g', '%4g'],
    ['%g4', '%g4'],
    ['%/0%:0%@0%G0%`0%g0', '%/0%:0%@0%G0%`0%g0'],
    ['%%41', '%A'],
    ['xab%41', 'xabA'],
    ['%2541', '%41'],
    [' x', ' x'],
    ['\xc3\xa9', 'é'],
    ['%FF', '\ufffd'],
    ['\xff', '\ufffd'],
    ['%E6%97', '\ufffd'],
  ])('%j reads as %j', (wire, text) => {
    expect(decodeMessage(wire)).toBe(text);
  });

  it('takes any bytes and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const wire = Buffer.from(bytes).toString('latin1');
        expect(typeof decodeMessage(wire)).toBe('string');
        if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x25)) expect(decodeMessage(wire)).toBe(wire);
      }),
    );
  });
});
