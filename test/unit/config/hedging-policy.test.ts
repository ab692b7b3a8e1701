import { describe, expect, it } from 'vitest';
import { compileMethods } from '../../../src/config/methods.js';
import type { Plan } from '../../../src/policy/types.js';
import { parse, told } from './config-text.js';

const at = 'methodConfig[0].hedgingPolicy';
const hedge = { maxAttempts: 3, hedgingDelay: '0.05s', nonFatalStatusCodes: ['UNAVAILABLE'] };

/** A document with one entry for all methods and this policy. `undefined` leaves a field out. */
function withHedging(overrides: Record<string, unknown>): string {
  return JSON.stringify({ methodConfig: [{ name: [{}], hedgingPolicy: { ...hedge, ...overrides } }] });
}

/** The plan, the findings that came with it beside. */
function planOf(overrides: Record<string, unknown>, limit = 5): { plan: Plan; warnings: readonly string[] } {
  const { config, findings } = parse(withHedging(overrides), limit);
  if (config === null) throw new Error(`refused: ${findings.map(({ message }) => message).join('; ')}`);
  const warnings = findings.map(({ rule, path }) => `${rule} ${path.replace(`${at}.`, '')}`);
  return { plan: compileMethods(config).lookup('/S/M').plan, warnings };
}

/** The one finding, an error, of a policy with these fields. */
function refused(overrides: Record<string, unknown>): string {
  const { config, findings } = parse(withHedging(overrides));
  expect(config).toBeNull();
  expect(findings).toHaveLength(1);
  return `${findings[0]?.rule} ${findings[0]?.path.replace(`${at}.`, '')}`;
}

describe('group 1d: hedgingPolicy', () => {
  it('a good policy becomes a plan in milliseconds, with no warning', () => {
    const plan = { kind: 'hedge', maxAttempts: 3, delay: 50, nonFatal: new Set([14]) };
    expect(planOf({})).toEqual({ plan, warnings: [] });
  });

  it.each([[[]], ['x'], [3]])('a hedgingPolicy that is %j is refused', (hedgingPolicy) => {
    const text = JSON.stringify({ methodConfig: [{ name: [{}], hedgingPolicy }] });
    expect(told(text)).toEqual([`wrong-type ${at}`]);
    expect(parse(text).config).toBeNull();
  });

  it.each([
    [undefined, 'required'],
    [null, 'required'],
    [1, 'out-of-range'],
    [0, 'out-of-range'],
    [-1, 'out-of-range'],
    [2.5, 'out-of-range'],
    ['3', 'wrong-type'],
  ])('CFG-60: maxAttempts %j is refused', (maxAttempts, rule) => {
    expect(refused({ maxAttempts })).toBe(`${rule} maxAttempts`);
  });

  it('CFG-61: maxAttempts of 10 is accepted with a warning, and capped', () => {
    expect(planOf({ maxAttempts: 10 })).toMatchObject({
      plan: { kind: 'hedge', maxAttempts: 5 },
      warnings: ['attempts-over-cap maxAttempts'],
    });
  });

  it.each([
    [8, 10, { kind: 'hedge', maxAttempts: 8 }],
    [3, 4, { kind: 'hedge', maxAttempts: 3 }],
    [4, 3, { kind: 'hedge', maxAttempts: 3 }],
    [1, 3, { kind: 'none' }],
  ])('CFG-34: a cap of %i on a hedgingPolicy with %i attempts', (limit, maxAttempts, plan) => {
    expect(planOf({ maxAttempts }, limit).plan).toMatchObject(plan);
  });

  it.each([undefined, null, '0s'])('CFG-62: a hedgingDelay of %j sends all attempts together', (hedgingDelay) => {
    expect(planOf({ hedgingDelay })).toMatchObject({ plan: { delay: 0 }, warnings: [] });
  });

  it.each([
    ['-1s', 'out-of-range'],
    ['1', 'bad-duration'],
    ['50ms', 'bad-duration'],
    ['.5s', 'bad-duration'],
    [1, 'wrong-type'],
    [{}, 'wrong-type'],
  ])('CFG-63: a hedgingDelay of %j is refused', (hedgingDelay, rule) => {
    expect(refused({ hedgingDelay })).toBe(`${rule} hedgingDelay`);
  });

  it.each([undefined, null, []])(
    'CFG-64: with nonFatalStatusCodes %j no failure is survived',
    (nonFatalStatusCodes) => {
      expect(planOf({ nonFatalStatusCodes }).plan).toMatchObject({ kind: 'hedge', nonFatal: new Set() });
    },
  );

  it.each(['UNAVAILABLE', 14, {}])('CFG-65: nonFatalStatusCodes that are %j, not a list, are refused', (codes) => {
    expect(refused({ nonFatalStatusCodes: codes })).toBe('wrong-type nonFatalStatusCodes');
  });

  it.each(['CANCELED', 'UNAVAILBLE', 17, -1, '14', true, 14.5, null, 'OK', 'ok', 0])(
    'CFG-66: %j is refused among nonFatalStatusCodes',
    (code) => {
      expect(refused({ nonFatalStatusCodes: ['UNAVAILABLE', code] })).toBe('bad-status-code nonFatalStatusCodes[1]');
      expect(refused({ nonFatalStatusCodes: [code] })).toBe('bad-status-code nonFatalStatusCodes[0]');
    },
  );

  it('nonFatalStatusCodes are a set of numbers and names in any case', () => {
    const nonFatalStatusCodes = [14, 'Unavailable', 'internal', 8];
    expect(planOf({ nonFatalStatusCodes }).plan).toMatchObject({ nonFatal: new Set([14, 13, 8]) });
  });

  it.each([[undefined], [[]], [['RESOURCE_EXHAUSTED', 13]]])(
    'nonFatalStatusCodes %j without UNAVAILABLE are told to let a lost hedge cancel its siblings (D19)',
    (nonFatalStatusCodes) => {
      expect(planOf({ nonFatalStatusCodes }).warnings).toEqual(['hedging-without-unavailable nonFatalStatusCodes']);
    },
  );

  it('that is told at the list, and where there is none at the policy', () => {
    const place = (codes: string) =>
      parse(`{"methodConfig":[{"name":[{}],\n"hedgingPolicy": {"maxAttempts":2${codes}}}]}`).findings;
    expect(place(',"nonFatalStatusCodes":[8]')).toMatchObject([{ line: 2, column: 57 }]);
    expect(place('')).toMatchObject([{ line: 2, column: 18 }]);
  });

  it('whatever else is wrong with the policy is told with it', () => {
    const fields = { maxAttempts: 1, hedgingDelay: 'x', nonFatalStatusCodes: [0, 17], hedgeDelay: '1s' };
    expect(told(withHedging(fields))).toEqual([
      `out-of-range ${at}.maxAttempts`,
      `bad-duration ${at}.hedgingDelay`,
      `bad-status-code ${at}.nonFatalStatusCodes[0]`,
      `bad-status-code ${at}.nonFatalStatusCodes[1]`,
      `unknown-field ${at}.hedgeDelay`,
    ]);
    expect(parse(withHedging({ hedgeDelay: '1s' })).findings[0]?.message).toContain('did you mean hedgingDelay?');
  });
});
