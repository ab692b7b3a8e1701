import { describe, expect, it } from 'vitest';
import { compileMethods } from '../../../src/config/methods.js';
import { describeCodes, describePlan, showMillis } from '../../../src/config/policy-words.js';
import { accepted, retry } from './config-text.js';

function words(policy: object): string {
  const text = JSON.stringify({ methodConfig: [{ name: [{}], ...policy }] });
  return describePlan(compileMethods(accepted(text, 10)).lookup('/S/M').plan);
}

describe('describePlan', () => {
  it('no policy', () => {
    expect(words({})).toBe('no policy: one attempt; only what no application saw is sent again');
  });

  it.each([
    [{}, '100ms, 200ms, 400ms'],
    [{ maxAttempts: 2 }, '100ms'],
    [{ maxBackoff: '0.25s' }, '100ms, 200ms, 250ms'],
    [{ backoffMultiplier: 1 }, '100ms each time'],
    [{ backoffMultiplier: 0.5 }, '100ms, 50ms, 25ms'],
    [{ initialBackoff: '2s' }, '1s each time'],
    [{ initialBackoff: '2s', backoffMultiplier: 0.25 }, '1s, 500ms, 125ms'],
    [{ backoffMultiplier: 1e308 }, '100ms, 1s, 1s'],
    [{ maxAttempts: 9, maxBackoff: '5s' }, '100ms, 200ms, 400ms, 800ms, 1.6s … 5s'],
  ])('a retryPolicy with %j tells its waits', (fields, waits) => {
    const { maxAttempts } = { ...retry, ...fields };
    expect(words({ retryPolicy: { ...retry, ...fields } })).toBe(
      `retry: up to ${maxAttempts} attempts, one after another, on UNAVAILABLE; waits ${waits}, ± 20%`,
    );
  });

  it('a hedgingPolicy tells its pace and what ends it', () => {
    const hedge = { maxAttempts: 3, hedgingDelay: '0.05s', nonFatalStatusCodes: ['UNAVAILABLE', 'ABORTED'] };
    expect(words({ hedgingPolicy: hedge })).toBe(
      'hedge: up to 3 attempts, one every 50ms, the first answer wins; ' +
        'ABORTED or UNAVAILABLE starts the next at once, any other failure ends the call',
    );
    expect(words({ hedgingPolicy: { maxAttempts: 2 } })).toBe(
      'hedge: up to 2 attempts, all at once, the first answer wins; any failure ends the call',
    );
    expect(words({ hedgingPolicy: { maxAttempts: 2, nonFatalStatusCodes: [14] } })).toBe(
      'hedge: up to 2 attempts, all at once, the first answer wins; UNAVAILABLE is waited out, any other failure ends the call',
    );
  });
});

describe('words', () => {
  it.each([
    [0, '0ms'],
    [0.000001, '0.000001ms'],
    [123.456789, '123.456789ms'],
    [999.999999, '999.999999ms'],
    [1000, '1s'],
    [1234.567891, '1.234567891s'],
    [60_000, '1m'],
    [61_000, '61s'],
    [315_576_000_000_000, '5259600000m'],
  ])('%d ms are %s', (time, text) => expect(showMillis(time)).toBe(text));

  it('codes stand in the order of their numbers, one that has no name as its number', () => {
    expect(describeCodes(new Set([14, 1, 10]))).toBe('CANCELLED, ABORTED or UNAVAILABLE');
    expect([describeCodes(new Set([300])), describeCodes(new Set())]).toEqual(['300', 'no status']);
  });
});
