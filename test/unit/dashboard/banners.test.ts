import { expect, test } from 'vitest';
import { bannersOf } from '../../../src/dashboard/banners.js';
import { backendRow, snapshot } from './live.js';

test('a proxy that is well has none', () => {
  expect(bannersOf(snapshot(), 'up')).toEqual([]);
});

test('a lost connection is told, with what is on the page', () => {
  expect(bannersOf(null, 'lost')).toMatchObject([{ id: 'lost', text: 'Connection lost, trying again.' }]);
  expect(bannersOf(snapshot(), 'lost')).toMatchObject([
    { id: 'lost', tone: 'bad', text: 'Connection lost, trying again. What you see is how it was.' },
  ]);
});

test('draining, a config that was not taken, and every parked backend', () => {
  const parked = { state: 'parked', parked_for_ms: 90_000, why: null } as const;
  const banners = bannersOf(
    snapshot({
      draining: true,
      in_flight: 1,
      config: { path: null, version: '4c7d', rejected: true },
      backends: [
        backendRow(),
        backendRow({ name: 'elm', ...parked }),
        backendRow({ name: 'ash', ...parked, parked_for_ms: null, why: 'parked by hand' }),
      ],
    }),
    'up',
  );
  expect(banners.map(({ id, text }) => [id, text])).toEqual([
    ['draining', 'The proxy is draining: 1 call left.'],
    [
      'rejected',
      'The service config has changed and was not taken: it is not valid. Version 4c7d stays in force; /config tells what is wrong.',
    ],
    ['parked', 'Parked: elm for 1 min 30 s; ash until unparked (parked by hand).'],
  ]);
});

test('a page that was turned away from the stream says why it is slow', () => {
  expect(bannersOf(snapshot(), 'crowded')).toEqual([
    {
      id: 'crowded',
      tone: 'warn',
      text: 'Too many dashboards are open: this one asks each 2 s, until there is room for it.',
    },
  ]);
});

test('a drain that is over is told instead of the calls that are left', () => {
  expect(bannersOf(snapshot({ draining: true, drained: true }), 'up')).toMatchObject([
    { id: 'draining', text: 'Drained: it waits for the signal to end.' },
  ]);
});

test('of many parked backends a few are named; once the connection is lost without the time that was left', () => {
  const backends = Array.from({ length: 9 }, (_, at) =>
    backendRow({ name: `b${at}`, state: 'parked', parked_for_ms: at === 1 ? null : 5000 }),
  );
  expect(bannersOf(snapshot({ backends }), 'up').map(({ text }) => text)).toEqual([
    'Parked: b0 for 5 s; b1 until unparked; b2 for 5 s; and 6 more.',
  ]);
  expect(bannersOf(snapshot({ backends }), 'lost').map(({ text }) => text)[1]).toBe(
    'Parked: b0; b1 until unparked; b2; and 6 more.',
  );
});
