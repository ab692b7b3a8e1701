import { describe, expect, it } from 'vitest';
import { accepted, parse, told } from './config-text.js';

function hedging(policy: unknown): string {
  return JSON.stringify({ methodConfig: [{ name: [{}], hedgingPolicy: policy }] });
}

function throttling(text: string): string {
  return `{"retryThrottling":${text}}`;
}

function entry(fields: object): string {
  return JSON.stringify({ methodConfig: [{ name: [{}], ...fields }] });
}

const hedgingAt = 'methodConfig[0].hedgingPolicy';

describe('hedgingPolicy', () => {
  it.each([
    [{}, `required ${hedgingAt}.maxAttempts`],
    [{ maxAttempts: 1 }, `out-of-range ${hedgingAt}.maxAttempts`],
    [{ maxAttempts: 2.5 }, `out-of-range ${hedgingAt}.maxAttempts`],
    [{ maxAttempts: 3, hedgingDelay: '-1s' }, `out-of-range ${hedgingAt}.hedgingDelay`],
    [{ maxAttempts: 3, hedgingDelay: '1' }, `bad-duration ${hedgingAt}.hedgingDelay`],
    [{ maxAttempts: 3, hedgingDelay: 1 }, `wrong-type ${hedgingAt}.hedgingDelay`],
    [{ maxAttempts: 3, nonFatalStatusCodes: 'UNAVAILABLE' }, `wrong-type ${hedgingAt}.nonFatalStatusCodes`],
    [{ maxAttempts: 3, nonFatalStatusCodes: ['OK'] }, `bad-status-code ${hedgingAt}.nonFatalStatusCodes[0]`],
    [[], `wrong-type ${hedgingAt}`],
  ])('%j is refused', (policy, finding) => {
    expect(told(hedging(policy))).toEqual([finding]);
    expect(parse(hedging(policy)).config).toBeNull();
  });

  it.each([undefined, null, '0s'])('a hedgingDelay of %j is none', (hedgingDelay) => {
    const [first] = accepted(hedging({ maxAttempts: 3, hedgingDelay })).methodConfig;
    expect(first?.policy).toEqual({ kind: 'hedge', maxAttempts: 3, delay: 0, nonFatal: new Set() });
  });

  it('attempts over the cap are told', () => {
    expect(told(hedging({ maxAttempts: 10 }))).toEqual([`attempts-over-cap ${hedgingAt}.maxAttempts`]);
  });
});

describe('retryThrottling', () => {
  it.each([
    ['{"tokenRatio":0.1}', 'required retryThrottling.maxTokens'],
    ['{"maxTokens":0,"tokenRatio":0.1}', 'out-of-range retryThrottling.maxTokens'],
    ['{"maxTokens":1001,"tokenRatio":0.1}', 'out-of-range retryThrottling.maxTokens'],
    ['{"maxTokens":10.5,"tokenRatio":0.1}', 'out-of-range retryThrottling.maxTokens'],
    ['{"maxTokens":"10","tokenRatio":0.1}', 'wrong-type retryThrottling.maxTokens'],
    ['{"maxTokens":10}', 'required retryThrottling.tokenRatio'],
    ['{"maxTokens":10,"tokenRatio":0}', 'out-of-range retryThrottling.tokenRatio'],
    ['{"maxTokens":10,"tokenRatio":-1}', 'out-of-range retryThrottling.tokenRatio'],
    ['{"maxTokens":10,"tokenRatio":0.0004}', 'out-of-range retryThrottling.tokenRatio'],
    ['3', 'wrong-type retryThrottling'],
  ])('%s is refused', (text, finding) => {
    expect(told(throttling(text))).toEqual([finding]);
    expect(parse(throttling(text)).config).toBeNull();
  });

  it.each([
    ['0.1', 100],
    ['0.57', 570],
    ['0.29', 290],
    ['0.0019', 1],
    ['1e-3', 1],
    ['12.5e-1', 1250],
    ['0.5E+0', 500],
    ['5', 5000],
    ['50', 10_000],
    ['1e300', 10_000],
  ])('a tokenRatio of %s is %i thousandths: cut after the third digit, no more than the bucket', (ratio, milli) => {
    const config = accepted(throttling(`{"maxTokens":10,"tokenRatio":${ratio}}`));
    expect(config.throttling).toEqual({ maxMilliTokens: 10_000, milliTokensPerSuccess: milli });
  });
});

describe('other fields of an entry', () => {
  const at = 'methodConfig[0]';

  it.each([
    [{ timeout: '3c' }, `bad-duration ${at}.timeout`],
    [{ timeout: 3 }, `wrong-type ${at}.timeout`],
    [{ timeout: '-1s' }, `out-of-range ${at}.timeout`],
    [{ waitForReady: 'true' }, `wrong-type ${at}.waitForReady`],
    [{ waitForReady: 1 }, `wrong-type ${at}.waitForReady`],
    [{ maxRequestMessageBytes: '10' }, `wrong-type ${at}.maxRequestMessageBytes`],
    [{ maxResponseMessageBytes: -1 }, `out-of-range ${at}.maxResponseMessageBytes`],
    [
      { maxRequestBytes: 10, maxRequestMessageBytes: 1.5 },
      `unknown-field ${at}.maxRequestBytes`,
      `out-of-range ${at}.maxRequestMessageBytes`,
    ],
  ])('%j is refused', (fields, ...findings) => {
    expect(told(entry(fields))).toEqual(findings);
    expect(parse(entry(fields)).config).toBeNull();
  });

  it('a timeout of zero is accepted with a warning', () => {
    expect(told(entry({ timeout: '0s' }))).toEqual([`zero-timeout ${at}.timeout`]);
    expect(accepted(entry({ timeout: '0s' })).methodConfig[0]?.timeout).toBe(0);
  });

  it('good values are kept, a size of zero too', () => {
    const fields = {
      timeout: '1.5s',
      waitForReady: false,
      maxRequestMessageBytes: 0,
      maxResponseMessageBytes: 4194304,
    };
    expect(accepted(entry(fields)).methodConfig[0]).toMatchObject({ ...fields, timeout: 1500 });
  });
});
