import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeHeaders, judgeMissingTrailers, judgeStreamEnd, judgeTrailers } from '../../../src/grpc/attempt-end.js';
import type { AttemptEnd, WireSign } from '../../../src/grpc/attempt-facts.js';
import { readRetryAfter, readRetryInfo } from '../../../src/grpc/retry-hint.js';
import { lines } from './lines.js';

const varint = (value: number | bigint): number[] => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 128n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
};
const number = (field: number, value: number | bigint): number[] => [field * 8, ...varint(value)];
const message = (field: number, bytes: readonly number[]): number[] => [
  ...varint(field * 8 + 2),
  ...varint(bytes.length),
  ...bytes,
];
const text = (field: number, value: string): number[] => message(field, [...Buffer.from(value)]);
const any = (type: string, value: readonly number[]): number[] =>
  message(3, [...text(1, `type.googleapis.com/google.rpc.${type}`), ...message(2, value)]);
const retryInfo = (seconds: number | bigint, nanos: number | bigint = 0): number[] =>
  any('RetryInfo', message(1, [...number(1, seconds), ...number(2, nanos)]));
const details = (...parts: readonly number[][]): string =>
  Buffer.from([...number(1, 8), ...text(2, 'quota'), ...parts.flat()]).toString('base64');

/** One with a RetryInfo, of so many characters. */
function sized(characters: number): string {
  const rest = (characters * 3) / 4 - Buffer.from(details(retryInfo(1)), 'base64').length;
  const base64 = details(retryInfo(1), text(9, 'x'.repeat(rest - 3)));
  if (base64.length !== characters) throw new Error(`${base64.length} characters`);
  return base64;
}

describe('the RetryInfo of grpc-status-details-bin', () => {
  it.each([
    ['seconds and nanos', details(retryInfo(2, 500_000_000)), 2500],
    ['without padding', details(retryInfo(2)).replace(/=+$/, ''), 2000],
    ['behind other details', details(any('ErrorInfo', text(1, 'why')), retryInfo(1)), 1000],
    ['16 KiB of details exactly', sized(16 * 1024), 1000],
    [
      'behind another field that is a varint, or none',
      details(number(3, 5), message(4, retryInfo(9)), retryInfo(1)),
      1000,
    ],
    [
      'beside other fields of its Any, of itself and of its duration',
      details(
        message(3, [
          ...number(1, 7),
          ...number(2, 7),
          ...text(1, 'type.googleapis.com/google.rpc.RetryInfo'),
          ...message(2, [
            ...message(1, [...number(1, 2), ...number(3, 9), ...message(1, [1]), ...message(2, [1])]),
            ...number(1, 9),
            ...message(2, number(1, 9)),
          ]),
          ...message(3, [1]),
        ]),
      ),
      2000,
    ],
    ['the first of two', details(retryInfo(1), retryInfo(9)), 1000],
    ['an empty duration', details(any('RetryInfo', message(1, []))), 0],
    ['without its delay', details(any('RetryInfo', [])), 0],
    ['negative seconds', details(retryInfo(-5)), 0],
    ['negative nanos', details(retryInfo(0, -5)), 0],
    ['the most negative', details(retryInfo(-(2n ** 63n))), 0],
    ['the most negative nanos', details(retryInfo(1, -(2n ** 63n))), 0],
    ['more than an int32 of milliseconds', details(retryInfo(10n ** 12n)), 2_147_483_647],
    [
      'beside fields of all wire types',
      details([8 * 9 + 1, 1, 2, 3, 4, 5, 6, 7, 8], [8 * 9 + 5, 1, 2, 3, 4], [...number(200, 1)], retryInfo(3)),
      3000,
    ],
  ])('%s', (_name, base64, ms) => {
    expect(readRetryInfo(base64)).toBe(ms);
  });

  it.each([
    ['nothing', ''],
    ['no base64', '!!!'],
    ['other details alone', details(any('ErrorInfo', text(1, 'why')))],
    ['a type that only ends alike', details(any('MyRetryInfo', message(1, number(1, 2))))],
    ['a group, which ended with proto1', details(retryInfo(1), [8 * 9 + 3])],
    ['field 0', details(retryInfo(1), [0, 1])],
    ['a details field of another number', details(message(2, any('RetryInfo', [])), message(4, any('RetryInfo', [])))],
    ['a type without a value that names it', details(message(3, message(2, [])))],
    ['a varint of ten bytes that goes on', details(retryInfo(1), [8 * 9, ...Array.from({ length: 10 }, () => 0x80)])],
    ['a varint of eleven bytes', details(retryInfo(1), [8 * 9, ...Array.from({ length: 10 }, () => 0x80), 1])],
    ['a varint that stops', details(retryInfo(1), [8 * 9, 0x80])],
    ['a length beyond the end', details(retryInfo(1), [8 * 9 + 2, 100, 1])],
    ['a fixed field beyond the end', details(retryInfo(1), [8 * 9 + 1, 1])],
    ['a varint without an end', details(retryInfo(1), [8 * 9, ...Array.from({ length: 11 }, () => 0x80)])],
    ['a broken RetryInfo', details(any('RetryInfo', [8 + 2, 9, 1]))],
    ['a broken duration', details(any('RetryInfo', message(1, [8 + 2, 9, 1])))],
    ['over 16 KiB', sized(16 * 1024 + 4)],
  ])('%s says nothing', (_name, base64) => {
    expect(readRetryInfo(base64)).toBeUndefined();
  });

  it('no bytes make it throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const ms = readRetryInfo(Buffer.from([...message(3, [...bytes]), ...bytes]).toString('base64'));
        expect(ms === undefined || (ms >= 0 && ms <= 2_147_483_647)).toBe(true);
      }),
    );
  });
});

