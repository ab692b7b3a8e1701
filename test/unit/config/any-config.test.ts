import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diffConfigs } from '../../../src/config/config-diff.js';
import { formatFinding } from '../../../src/config/finding.js';
import { compileMethods } from '../../../src/config/methods.js';
import { parseServiceConfig, type ServiceConfig } from '../../../src/config/service-config.js';
import { retry } from './config-text.js';

/** Values that are near enough to a config to reach every part of the grammar. */
const fields = [
  'methodConfig',
  'retryThrottling',
  'loadBalancingConfig',
  'loadBalancingPolicy',
  'round_robin',
  'pick_first',
  'least_request',
  'shuffleAddressList',
  'choiceCount',
  'name',
  'service',
  'method',
  'retryPolicy',
  'hedgingPolicy',
  'timeout',
  'waitForReady',
  'maxRequestMessageBytes',
  'maxAttempts',
  'initialBackoff',
  'maxBackoff',
  'backoffMultiplier',
  'retryableStatusCodes',
  'hedgingDelay',
  'nonFatalStatusCodes',
  'maxTokens',
  'tokenRatio',
  '__proto__',
  'odd key',
  'a\nb',
];

const { config } = fc.letrec<{ config: unknown }>((tie) => ({
  config: fc.oneof(
    { maxDepth: 6, depthSize: 'large' },
    fc.constantFrom<unknown>(
      null,
      true,
      0,
      1,
      4,
      2.5,
      -1,
      1e308,
      '',
      '1s',
      '0.1s',
      '-1s',
      'S',
      'UNAVAILABLE',
      'pick_first',
      'a\u2028b',
      retry,
    ),
    fc.array(tie('config'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...fields), tie('config'), { maxKeys: 5 }),
  ),
}));

/** Whatever the text: no throw, places within it, order, one line a finding, and a config only where no error is. */
function holds(text: string): void {
  const { findings, config } = parseServiceConfig(text, { maxAttemptsLimit: 5 });
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  let last = { line: 1, column: 0 };
  for (const finding of findings) {
    expect(finding.line).toBeLessThanOrEqual(lines.length);
    expect(finding.column).toBeGreaterThanOrEqual(1);
    expect(finding.column).toBeLessThanOrEqual((lines[finding.line - 1] ?? '').length + 1);
    expect(finding.line > last.line || (finding.line === last.line && finding.column >= last.column)).toBe(true);
    expect(formatFinding('f', finding)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    last = finding;
  }
  expect(config === null).toBe(findings.some(({ severity }) => severity === 'error'));
  if (config !== null) compileMethods(config).lookup('/S/M');
}

it('any JSON value is judged without a throw, at places inside the text', () => {
  fc.assert(
    fc.property(config, fc.constantFrom(0, 2), (value, indent) => holds(JSON.stringify(value, null, indent))),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.json(), holds));
});

it('any near miss of a config is judged without a throw, at places inside the text', () => {
  const text = JSON.stringify(
    { methodConfig: [{ name: [{ service: 'S' }], retryPolicy: retry }], retryThrottling: {} },
    null,
    1,
  );
  const cut = fc.tuple(fc.nat(text.length), fc.nat(8), fc.string({ maxLength: 4 }));
  fc.assert(
    fc.property(cut, ([at, length, put]) => holds(text.slice(0, at) + put + text.slice(at + length))),
    { numRuns: 2000 },
  );
});

it('any bytes are judged without a throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => holds(Buffer.from(bytes).toString('utf8'))),
    { numRuns: 1000 },
  );
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 100 }), holds), { numRuns: 1000 });
});

/** Valid configs over so few names and values that two of them often agree. */
const entryNames = [
  {},
  { service: 'S' },
  { service: 'S', method: 'M' },
  { service: 'T' },
  { service: 'S', method: 'a/b' },
];
const entryFields = [
  {},
  { waitForReady: true },
  { retryPolicy: retry },
  { retryPolicy: { ...retry, maxAttempts: 9 } },
  { hedgingPolicy: { maxAttempts: 2, hedgingDelay: '0.1s', nonFatalStatusCodes: [14] } },
];
const balancing = [
  {},
  { loadBalancingConfig: [{ pick_first: {} }] },
  { loadBalancingPolicy: 'PICK_FIRST' },
  { loadBalancingConfig: [{ pick_first: { shuffleAddressList: true } }] },
];
const validConfig = fc
  .tuple(
    fc.shuffledSubarray(entryNames),
    fc.array(fc.constantFrom(...entryFields), { minLength: 5, maxLength: 5 }),
    fc.constantFrom(...balancing),
  )
  .map(([names, fields, top]) => {
    const methodConfig = names.map((name, index) => ({ name: [name], ...fields[index] }));
    const text = JSON.stringify({ methodConfig, ...top });
    const { config: read } = parseServiceConfig(text, { maxAttemptsLimit: 5 });
    return read ?? expect.fail(text);
  });

it('two configs differ in words exactly where a call to some method tells them apart', () => {
  const seen = (of: ServiceConfig) => {
    const methods = compileMethods(of);
    const policies = ['/S/M', '/S/N', '/S/a/b', '/T/M', '/U/M', '*'].map((path) => {
      const { named: _named, entry: _entry, ...inForce } = methods.lookup(path);
      return inForce;
    });
    return [...policies, of.balancing];
  };
  let [same, different] = [0, 0];
  fc.assert(
    fc.property(validConfig, validConfig, (before, after) => {
      const equal = isDeepStrictEqual(seen(before), seen(after));
      const lines = diffConfigs(before, after);
      expect(lines.length === 0).toBe(equal);
      expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      expect(diffConfigs(before, before)).toEqual([]);
      if (equal) same++;
      else different++;
    }),
    { numRuns: 2000 },
  );
  expect(same).toBeGreaterThan(20);
  expect(different).toBeGreaterThan(20);
});
