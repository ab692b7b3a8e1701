import { describe, expect, it } from 'vitest';
import { type BackendRow, type BackendState, describeBackend } from '../../../src/admin/backend-state.js';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth } from '../../../src/balance/health-types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { connectedRows, mergeBackendRows } from '../../../src/workers/merge-backends.js';
import { backend } from '../admin/backends.js';

const well = createHealth(defaultHealth).of(backendId('b1')).stats(0);
const plain = describeBackend(backend(), well, { since: 400, releaseRoute: null, losses: {} }, 'flags', 1000);

function row(rest: Partial<BackendRow> = {}): BackendRow {
  return { ...plain, ...rest };
}

const parked = {
  state: 'parked',
  standing: 'parked',
  why: '3 attempts in a row failed there',
  park_reason: 'consecutive_failures',
  park_streak: 1,
  parked_for_ms: 5000,
} as const satisfies Partial<BackendRow>;

/** One backend, as the workers have it. */
function merged(...rows: readonly Partial<BackendRow>[]): BackendRow {
  const [only, ...others] = mergeBackendRows(rows.map((rest) => [row(rest)]));
  if (only === undefined || others.length > 0) throw new Error('one row was to come of it');
  return only;
}

describe('the rows of several workers', () => {
  it('WRK-11: the rows of one worker come out as they went in', () => {
    const rows = [row({ name: 'b2', ...parked, ewma_ms: 3.4, samples: 5, calls: 8, failure_rate: 0.271 }), row()];
    expect(mergeBackendRows([rows])).toEqual(rows);
    expect(mergeBackendRows([])).toEqual([]);
  });

  it('WRK-11: backends come in the order of the first worker’s list, those that others have alone after them', () => {
    const lists = [
      ['b2', 'b1'],
      ['b1', 'b3', 'b2'],
    ].map((names) => names.map((name) => row({ name })));
    expect(mergeBackendRows(lists).map(({ name }) => name)).toEqual(['b2', 'b1', 'b3']);
  });

  it('WRK-11: counts are added up', () => {
    const counts = (n: number) => ({
      in_flight: n,
      queued: n + 1,
      connections: n + 2,
      calls: n + 3,
      successes: n + 4,
      failures: n + 5,
      timeouts: n + 6,
      rate_limited: n + 7,
      samples: n + 8,
    });
    expect(
      merged({ ...counts(0), losses: { failed: 2 } }, { ...counts(10), losses: { failed: 1, re_dispatched: 4 } }),
    ).toMatchObject({
      in_flight: 10,
      queued: 12,
      connections: 14,
      calls: 16,
      successes: 18,
      failures: 20,
      timeouts: 22,
      rate_limited: 24,
      samples: 26,
      losses: { failed: 3, re_dispatched: 4 },
    });
  });

  it('WRK-11: averages count by what they are of', () => {
    const row = merged(
      { failure_rate: 0.5, calls: 1, ewma_ms: 10, samples: 1 },
      { failure_rate: 0.1, calls: 2, ewma_ms: 3.3, samples: 2 },
      { failure_rate: 0, calls: 0, ewma_ms: null, samples: 0 },
    );
    expect([row.failure_rate, row.ewma_ms]).toEqual([0.233, 5.5]);
    expect(merged({}, {})).toMatchObject({ failure_rate: 0, ewma_ms: null });
  });

  it('WRK-11: rows of failures and marks are those of the worker that has most', () => {
    expect(
      merged(
        {
          consecutive_failures: 2,
          consecutive_hard_failures: 1,
          generation: 3,
          park_streak: 0,
          rate_limited_for_ms: 7,
        },
        {
          consecutive_failures: 1,
          consecutive_hard_failures: 4,
          generation: 2,
          park_streak: 2,
          threshold_breached: true,
        },
        { recent_failure: true },
      ),
    ).toMatchObject({
      consecutive_failures: 2,
      consecutive_hard_failures: 4,
      generation: 3,
      park_streak: 2,
      rate_limited_for_ms: 7,
      threshold_breached: true,
      recent_failure: true,
    });
  });

  it('WRK-11: the longest park is told with its reason, one without an end above all', () => {
    const long = { ...parked, parked_for_ms: 9000, park_reason: 'not_serving' } as const;
    expect(merged(parked, long, {})).toMatchObject({ parked_for_ms: 9000, park_reason: 'not_serving' });
    const endless = { ...parked, parked_for_ms: null, park_reason: 'operator' } as const;
    expect(merged(long, endless, parked)).toMatchObject({ parked_for_ms: null, park_reason: 'operator' });
    const limited = { state: 'rate_limited', standing: 'rate_limited', park_reason: 'rate_limited' } as const;
    expect(merged({}, limited)).toMatchObject({ parked_for_ms: 0, park_reason: 'rate_limited' });
    expect(merged(limited, parked)).toMatchObject({ parked_for_ms: 5000, park_reason: 'consecutive_failures' });
  });

  it('WRK-11: the next try is the soonest, and an error is told if anybody has one', () => {
    expect(
      merged({}, { next_connect_in_ms: 300, last_error: 'refused' }, { next_connect_in_ms: 200, last_error: 'reset' }),
    ).toMatchObject({ next_connect_in_ms: 200, last_error: 'refused' });
    expect(merged({}, {})).toMatchObject({ next_connect_in_ms: null, last_error: null });
    // That of the worker whose state is told comes first.
    const down = { state: 'down', why: 'reset', last_error: 'reset' } as const;
    expect(merged({ last_error: 'refused', release_route: 'success' }, down)).toMatchObject({
      last_error: 'reset',
      release_route: 'success',
    });
  });

  it('WRK-11: the shares of max-calls come to the limit again', () => {
    expect(merged({ max_calls: 4 }, { max_calls: 3 }).max_calls).toBe(7);
    expect(merged({ max_calls: null }, { max_calls: null }).max_calls).toBeNull();
  });
});

