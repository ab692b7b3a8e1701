import { expect, test } from 'vitest';
import { mostStreams } from '../../../src/admin/event-hub.js';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import { describeLive } from '../../../src/admin/live-state.js';
import type { Program } from '../../../src/admin/program.js';
import { createNoMeters } from '../../../src/proxy/no-meters.js';
import { ask } from './ask.js';
import { backend, down, World } from './backends.js';
import { failed, retried } from './call-records.js';

function ids(world: World, query: string): string[] {
  const { status, body } = ask(`/calls${query}`, world);
  expect(status).toBe(200);
  return (body as { readonly calls: readonly { readonly call: string }[] }).calls.map(({ call }) => call);
}

test('/calls has the newest first, as far as the query wants them', () => {
  const world = new World();
  expect(ids(world, '')).toEqual([]);
  for (const id of ['a', 'b', 'c']) world.ring.onCallEnded(failed({ id }));
  world.ring.onCallEnded(retried({ id: 'd' }));
  expect(ids(world, '')).toEqual(['d', 'c', 'b', 'a']);
  expect(ids(world, '?code=UNAVAILABLE&limit=2')).toEqual(['c', 'b']);
  expect(ids(world, '?since=2')).toEqual(['d', 'c']);
  expect(ids(world, '?limit=1')).toEqual(['d']);
});

test('/calls with a query that is wrong is 400 with a sentence', () => {
  expect(ask('/calls?code=TEAPOT', new World())).toEqual({
    status: 400,
    body: { error: expect.stringContaining('code=TEAPOT is no status code') },
  });
});

function live(world: World): LiveSnapshot {
  const { status, body } = ask('/live', world);
  expect(status).toBe(200);
  return body as LiveSnapshot;
}

test('/live tells how things are', () => {
  const world = new World([backend(), down]);
  const throttle = { tokens: 9, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 3 };
  world.bucket = throttle;
  expect(live(world)).toMatchObject({
    instance: 'first',
    at: 1_700_000_001_000,
    uptime_ms: 1000,
    draining: false,
    ready: true,
    config: { path: null, version: '', rejected: false },
    in_flight: 2,
    clients: 1,
    throttle,
    replay: { held: 15, limit: 1000 },
    backends: [
      { name: 'b1', state: 'ready' },
      { name: 'b2', state: 'down' },
    ],
  });
});

test('/live is ready when /readyz is 200', () => {
  const draining = new World();
  draining.isDraining = true;
  for (const world of [new World(), new World([down]), new World([]), draining])
    expect(live(world).ready).toBe(ask('/readyz', world).status === 200);
  expect(live(draining).draining).toBe(true);
});

test.each([
  [null, false],
  ['it is gone', true],
])('a config file that is not what is in force is told as rejected: %s', (problem, rejected) => {
  const world = new World();
  const brief = { path: 'a.json', version: 'v1', problem };
  world.program = { configBrief: () => brief } as unknown as Program;
  expect(live(world).config).toEqual({ path: 'a.json', version: 'v1', rejected });
});

test.each([
  ['draining', false],
  ['drained', true],
] as const)('a drain that is over is told as such: %s', (phase, drained) => {
  const world = new World();
  world.isDraining = true;
  world.program = {
    phase,
    configBrief: () => ({ path: null, version: '1', problem: null }),
  } as unknown as Program;
  expect(live(world)).toMatchObject({ draining: true, drained });
});

test('of methods those with most calls are told, 50 at most', () => {
  const calls = { ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 };
  const methods = Array.from({ length: 60 }, (_, at) => ({ method: `s/M${at}`, ended: 60 - at, ...calls }));
  const readings = { instance: 'first', at: 0, uptime: 0, inFlight: 0, clients: 0, replayHeld: 0, replayLimit: 0 };
  const told = describeLive({ ...readings, numbers: { ...createNoMeters().live(), methods } }, new World()).methods;
  expect(told).toEqual(methods.slice(0, 50));
});

test('/events is a stream while there is room', () => {
  const world = new World();
  const answer = ask('/events', world);
  expect(answer).toMatchObject({ status: 200, type: 'text/event-stream; charset=utf-8' });
  for (let at = 0; at < mostStreams; at += 1) answer.stream?.({ write() {}, end() {}, cut() {}, unsent: 0, taken: 0 });
  expect(ask('/events', world)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
});

test('each is answered for GET and HEAD alone', () => {
  for (const path of ['/calls', '/live', '/events'])
    expect(ask(path, new World(), { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});