describe('retry-after', () => {
  it.each([
    ['0', 0],
    ['7', 7000],
    ['99999999999999999999', 2_147_483_647],
    ['Fri, 07 Nov 2025 23:59:59 GMT', null],
    ['1.5', null],
    ['-1', null],
    ['', null],
  ])('%j', (value, ms) => {
    expect(readRetryAfter(value)).toBe(ms);
  });
});

describe('the sign of an end', () => {
  const grpc = [
    [':status', '200'],
    ['content-type', 'application/grpc'],
  ] as const;
  const stated: WireSign = { kind: 'stated' };
  const unstated: WireSign = { kind: 'unstated' };

  function headers(...more: (readonly [string, string])[]): AttemptEnd {
    const verdict = judgeHeaders(lines(more), true);
    if (verdict.kind !== 'end') throw new Error('initial headers');
    return verdict.end;
  }

  it('a legible grpc-status is stated, over an HTTP error too', () => {
    expect(headers(...grpc, ['grpc-status', '14']).sign).toEqual(stated);
    expect(headers([':status', '503'], ['grpc-status', '14']).sign).toEqual(stated);
    expect(judgeTrailers(lines([['grpc-status', '5']])).sign).toEqual(stated);
  });

  it('a code made of the HTTP status, or of the lack of a grpc-status, is not', () => {
    expect(headers([':status', '503']).sign).toEqual(unstated);
    expect(headers([':status', '429']).sign).toEqual(unstated);
    expect(headers(...grpc).sign).toEqual(unstated);
    expect(headers(...grpc, ['grpc-status', 'x']).sign).toEqual(unstated);
    expect(judgeTrailers([]).sign).toEqual(unstated);
    expect(judgeMissingTrailers().sign).toEqual(unstated);
  });

  it('RESOURCE_EXHAUSTED with a pushback, a RetryInfo or a retry-after is a limit, in that order', () => {
    const after = ['retry-after', '7'] as const;
    const info = ['grpc-status-details-bin', details(retryInfo(3))] as const;
    const pushback = ['grpc-retry-pushback-ms', '50'] as const;
    const exhausted = ['grpc-status', '8'] as const;
    expect(headers(...grpc, after, info, pushback, exhausted).sign).toEqual({ kind: 'limited', ms: 50 });
    expect(headers(...grpc, exhausted, after, info).sign).toEqual({ kind: 'limited', ms: 3000 });
    expect(judgeTrailers(lines([exhausted, after, ['retry-after', '9']])).sign).toEqual({ kind: 'limited', ms: 7000 });
    expect(headers(...grpc, exhausted, ['retry-after', 'soon']).sign).toEqual({ kind: 'limited', ms: null });
    expect(headers(...grpc, exhausted, ['grpc-retry-pushback-ms', '-1'], after).sign).toEqual({
      kind: 'limited',
      ms: 7000,
    });
  });

  it('RESOURCE_EXHAUSTED without one is stated, with a pushback of never too, and so is another code with one', () => {
    expect(headers(...grpc, ['grpc-status', '8']).sign).toEqual(stated);
    expect(headers(...grpc, ['grpc-status', '8'], ['grpc-retry-pushback-ms', '-1']).sign).toEqual(stated);
    expect(headers(...grpc, ['grpc-status', '8'], ['grpc-status-details-bin', 'AA']).sign).toEqual(stated);
    expect(headers(...grpc, ['grpc-status', '14'], ['retry-after', '7']).sign).toEqual(stated);
  });

  it('HTTP 429 is a limit with a retry-after alone, other HTTP errors never', () => {
    expect(headers([':status', '429'], ['retry-after', '7']).sign).toEqual({ kind: 'limited', ms: 7000 });
    expect(headers([':status', '503'], ['retry-after', '7']).sign).toEqual(unstated);
  });

  it('resets with CANCEL and REFUSED_STREAM are orderly, as GOAWAY is whatever its code; others are not', () => {
    for (let code = 0; code < 20; code += 1) {
      expect(judgeStreamEnd({ kind: 'reset', code }).sign.kind).toBe(code === 7 || code === 8 ? 'declined' : 'reset');
      expect(judgeStreamEnd({ kind: 'goaway', code }).sign.kind).toBe('goaway');
    }
  });

  it('loss, broken HTTP/2 and limits of our own are told apart, after headers too', () => {
    const lost = judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'ECONNRESET' }, true);
    expect(lost.sign.kind).toBe('lost');
    expect(judgeStreamEnd({ kind: 'streamError', code: 1, detail: 'x' }).sign.kind).toBe('broken');
    expect(judgeStreamEnd({ kind: 'headersTooLarge' }).sign.kind).toBe('own');
  });
});
