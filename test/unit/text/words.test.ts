import { expect, it } from 'vitest';
import { amount, briefly, shortMethod, span } from '../../../src/text/words.js';

it.each([
  [0, '0 ms'],
  [0.123, '0.12 ms'],
  [7.06, '7.1 ms'],
  [9.96, '10 ms'],
  [71.4, '71 ms'],
  [999.4, '999 ms'],
  [999.6, '1 s'],
  [1254, '1.25 s'],
  [12_540, '12.5 s'],
  [65_000, '1 min 5 s'],
])('%d ms briefly', (ms, text) => {
  expect(briefly(ms)).toBe(text);
});

it.each([
  [-5, '0 s'],
  [400, '0 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [11_400_000, '3 h 10 min'],
  [200_000_000, '2 d 7 h'],
])('a span of %d ms', (ms, text) => {
  expect(span(ms)).toBe(text);
});

it.each([
  [0, '0'],
  [0.423, '0.42'],
  [4.23, '4.2'],
  [99.96, '100'],
  [4200.4, '4200'],
])('%d as an amount', (value, text) => {
  expect(amount(value)).toBe(text);
});

it.each([
  ['/shop.v1.Cart/Add', 'Cart/Add'],
  ['/Cart/Add', 'Cart/Add'],
  ['/a/b/c', '/a/b/c'],
  ['nothing', 'nothing'],
])('%s shortened', (path, text) => {
  expect(shortMethod(path)).toBe(text);
});
