import { describe, expect, it } from 'vitest';
import { statusOfHttp } from '../../../src/grpc/http-status.js';
import { parseInt32 } from '../../../src/grpc/int32.js';
import { readPreviousAttempts } from '../../../src/grpc/previous-attempts.js';
import { readPushback } from '../../../src/grpc/pushback.js';
import { resetCodeName, statusOfReset } from '../../../src/grpc/reset-code.js';
import { Status, statusName } from '../../../src/grpc/status.js';
import { lines } from './lines.js';

describe('parseInt32', () => {
  it.each([
    ['0', 0],
    ['7', 7],
    ['10', 10],
    ['1999999999', 1_999_999_999],
    ['2147483647', 2_147_483_647],
  ])('%s is a number', (value, number) => {
    expect(parseInt32(value)).toBe(number);
  });

  it.each([
    ['2147483648'],
    ['9999999999'],
    ['10000000000'],
    ['-1'],
    ['-0'],
    ['+5'],
    ['007'],
    ['00'],
    [' 5'],
    ['5 '],
    ['5.0'],
    ['5e3'],
    ['0x5'],
    ['10abc'],
    ['1/'],
    ['1:'],
    [''],
    ['10,20'],
    ['٣'],
  ])('%j is none', (value) => {
    expect(parseInt32(value)).toBe(-1);
  });
});

describe('readPushback', () => {
  const pushback = (...values: string[]) =>
    readPushback(lines([['x', '1'], ...values.map((value) => ['grpc-retry-pushback-ms', value] as const), ['y', '2']]));

  it('is nothing where the key is absent', () => {
    expect(pushback()).toEqual({ kind: 'none' });
    expect(readPushback([])).toEqual({ kind: 'none' });
  });

  it('names the wait, up to the greatest 32-bit number', () => {
    expect(pushback('0')).toEqual({ kind: 'after', ms: 0 });
    expect(pushback('300')).toEqual({ kind: 'after', ms: 300 });
    expect(pushback('2147483647')).toEqual({ kind: 'after', ms: 2_147_483_647 });
  });

  it('means never where it is negative, too great or no number as A6 writes them', () => {
    for (const value of ['-1', '-2147483648', '2147483648', '007', '+5', '-0', ' 5', '', 'soon'])
      expect(pushback(value)).toEqual({ kind: 'never' });
  });

  it('means never where there are several values, equal ones too', () => {
    expect(pushback('10', '20')).toEqual({ kind: 'never' });
    expect(pushback('10', '10')).toEqual({ kind: 'never' });
    expect(pushback('10', '10', '10')).toEqual({ kind: 'never' });
    expect(pushback('-1', '10')).toEqual({ kind: 'never' });
  });
});

describe('readPreviousAttempts', () => {
  const previous = (...values: string[]) =>
    readPreviousAttempts(lines([['x', '1'], ...values.map((value) => ['grpc-previous-rpc-attempts', value] as const)]));

  it('MD-07: is what the client says of itself', () => {
    expect(previous('7')).toBe(7);
    expect(previous('0')).toBe(0);
  });

  it('MD-08: is 0 where absent, malformed or repeated', () => {
    expect(previous()).toBe(0);
    expect(previous('abc')).toBe(0);
    expect(previous('-1')).toBe(0);
    expect(previous('7', '7')).toBe(0);
    expect(previous('7', 'x')).toBe(0);
  });
});

describe('statusOfHttp', () => {
  it.each([
    [400, 'INTERNAL'],
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'UNIMPLEMENTED'],
    [429, 'UNAVAILABLE'],
    [502, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'UNAVAILABLE'],
    [200, 'UNKNOWN'],
    [301, 'UNKNOWN'],
    [402, 'UNKNOWN'],
    [405, 'UNKNOWN'],
    [500, 'UNKNOWN'],
    [501, 'UNKNOWN'],
    [505, 'UNKNOWN'],
    [Number.NaN, 'UNKNOWN'],
  ])('SM-10: HTTP %d is %s', (http, name) => {
    expect(statusName(statusOfHttp(http))).toBe(name);
  });
});

describe('statusOfReset', () => {
  it.each([
    [0x0, 'NO_ERROR', 'INTERNAL'],
    [0x1, 'PROTOCOL_ERROR', 'INTERNAL'],
    [0x2, 'INTERNAL_ERROR', 'INTERNAL'],
    [0x3, 'FLOW_CONTROL_ERROR', 'INTERNAL'],
    [0x4, 'SETTINGS_TIMEOUT', 'INTERNAL'],
    [0x5, 'STREAM_CLOSED', 'INTERNAL'],
    [0x6, 'FRAME_SIZE_ERROR', 'INTERNAL'],
    [0x7, 'REFUSED_STREAM', 'UNAVAILABLE'],
    [0x8, 'CANCEL', 'CANCELLED'],
    [0x9, 'COMPRESSION_ERROR', 'INTERNAL'],
    [0xa, 'CONNECT_ERROR', 'INTERNAL'],
    [0xb, 'ENHANCE_YOUR_CALM', 'RESOURCE_EXHAUSTED'],
    [0xc, 'INADEQUATE_SECURITY', 'PERMISSION_DENIED'],
    [0xd, 'HTTP_1_1_REQUIRED', 'UNAVAILABLE'],
    [0xe, 'code 0xe', 'INTERNAL'],
    [0xffffffff, 'code 0xffffffff', 'INTERNAL'],
  ])('SM-12: %d (%s) is %s', (code, name, status) => {
    expect(resetCodeName(code)).toBe(name);
    expect(statusName(statusOfReset(code))).toBe(status);
  });
});

describe('statusName', () => {
  it('is the canonical name, or the number of a code outside the set', () => {
    expect(statusName(Status.UNAVAILABLE)).toBe('UNAVAILABLE');
    expect(statusName(0)).toBe('OK');
    expect(statusName(16)).toBe('UNAUTHENTICATED');
    expect(statusName(17)).toBe('17');
  });
});
