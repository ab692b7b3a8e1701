import { expect, it } from 'vitest';
import { sessionKeyOf } from '../../../src/runtime/session-key.js';

it('SES-19: an id is known by the first 16 bytes of its SHA-256 alone', () => {
  // FIPS 180-2, B.1: the digest of "abc" begins so.
  expect(sessionKeyOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223');
  expect(sessionKeyOf('abd')).not.toBe(sessionKeyOf('abc'));
  expect(sessionKeyOf('x'.repeat(256))).toMatch(/^[0-9a-f]{32}$/);
});
