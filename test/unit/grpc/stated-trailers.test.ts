import { describe, expect, it } from 'vitest';
import { judgeTrailers, statedTrailers } from '../../../src/grpc/attempt-end.js';
import { lines } from './lines.js';

describe('trailers for the client', () => {
  it('PRX-18: without a grpc-status gain the judged one, first, and keep the rest', () => {
    const trailers = lines([
      ['x-one', '1'],
      ['x-one', '2'],
    ]);
    const end = judgeTrailers(trailers);
    expect(statedTrailers(trailers, end)).toEqual([
      { name: 'grpc-status', value: '2', neverIndexed: false },
      { name: 'grpc-message', value: end.message, neverIndexed: false },
      ...trailers,
    ]);
  });

  it('PRX-18: a grpc-message without a grpc-status gives way to the one that says so', () => {
    const trailers = lines([['grpc-message', 'lost']]);
    const stated = statedTrailers(trailers, judgeTrailers(trailers));
    expect(stated.filter(({ name }) => name === 'grpc-message')).toHaveLength(1);
    expect(stated[1]?.value).toContain('no grpc-status');
  });

  it.each(['0', '14', '300'])('SM-14: with grpc-status %s are the same list, untouched', (status) => {
    const trailers = lines([
      ['grpc-status', status],
      ['grpc-message', 'm'],
    ]);
    expect(statedTrailers(trailers, judgeTrailers(trailers))).toBe(trailers);
  });

  it.each([[['abc']], [['-1']], [['14', '13']], [['2', '14']], [['14', '2']]])(
    'SM-39: grpc-status %s gives way to UNKNOWN, once, behind the pseudo-headers',
    (values) => {
      const trailers = lines([
        [':status', '200'],
        ['x-first', '1'],
        ...values.map((value): [string, string] => ['grpc-status', value]),
        ['grpc-message', 'm'],
      ]);
      const end = judgeTrailers(trailers);
      expect(statedTrailers(trailers, end).map(({ name, value }) => [name, value])).toEqual([
        [':status', '200'],
        ['grpc-status', '2'],
        ['grpc-message', end.message],
        ['x-first', '1'],
      ]);
    },
  );
});