describe('the state over several workers', () => {
  it('WRK-11: where all agree it is theirs, with the words of one', () => {
    expect(merged({}, {})).toMatchObject({ state: 'ready', why: null });
    const other = { ...parked, why: '4 attempts in a row failed there' };
    expect(merged(parked, other)).toMatchObject({ state: 'parked', why: '3 attempts in a row failed there' });
  });

  it('WRK-11: a backend is ready only where all workers say so, and told is in how many it is not', () => {
    expect(merged({}, { ...parked, since_ms: 70 })).toMatchObject({
      state: 'parked',
      since_ms: 70,
      why: 'in 1 of 2 workers: 3 attempts in a row failed there',
    });
    expect(merged(parked, {}, parked).why).toBe('in 2 of 3 workers: 3 attempts in a row failed there');
    expect(merged({ ...parked, why: null }, {}).why).toBe('in 1 of 2 workers');
  });

  it.each<[BackendState, BackendState]>([
    ['draining', 'down'],
    ['down', 'connecting'],
    ['connecting', 'parked'],
    ['parked', 'rate_limited'],
    ['rate_limited', 'ready'],
  ])('WRK-11: %s is told before %s, whoever says it', (worse, better) => {
    expect(merged({ state: worse }, { state: better }).state).toBe(worse);
    expect(merged({ state: better }, { state: worse }).state).toBe(worse);
  });

  it('WRK-11: of ready ones the words are about the one that is worst off', () => {
    const recent = { standing: 'recent', why: 'an attempt failed there' } as const;
    const breached = { standing: 'breached', why: 'too many failed there' } as const;
    expect(merged({}, recent)).toMatchObject({ standing: 'recent', why: 'in 1 of 2 workers: an attempt failed there' });
    expect(merged(recent, breached, {})).toMatchObject({
      standing: 'breached',
      why: 'in 1 of 3 workers: too many failed there',
    });
    expect(merged(recent, recent)).toMatchObject({ state: 'ready', why: 'an attempt failed there' });
  });

  it('WRK-11: the standing is the worst, whosever state is told', () => {
    expect(merged({ state: 'down' }, parked)).toMatchObject({ state: 'down', standing: 'parked' });
  });

  it('WRK-11: of equals told is the one that has been so for longest', () => {
    expect(merged({ since_ms: 5 }, { since_ms: 90 }, { since_ms: 40 }).since_ms).toBe(90);
  });

  it('WRK-11: a worker that does not have a backend is not among those that say how it is', () => {
    const rows = mergeBackendRows([[row(parked)], []]);
    expect(rows).toMatchObject([{ state: 'parked', why: '3 attempts in a row failed there' }]);
  });

  it('WRK-11: a connection in any worker makes a backend one that is connected', () => {
    const lists = [
      [row({ name: 'b1', connections: 0 }), row({ name: 'b2', connections: 0 })],
      [row({ name: 'b1', connections: 1 }), row({ name: 'b2', connections: 0 })],
    ];
    expect(connectedRows(mergeBackendRows(lists))).toBe(1);
  });
});

describe('counts of workers that are gone', () => {
  it('WRK-12: are part of a backend’s counts, and not of its averages', () => {
    const gone = { calls: 10, successes: 1, failures: 9, timeouts: 2, rate_limited: 3, losses: { failed: 4 } };
    const rows = mergeBackendRows(
      [[row({ calls: 2, successes: 2, failure_rate: 0.1, losses: { failed: 1 } }), row({ name: 'b2' })]],
      new Map([
        ['b1', gone],
        ['b3', gone],
      ]),
    );
    expect(rows).toMatchObject([
      { calls: 12, successes: 3, failures: 9, timeouts: 2, rate_limited: 3, losses: { failed: 5 }, failure_rate: 0.1 },
      { name: 'b2', calls: 0, losses: {} },
    ]);
  });
});
