import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/config/finding.js';
import { createThrottle } from '../../../src/policy/throttle.js';
import { accepted, parse, retry, told } from './config-text.js';

const retrying = { name: [{}], retryPolicy: retry };
const hedging = { name: [{ service: 'S' }], hedgingPolicy: { maxAttempts: 3, nonFatalStatusCodes: [14] } };

function throttling(text: string): string {
  return `{"retryThrottling":${text}}`;
}

/** The one finding, an error, of this text. */
function refused(text: string): string {
  const { config, findings } = parse(throttling(text));
  expect(config).toBeNull();
  expect(findings).toHaveLength(1);
  return `${findings[0]?.rule} ${findings[0]?.path.replace('retryThrottling.', '')}`;
}

function small(maxTokens: number, methodConfig: readonly object[]): readonly Finding[] {
  return parse(JSON.stringify({ retryThrottling: { maxTokens, tokenRatio: 1 }, methodConfig })).findings;
}

describe('group 1e: retryThrottling', () => {
  it.each(['3', '[]', '"x"'])('retryThrottling that is %s is refused', (text) => {
    expect(refused(text)).toBe('wrong-type retryThrottling');
  });

  it('CFG-67: maxTokens missing', () => {
    expect(refused('{"tokenRatio":0.1}')).toBe('required maxTokens');
    expect(refused('{"maxTokens":null,"tokenRatio":0.1}')).toBe('required maxTokens');
  });

  it.each([0, -1])('CFG-68: maxTokens %d is refused', (n) => {
    expect(refused(`{"maxTokens":${n},"tokenRatio":0.1}`)).toBe('out-of-range maxTokens');
  });

  it('CFG-69: maxTokens of 1000 is accepted, of 1001 refused', () => {
    const config = accepted(throttling('{"maxTokens":1000,"tokenRatio":0.1}'));
    expect(config.throttling).toEqual({ maxMilliTokens: 1_000_000, milliTokensPerSuccess: 100 });
    expect(refused('{"maxTokens":1001,"tokenRatio":0.1}')).toBe('out-of-range maxTokens');
  });

  it('CFG-70: maxTokens of 10.5 is refused; 10.0 is the integer 10 (DIS-44)', () => {
    expect(refused('{"maxTokens":10.5,"tokenRatio":0.1}')).toBe('out-of-range maxTokens');
    expect(refused('{"maxTokens":"10","tokenRatio":0.1}')).toBe('wrong-type maxTokens');
    expect(accepted(throttling('{"maxTokens":10.0,"tokenRatio":0.1}')).throttling?.maxMilliTokens).toBe(10_000);
  });

  it('CFG-71: maxTokens of 0.0001 is refused', () => {
    expect(refused('{"maxTokens":0.0001,"tokenRatio":0.1}')).toBe('out-of-range maxTokens');
  });

  it.each([
    ['{"maxTokens":10}', 'required'],
    ['{"maxTokens":10,"tokenRatio":0}', 'out-of-range'],
    ['{"maxTokens":10,"tokenRatio":0.0}', 'out-of-range'],
    ['{"maxTokens":10,"tokenRatio":-1}', 'out-of-range'],
    ['{"maxTokens":10,"tokenRatio":"0.1"}', 'wrong-type'],
  ])('CFG-72: the ratio of %s is refused', (text, rule) => expect(refused(text)).toBe(`${rule} tokenRatio`));

  it('CFG-74: a tokenRatio of 1 is a whole token, with a decimal point or without', () => {
    for (const ratio of ['1', '1.0', '1e0']) {
      const { throttling: limits } = accepted(throttling(`{"maxTokens":10,"tokenRatio":${ratio}}`));
      const bucket = createThrottle(limits);
      for (let failure = 0; failure < 5; failure++) bucket.count('failure');
      expect([bucket.state?.milliTokens, bucket.isShut(true)]).toEqual([5000, true]);
      bucket.count('success');
      bucket.count('success');
      expect([bucket.state?.milliTokens, bucket.isShut(true)]).toEqual([7000, false]);
    }
  });

  it.each(['0.0004', '0.000999', '9e-4'])('CFG-75: a tokenRatio of %s is cut to nothing, and refused', (ratio) => {
    expect(refused(`{"maxTokens":10,"tokenRatio":${ratio}}`)).toBe('out-of-range tokenRatio');
  });

  it.each([
    ['0.1', 100],
    ['0.57', 570],
    ['0.29', 290],
    ['0.0019', 1],
    ['1e-3', 1],
    ['12.5e-1', 1250],
    ['0.5E+0', 500],
  ])('a tokenRatio of %s is %i thousandths: cut after the third digit', (ratio, milli) => {
    const config = accepted(throttling(`{"maxTokens":10,"tokenRatio":${ratio}}`));
    expect(config.throttling).toEqual({ maxMilliTokens: 10_000, milliTokensPerSuccess: milli });
  });

  it.each([
    ['5', 5000],
    ['50', 10_000],
    ['1e300', 10_000],
  ])('CFG-76: a tokenRatio of %s is accepted, and gives no more than the bucket holds', (ratio, milli) => {
    const { throttling: limits } = accepted(throttling(`{"maxTokens":10,"tokenRatio":${ratio}}`));
    expect(limits?.milliTokensPerSuccess).toBe(milli);
    const bucket = createThrottle(limits);
    bucket.count('failure');
    bucket.count('success');
    expect(bucket.state?.milliTokens).toBe(10_000);
  });

  it.each([1, 2, 10])('CFG-77: %i tokens in a config without policies are accepted without a word', (maxTokens) => {
    expect(small(maxTokens, [{ name: [{}], timeout: '1s' }])).toEqual([]);
    expect(small(maxTokens, [])).toEqual([]);
  });

  it('CFG-78: in an entry it has no effect, and is told so', () => {
    const text = JSON.stringify({ methodConfig: [{ ...retrying, retryThrottling: { maxTokens: 1, tokenRatio: 1 } }] });
    expect(told(text)).toEqual(['misplaced-field methodConfig[0].retryThrottling']);
    expect(accepted(text).throttling).toBeNull();
  });
});

describe('throttle-too-small', () => {
  it.each([1, 2])('%i tokens let no call be retried, which is told at maxTokens (THR-02, THR-03)', (maxTokens) => {
    expect(small(maxTokens, [retrying, hedging])).toMatchObject([
      {
        rule: 'throttle-too-small',
        severity: 'warning',
        path: 'retryThrottling.maxTokens',
        column: 33,
        message: expect.stringContaining('no call is ever retried'),
      },
    ]);
  });

  it('where all policies hedge, what is lost is the hedge after a failure', () => {
    expect(small(2, [hedging])).toMatchObject([
      { rule: 'throttle-too-small', message: expect.stringContaining('no hedge ever follows a failure') },
    ]);
  });

  it('the bucket itself agrees on where the warning ends', () => {
    for (let maxTokens = 1; maxTokens <= 5; maxTokens++) {
      const text = JSON.stringify({ retryThrottling: { maxTokens, tokenRatio: 1 }, methodConfig: [retrying] });
      const { config, findings } = parse(text);
      const shut = createThrottle(config?.throttling ?? null).isShut(true);
      expect([maxTokens, findings.length > 0]).toEqual([maxTokens, shut]);
    }
  });

  it('is told beside what else is wrong with the bucket', () => {
    const text = JSON.stringify({ methodConfig: [retrying], retryThrottling: { maxTokens: 1, tokenRatio: 0 } });
    expect(told(text)).toEqual([
      'throttle-too-small retryThrottling.maxTokens',
      'out-of-range retryThrottling.tokenRatio',
    ]);
  });
});
