import { expect, it } from 'vitest';
import { mergeSessionStats } from '../../../src/workers/session-stats.js';

const nothing = { created: 0, used: 0, expired: 0, lost: 0, evicted: 0, refused: 0, released: 0, cleared: 0 };

it('WRK-05: the sessions of all workers are told as those of one process: what became of them by the primary, their use by workers', () => {
  const primary = { size: 4, calls: 3, outcomes: { ...nothing, created: 7, expired: 1, lost: 2, refused: 5 } };
  const workers = [
    { size: 0, calls: 10, outcomes: { ...nothing, used: 20 } },
    { size: 0, calls: 1, outcomes: { ...nothing, used: 3 } },
  ];
  expect(mergeSessionStats(primary, workers)).toEqual({
    size: 4,
    calls: 11,
    outcomes: { ...primary.outcomes, used: 23 },
  });
  expect(mergeSessionStats(primary, [])).toEqual({ ...primary, calls: 0 });
});
