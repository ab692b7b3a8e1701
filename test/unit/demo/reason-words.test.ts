import { expect, test } from 'vitest';
import { reasonInWords } from '../../../src/demo/reason-words.js';
import { Status } from '../../../src/grpc/status.js';
import { stopReasons } from '../../../src/grpc/stop-reason.js';
import { attempt, call, failed } from './records.js';

test.each(stopReasons)('%s is told in words, not by its name', (reason) => {
  const words = reasonInWords(call({ reason, code: Status.UNAVAILABLE }));
  expect(words.split(' ').length).toBeGreaterThan(3);
  expect(words).not.toContain('_policy');
  expect(words).not.toContain('undefined');
});

test('an OK tells how many retries it took', () => {
  const attempts = [failed('a', 0, 1), failed('b', 2, 3), attempt('c', 4, 5)];
  expect(reasonInWords(call())).toBe('answered at the first attempt');
  expect(reasonInWords(call({ attempts, retries: 2 }))).toBe('2 retries, and the client never saw a failure');
  expect(reasonInWords(call({ attempts, retries: 1, replayPeak: 1 }))).toBe(
    '1 retry, and the client never saw a failure; 1 request byte had been kept and went again',
  );
});

test('a fatal status is named', () => {
  expect(reasonInWords(call({ reason: 'fatal_status', code: Status.NOT_FOUND }))).toContain('NOT_FOUND is not in');
});

test('exhausted attempts are counted', () => {
  const attempts = [failed('a', 0, 1), failed('b', 2, 3)];
  expect(reasonInWords(call({ reason: 'attempts_exhausted', attempts, retries: 1 }))).toContain('all 2 attempts');
});
