import { expect, test } from 'vitest';
import { backendTable } from '../../../src/dashboard/backend-rows.js';
import { backendRow, snapshot } from './live.js';

function lineOf(rest: Parameters<typeof backendRow>[0]) {
  return backendTable(snapshot({ backends: [backendRow(rest)] }), 'up').lines[0];
}

test('a backend that is well', () => {
  expect(lineOf({})).toEqual({
    ...{ name: 'oak', address: '127.0.0.1:50061', state: 'ready', tone: 'good', why: '', since: '1 min 5 s' },
    ...{ inFlight: '1', failureRate: '2 %', answersIn: '13 ms', next: '–' },
  });
});

test.each([
  [{ state: 'parked', parked_for_ms: 21_400 }, 'parked', 'bad', '21 s: probe'],
  [{ state: 'parked', parked_for_ms: null }, 'parked', 'bad', 'until unparked'],
  [{ state: 'rate_limited', rate_limited_for_ms: 9000 }, 'rate limited', 'warn', '9 s: used again'],
  [{ state: 'down', next_connect_in_ms: 1200 }, 'down', 'bad', '1 s: connect'],
  [{ state: 'down', next_connect_in_ms: null }, 'down', 'bad', 'connecting'],
  [{ state: 'connecting' }, 'connecting', 'warn', '–'],
  [{ state: 'draining' }, 'draining', 'warn', '–'],
  [{ state: 'ready', standing: 'breached' }, 'ready', 'warn', '–'],
] as const)('%j', (rest, state, tone, next) => {
  expect(lineOf(rest)).toMatchObject({ state, tone, next });
});

test('calls that wait are told beside those in flight; without a sample there is no time to answer', () => {
  expect(lineOf({ in_flight: 4, queued: 2, ewma_ms: null })).toMatchObject({
    inFlight: '4 + 2 queued',
    answersIn: '–',
  });
});

test('of very many those that are amiss come first, and the rest is counted', () => {
  const many = Array.from({ length: 1000 }, (_, at) => backendRow({ name: `b${at}` }));
  const backends = [
    ...many,
    backendRow({ name: 'slow', state: 'rate_limited' }),
    backendRow({ name: 'gone', state: 'down' }),
    backendRow({ name: 'out', state: 'parked' }),
  ];
  const { lines, more } = backendTable(snapshot({ backends }), 'up');
  expect(lines.map(({ name }) => name).slice(0, 5)).toEqual(['gone', 'out', 'slow', 'b0', 'b1']);
  expect([lines.length, more]).toEqual([50, 953]);
});

test('once the connection is lost nobody counts down', () => {
  const parked = backendRow({ state: 'parked', parked_for_ms: 21_400 });
  const { lines, more } = backendTable(snapshot({ backends: [parked] }), 'lost');
  expect([lines[0]?.next, more]).toEqual(['–', 0]);
});
