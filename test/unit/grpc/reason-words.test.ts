import { expect, test } from 'vitest';
import { reasonInWords } from '../../../src/grpc/reason-words.js';
import { Status } from '../../../src/grpc/status.js';
import { stopReasons } from '../../../src/grpc/stop-reason.js';

test('each stop reason has words of its own, and is not told by its name', () => {
  const words = stopReasons.map((reason) => reasonInWords({ reason, code: Status.UNAVAILABLE, attempts: 2 }));
  expect(new Set(words).size).toBe(stopReasons.length);
  for (const each of words) {
    expect(each.split(' ').length).toBeGreaterThan(3);
    expect(each).not.toMatch(/_policy|undefined/);
  }
});

test('a fatal status is named', () => {
  const words = reasonInWords({ reason: 'fatal_status', code: Status.NOT_FOUND, attempts: 1 });
  expect(words).toBe('NOT_FOUND is not among the codes that the policy tries again for: the client gets it at once');
});

test.each([
  [1, 'the one attempt that the policy permits failed'],
  [2, 'all 2 attempts that the policy permits failed'],
])('exhausted attempts are counted: %i', (attempts, words) => {
  expect(reasonInWords({ reason: 'attempts_exhausted', code: Status.UNAVAILABLE, attempts })).toBe(words);
});
