import type { MetadataField } from '../../../src/grpc/metadata.js';

/** Header lines from pairs of name and value. */
export function lines(pairs: readonly (readonly [name: string, value: string])[]): MetadataField[] {
  return pairs.map(([name, value]) => ({ name, value, neverIndexed: false }));
}

/** Pairs of name and value from header lines. */
export function pairs(fields: readonly MetadataField[]): [name: string, value: string][] {
  return fields.map(({ name, value }) => [name, value]);
}
