import { expect, test } from 'vitest';
import { remedyFor } from '../../../src/grpc/remedies.js';
import { stopReasons } from '../../../src/grpc/stop-reason.js';

test('every stop reason but those where nothing is wrong has a remedy, of its own words', () => {
  const without = stopReasons.filter((reason) => remedyFor(reason) === null);
  expect(without).toEqual(['ok', 'client_cancelled']);
  const remedies = stopReasons.map(remedyFor).filter((remedy) => remedy !== null);
  expect(new Set(remedies).size).toBe(remedies.length);
  for (const remedy of remedies) expect(remedy.length).toBeLessThanOrEqual(80);
});

test('the remedies name the key or flag that helps', () => {
  expect(remedyFor('pinned')).toContain('hedgerow-allow-retry: true');
  expect(remedyFor('buffer_exceeded')).toContain('--per-call-buffer-limit');
  expect(remedyFor('overloaded')).toContain('--queue-limit');
});
