import { describe, expect, it } from 'vitest';
import { clockTime, fieldsOf, jsonOf, storyOf, toneOf } from '../../../src/dashboard/call-words.js';
import { attempt, call, hedgedCall, throttledCall } from './live.js';

describe('storyOf()', () => {
  it.each([
    [call(), '1 retry'],
    [call({ retries: 3 }), '3 retries'],
    [hedgedCall(), '2 hedges, a hedge won'],
    [
      hedgedCall({
        ...{ retries: 1, hedges: 1 },
        attempts: [attempt({}), attempt({ cause: 'hedge', told: undefined, result: 'cancelled' })],
      }),
      '1 hedge, the first won',
    ],
    [hedgedCall({ attempts: [attempt({ told: undefined, result: 'cancelled' })] }), '2 hedges'],
    [call({ retries: 0, transparent: 1 }), '1 sent again unseen'],
    [throttledCall(), '1 attempt'],
  ])('%#: %s', (given, words) => {
    expect(storyOf(given)).toBe(words);
  });
});

describe('toneOf()', () => {
  it('a client that cancelled its call is no failure of ours', () => {
    const cancelled = throttledCall({ code: 'CANCELLED', reason: 'client_cancelled' });
    expect([call(), throttledCall(), cancelled].map(toneOf)).toEqual(['good', 'bad', 'warn']);
  });
});

describe('fieldsOf()', () => {
  it('all there is to say, and nothing else', () => {
    expect(Object.fromEntries(fieldsOf(throttledCall({ pin: 'oak', pin_mode: 'strict' })))).toEqual({
      'call id': 'run1-3',
      method: '/shop.v1.Orders/GetOrder',
      started: '2027-01-15T08:00:00.000Z',
      took: '12 ms',
      deadline: '5 s after its start',
      status: 'UNAVAILABLE',
      message: 'restarting',
      reason: 'throttled',
      'told by': 'backend',
      processed: 'unknown',
      pin: 'oak (strict)',
      retries: '0',
      hedges: '0',
      'sent again unseen': '0',
      'committed by': 'nothing',
      'request bytes kept': '12',
    });
    expect(fieldsOf(call({ deadline_ms: undefined })).map(([name]) => name)).not.toContain('pin');
    expect(fieldsOf(call({ deadline_ms: undefined }))).toContainEqual(['deadline', 'none']);
    expect(fieldsOf(call({ pin: 'oak', pin_mode: 'first_attempt' }))).toContainEqual(['pin', 'oak (first attempt)']);
  });
});

it('a call as JSON is the call', () => {
  expect(JSON.parse(jsonOf(hedgedCall()))).toEqual(JSON.parse(JSON.stringify(hedgedCall())));
});

it('the time of day has milliseconds', () => {
  const noon = new Date(2027, 0, 15, 12, 3, 4, 7);
  expect(clockTime(noon.getTime())).toBe('12:03:04.007');
});
