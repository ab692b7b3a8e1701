import { expect, it } from 'vitest';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { askAll } from '../../../src/workers/admin-group.js';
import { LiveBook } from '../../../src/workers/admin-live.js';
import type { OwnFacts } from '../../../src/workers/merge-live.js';
import { backend, histogram, live } from '../../support/live.js';

const own: OwnFacts = {
  instance: 'run',
  at: 1,
  uptime_ms: 1,
  draining: false,
  drained: false,
  config: { path: null, version: '', rejected: false },
};

/** Of a worker that had so many calls, all of them at backend a. */
function having(count: number): LiveSnapshot {
  const plain = live();
  return live({
    calls: { ...plain.calls, ended: count, ok: count },
    codes: { OK: count },
    latency: { ...plain.latency, calls: histogram([count, 0, 0, 0, 0, 0]) },
    backends: [backend('a', { calls: count })],
    in_flight: 3,
  });
}

it('WRK-12, WRK-15: totals are of all that ever told theirs, the rest of those that answer', () => {
  const book = new LiveBook();
  for (const [worker, count] of [
    [1, 1],
    [2, 20],
    [3, 300],
  ] as const)
    book.hear(worker, having(count));
  book.leave(1);
  book.leave(1);
  const { snapshot } = book.merge([{ worker: 3, answer: having(300) }], own);
  expect(snapshot).toMatchObject({
    calls: { ended: 321, ok: 321 },
    codes: { OK: 321 },
    latency: { calls: { counts: [321, 0, 0, 0, 0, 0] } },
    backends: [{ name: 'a', calls: 321 }],
    in_flight: 3,
    clients: 1,
  });
  book.leave(2);
  book.leave(3);
  expect(book.merge([], own).snapshot).toMatchObject({
    version: '0.1.0',
    calls: { ended: 321 },
    backends: [],
    ready: false,
  });
});

it('WRK-15: what is no answer to a question is left out', async () => {
  const ask = async () => [
    { worker: 1, answer: { kind: 'metrics' } as const },
    { worker: 2, answer: { kind: 'ready', connected: ['a'] } as const },
  ];
  expect(await askAll({ ask }, { kind: 'ready' })).toEqual([
    { worker: 2, answer: { kind: 'ready', connected: ['a'] } },
  ]);
});
