import { describe, expect, it } from 'vitest';
import { compileMethods } from '../../../src/config/methods.js';
import type { Plan } from '../../../src/policy/types.js';
import { accepted, parse, retry, told, withRetry } from './config-text.js';

const at = 'methodConfig[0].retryPolicy';

function planOf(text: string, limit = 5): Plan {
  return compileMethods(accepted(text, limit)).lookup('/S/M').plan;
}

/** The one error that a policy with these fields has. */
function refused(overrides: Record<string, unknown>): string {
  const { config, findings } = parse(withRetry(overrides));
  expect(config).toBeNull();
  expect(findings).toHaveLength(1);
  return `${findings[0]?.rule} ${findings[0]?.path.replace(`${at}.`, '')}`;
}

describe('group 1c: retryPolicy', () => {
  it('a good policy becomes a plan in milliseconds', () => {
    expect(planOf(withRetry({}))).toEqual({
      kind: 'retry',
      maxAttempts: 4,
      initialBackoff: 100,
      maxBackoff: 1000,
      multiplier: 2,
      retryable: new Set([14]),
    });
  });

  it('CFG-29: maxAttempts missing', () => expect(refused({ maxAttempts: undefined })).toBe('required maxAttempts'));

  it.each([1, 0, -1])('CFG-30: maxAttempts %j is refused', (n) => {
    expect(refused({ maxAttempts: n })).toBe('out-of-range maxAttempts');
  });

  it.each([2.5, 4294967296])('CFG-31: maxAttempts %j is refused', (n) => {
    expect(refused({ maxAttempts: n })).toBe('out-of-range maxAttempts');
  });

  it.each(['3', true, [3], {}])('CFG-32: maxAttempts %j is refused', (n) => {
    expect(refused({ maxAttempts: n })).toBe('wrong-type maxAttempts');
  });

  it('CFG-33: attempts over the cap are accepted, capped, and told with the name of the cap (BR-17)', () => {
    const text = withRetry({ maxAttempts: 10 });
    expect(parse(text).findings).toMatchObject([
      {
        rule: 'attempts-over-cap',
        severity: 'warning',
        path: `${at}.maxAttempts`,
        message: expect.stringContaining('--max-attempts-limit'),
      },
    ]);
    expect(planOf(text)).toMatchObject({ maxAttempts: 5 });
  });

  it.each([
    [8, 10, 8],
    [60, 50, 50],
    [3, 4, 3],
    [2, 4, 2],
  ])('CFG-34: a cap of %i makes %i attempts %i', (cap, configured, effective) => {
    expect(planOf(withRetry({ maxAttempts: configured }), cap)).toMatchObject({ maxAttempts: effective });
  });

  it('CFG-34: a cap of 1 leaves no policy', () => expect(planOf(withRetry({}), 1)).toEqual({ kind: 'none' }));

  it('CFG-35: initialBackoff missing', () =>
    expect(refused({ initialBackoff: undefined })).toBe('required initialBackoff'));

  it.each(['0s', '0.000000000s', '-0s'])('CFG-36: initialBackoff %j is refused', (text) => {
    expect(refused({ initialBackoff: text })).toBe('out-of-range initialBackoff');
  });

  it('CFG-37: a negative initialBackoff is refused', () => {
    expect(refused({ initialBackoff: '-1s' })).toBe('out-of-range initialBackoff');
  });

  it.each(['1', '123', 'abcs', '3c', '1ms', '1 s', ' 1s', '1s ', 's', '', '1S', '0x1s', '01s', '1s\n'])(
    'CFG-38: initialBackoff %j is refused',
    (text) => expect(refused({ initialBackoff: text })).toBe('bad-duration initialBackoff'),
  );

  it('CFG-38: a number is no duration', () => expect(refused({ initialBackoff: 1 })).toBe('wrong-type initialBackoff'));

  it('CFG-38: the message for 100ms says what to write', () => {
    expect(parse(withRetry({ initialBackoff: '100ms' })).findings[0]?.message).toContain('"0.1s"');
  });

  it('CFG-39: ".5s" is refused', () => expect(refused({ initialBackoff: '.5s' })).toBe('bad-duration initialBackoff'));

  it('CFG-40: "1.s" is refused', () => expect(refused({ initialBackoff: '1.s' })).toBe('bad-duration initialBackoff'));

  it('CFG-41: ten fractional digits are refused, nine are exact', () => {
    expect(refused({ initialBackoff: '0.1234567891s' })).toBe('bad-duration initialBackoff');
    expect(planOf(withRetry({ initialBackoff: '0.123456789s' }))).toMatchObject({ initialBackoff: 123.456789 });
    expect(planOf(withRetry({ initialBackoff: '0.000000001s' }))).toMatchObject({ initialBackoff: 0.000001 });
  });

  it('CFG-42: over the most of a Duration is refused, the most itself is accepted', () => {
    expect(refused({ maxBackoff: '315576000001s' })).toBe('bad-duration maxBackoff');
    expect(planOf(withRetry({ maxBackoff: '315576000000s' }))).toMatchObject({ maxBackoff: 315_576_000_000_000 });
  });

  it.each(['1e3s', '+1s', '--1s'])('CFG-43: initialBackoff %j is refused', (text) => {
    expect(refused({ initialBackoff: text })).toBe('bad-duration initialBackoff');
  });

  it.each([
    [undefined, 'required'],
    ['0s', 'out-of-range'],
    ['-1s', 'out-of-range'],
    ['1', 'bad-duration'],
    [1, 'wrong-type'],
  ])('CFG-44: maxBackoff %j is refused', (text, rule) => {
    expect(refused({ maxBackoff: text })).toBe(`${rule} maxBackoff`);
  });

  it('CFG-45: maxBackoff under initialBackoff is accepted with a warning', () => {
    const text = withRetry({ initialBackoff: '1s', maxBackoff: '0.2s' });
    expect(told(text)).toEqual([`backoff-order ${at}.maxBackoff`]);
    expect(planOf(text)).toMatchObject({ initialBackoff: 1000, maxBackoff: 200 });
    expect(told(withRetry({ initialBackoff: '1s', maxBackoff: '1s' }))).toEqual([]);
  });

  it.each([
    [undefined, 'required'],
    [0, 'out-of-range'],
    [-2, 'out-of-range'],
  ])('CFG-46: backoffMultiplier %j is refused', (value, rule) => {
    expect(refused({ backoffMultiplier: value })).toBe(`${rule} backoffMultiplier`);
  });

  it('CFG-47: a backoffMultiplier under 1 is accepted', () => {
    expect(planOf(withRetry({ backoffMultiplier: 0.5 }))).toMatchObject({ multiplier: 0.5 });
  });

  it('CFG-48: backoffMultiplier "2" is refused', () => {
    expect(refused({ backoffMultiplier: '2' })).toBe('wrong-type backoffMultiplier');
  });

  it('CFG-49: backoffMultiplier 1e308 is accepted, infinity is not', () => {
    expect(planOf(withRetry({ backoffMultiplier: 1e308 }))).toMatchObject({ multiplier: 1e308 });
    const infinite = withRetry({}).replace('"backoffMultiplier":2', '"backoffMultiplier":1e999');
    expect(told(infinite)).toEqual([`out-of-range ${at}.backoffMultiplier`]);
  });

  it('CFG-50: retryableStatusCodes missing or empty is refused', () => {
    expect(refused({ retryableStatusCodes: undefined })).toBe('required retryableStatusCodes');
    expect(refused({ retryableStatusCodes: [] })).toBe('empty-list retryableStatusCodes');
  });

  it('CFG-51: retryableStatusCodes that is not a list is refused', () => {
    expect(refused({ retryableStatusCodes: 'UNAVAILABLE' })).toBe('wrong-type retryableStatusCodes');
  });

  it.each(['FOO', 17, -1, '14', 'CANCELED', true, 14.5, null, 'ınternal', ''])(
    'CFG-53: %j is not a status code',
    (code) =>
      expect(refused({ retryableStatusCodes: ['UNAVAILABLE', code] })).toBe('bad-status-code retryableStatusCodes[1]'),
  );

  it('CFG-53: the message for CANCELED names CANCELLED', () => {
    const { findings } = parse(withRetry({ retryableStatusCodes: ['CANCELED'] }));
    expect(findings[0]?.message).toContain('did you mean CANCELLED?');
  });

  it.each([0, 'OK', 'ok'])('CFG-54: %j cannot be listed', (code) => {
    expect(refused({ retryableStatusCodes: [code] })).toBe('bad-status-code retryableStatusCodes[0]');
  });

  it('CFG-55: codes are a set of numbers and names in any case (BR-19)', () => {
    const codes = [14, 'UNAVAILABLE', 'internal', 'Resource_Exhausted', 16];
    expect(planOf(withRetry({ retryableStatusCodes: codes }))).toMatchObject({ retryable: new Set([14, 13, 8, 16]) });
  });

  it.each([[[]], ['x'], [3]])('CFG-56: a retryPolicy that is %j is refused', (policy) => {
    expect(told(JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: policy }] }))).toEqual([`wrong-type ${at}`]);
  });

  it('CFG-57: perAttemptRecvTimeout is unknown: ignored with a warning', () => {
    const text = withRetry({ perAttemptRecvTimeout: '1s' });
    expect(told(text)).toEqual([`unknown-field ${at}.perAttemptRecvTimeout`]);
    expect(planOf(text)).toMatchObject({ kind: 'retry' });
  });

  it('CFG-58: both policies in one entry are refused, told at the second, though each is sound (DIS-34)', () => {
    const hedgingPolicy = { maxAttempts: 3, nonFatalStatusCodes: [14] };
    const either = [
      [{ retryPolicy: retry, hedgingPolicy }, 'both-policies methodConfig[0].hedgingPolicy'],
      [{ hedgingPolicy, retryPolicy: retry }, 'both-policies methodConfig[0].retryPolicy'],
    ] as const;
    for (const [policies, finding] of either) {
      const text = JSON.stringify({ methodConfig: [{ name: [{}], ...policies }] });
      expect(told(text)).toEqual([finding]);
      expect(parse(text).config).toBeNull();
    }
    const one = { name: [{}], retryPolicy: retry, hedgingPolicy: null };
    expect(told(JSON.stringify({ methodConfig: [one] }))).toEqual([]);
  });

  it('CFG-58: what is wrong inside the two is told too', () => {
    const entry = {
      name: [{}],
      hedgingPolicy: { nonFatalStatusCodes: [14] },
      retryPolicy: { ...retry, maxAttempts: 1 },
    };
    const rules = parse(JSON.stringify({ methodConfig: [entry] })).findings.map(({ rule }) => rule);
    expect(rules).toEqual(['required', 'both-policies', 'out-of-range']);
  });

  it('CFG-59: retryPolicy in one entry and hedgingPolicy in another are fine', () => {
    const text = JSON.stringify({
      methodConfig: [
        { name: [{ service: 'S' }], retryPolicy: retry },
        { name: [{ service: 'T' }], hedgingPolicy: { maxAttempts: 3 } },
      ],
    });
    expect(accepted(text).methodConfig.map(({ policy }) => policy.kind)).toEqual(['retry', 'hedge']);
  });
});
