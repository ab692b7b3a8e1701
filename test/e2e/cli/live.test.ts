import { afterEach, expect, test } from 'vitest';
import type { LiveSnapshot, RecentCall } from '../../../src/admin/live.js';
import { alive } from '../../support/alive.js';
import { type EventReader, readEvents, type ServerSentEvent } from '../../support/event-reader.js';
import { hedgeConfig } from '../../support/policies.js';
import { hedgerow, type Program } from '../../support/program.js';
import { type Behaviour, behave, connectRawClient, type RawBackend, startRawBackend } from '../../support/raw-peer.js';
import { retry } from '../../support/rig.js';

/*
 * What the built program tells of calls at /calls, /live and /events.
 */

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Stage {
  readonly program: Program;
  readonly admin: string;
  readonly backends: readonly RawBackend[];
  /** One call, to its end. */
  call(method: string): Promise<void>;
  get<T>(path: string): Promise<T>;
  events(lastEventId?: string): Promise<EventReader>;
}

/** The program with a backend for each behaviour: `b1`, `b2`, … */
async function start(config: unknown, behaviours: readonly Behaviour[], flags: readonly string[] = []): Promise<Stage> {
  const backends = await Promise.all(
    behaviours.map(async (behaviour) => {
      const backend = await startRawBackend({ port: 0 });
      closing.push(() => backend.close());
      backend.behave(behaviour);
      return backend;
    }),
  );
  const program = await hedgerow(
    [
      ...['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--service-config', 'config.json'],
      ...backends.flatMap(({ port }, at) => ['--backend', `b${at + 1}=127.0.0.1:${port}`]),
      ...flags,
    ],
    { files: { 'config.json': JSON.stringify(config) } },
  );
  for (const at of backends.keys())
    await program.line(({ event, backend }) => event === 'connected' && backend === `b${at + 1}`);
  const admin = await program.admin();
  const client = await connectRawClient(await program.port());
  closing.push(() => client.kill());
  return {
    program,
    admin,
    backends,
    async call(method) {
      await alive(`the end of ${method}`, client.call(method, { messages: ['hi'] }).done());
    },
    async get<T>(path: string) {
      const response = await alive(`an answer to ${path}`, fetch(`http://${admin}${path}`));
      expect(response.status).toBe(200);
      return (await response.json()) as T;
    },
    async events(lastEventId) {
      const reader = await readEvents(admin, lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
      closing.push(() => reader.close());
      return reader;
    },
  };
}

interface Calls {
  readonly calls: readonly RecentCall[];
}

function callsOf({ data }: ServerSentEvent): readonly RecentCall[] {
  return (data as Calls).calls;
}

/** An event with a call that `wanted` wants. */
function withCall(wanted: (call: RecentCall) => boolean): (event: ServerSentEvent) => boolean {
  return (event) => event.event === 'calls' && callsOf(event).some(wanted);
}

test('a call that was tried again is at /calls and comes on /events, with its attempts', async () => {
  const stage = await start(retry(), [behave.fail(14), behave.fail(14)]);
  const reader = await stage.events();
  expect(reader.status).toBe(200);
  expect(reader.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  await reader.until('a snapshot', ({ event }) => event === 'live');
  await stage.call('/shop.Stock/Get');
  const wanted = ({ retries }: RecentCall): boolean => retries > 0;
  const event = await reader.until('the call', withCall(wanted));
  const told = callsOf(event).find(wanted);
  if (told === undefined) throw new Error('the event has no such call');
  expect(told).toMatchObject({
    method: '/shop.Stock/Get',
    code: 'UNAVAILABLE',
    reason: 'attempts_exhausted',
    why: expect.stringContaining('attempts that the policy permits failed'),
    help: '/troubleshooting#attempts_exhausted',
  });
  expect(told.attempts.map(({ cause }) => cause)).toEqual(['first', ...Array(told.retries).fill('retry')]);
  expect(Math.abs(told.started - Date.now())).toBeLessThan(60_000);
  expect((await stage.get<Calls>('/calls')).calls).toEqual([told]);
  expect((await stage.get<Calls>(`/calls?call=${told.call}&method=/shop.Stock/`)).calls).toEqual([told]);
  expect((await stage.get<Calls>('/calls?method=/shop.Cart/')).calls).toEqual([]);
});

test('a hedged call comes too, with its winner and what was cancelled', async () => {
  const stage = await start(hedgeConfig({ maxAttempts: 2, delay: 5 }), [behave.silent, behave.silent]);
  const reader = await stage.events();
  for (const backend of stage.backends)
    backend.behave(async (stream) => {
      const previous = stream.raw.blocks[0]?.lines.find(([name]) => name === 'grpc-previous-rpc-attempts')?.[1];
      if (previous !== undefined) await behave.ok('pong')(stream);
    });
  await stage.call('/shop.Stock/Get');
  const event = await reader.until(
    'the call',
    withCall(({ hedges }) => hedges === 1),
  );
  expect(callsOf(event)[0]).toMatchObject({
    code: 'OK',
    attempts: [
      { cause: 'first', result: 'cancelled' },
      { cause: 'hedge', trigger: 'delay', result: 'ok', told: true },
    ],
  });
  expect(await stage.get<LiveSnapshot>('/live')).toMatchObject({
    calls: { ended: 1, ok: 1, saved: 0, retried: 0, hedged: 1, hedges_won: 1 },
    reasons: { ok: 1 },
    attempts: [0, 1, 0, 0, 0, 0],
  });
});

test('/live tells how the program is, and counts what a retry saved', async () => {
  const stage = await start({ ...(retry() as object), retryThrottling: { maxTokens: 10, tokenRatio: 0.5 } }, [
    behave.ok('pong'),
  ]);
  stage.backends[0]?.script([behave.fail(14), behave.ok('pong'), behave.ok('pong')]);
  await stage.call('/shop.Stock/Get');
  await stage.call('/shop.Stock/Get');
  const live = await stage.get<LiveSnapshot>('/live');
  expect(live).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    draining: false,
    ready: true,
    config: { path: 'config.json', rejected: false },
    in_flight: 0,
    clients: 1,
    calls: { ended: 2, ok: 2, saved: 1, retried: 1, hedged: 0, hedges_won: 0 },
    methods: [{ method: 'shop.Stock/Get', ended: 2, ok: 2, saved: 1 }],
    throttle: { max_tokens: 10, threshold: 5, token_ratio: 0.5, shut: false },
    replay: { held: 0, limit: 64 * 1024 * 1024 },
    backends: [{ name: 'b1', state: 'ready' }],
  });
  expect(live.latency.calls.counts.reduce((a, b) => a + b)).toBe(2);
  expect(Math.abs(live.at - Date.now())).toBeLessThan(60_000);
  const text = await (await fetch(`http://${stage.admin}/metrics`)).text();
  expect(text).toContain('hedgerow_calls_saved_total{method="shop.Stock/Get"} 1\n');
});

test('a reader that comes back with the last id is told the calls since', async () => {
  const stage = await start({}, [behave.fail(14)]);
  await stage.call('/s/First');
  const reader = await stage.events();
  const first = await reader.until(
    'the first call',
    withCall(({ method }) => method === '/s/First'),
  );
  reader.close();
  await stage.call('/s/Second');
  await stage.call('/s/Third');
  const again = await stage.events(first.id);
  const missed = await again.until('calls', ({ event }) => event === 'calls');
  expect(callsOf(missed).map(({ method }) => method)).toEqual(['/s/Third', '/s/Second']);
  const stranger = await stage.events('other1:1');
  const all = await stranger.until('calls', ({ event }) => event === 'calls');
  expect(callsOf(all).map(({ method }) => method)).toEqual(['/s/Third', '/s/Second', '/s/First']);
  expect(all.id).toBe(missed.id);
});

test('streams end when the program does, and do not keep it', async () => {
  const { program, events } = await start({}, [behave.ok('pong')]);
  const reader = await events();
  await reader.until('a snapshot', ({ event }) => event === 'live');
  program.signal('SIGTERM');
  await reader.closed();
  expect(await program.exited()).toBe(0);
});

test('--recent-calls 0 keeps none, and /events has snapshots alone', async () => {
  const stage = await start({}, [behave.fail(14)], ['--recent-calls', '0']);
  await stage.call('/s/M');
  expect(await stage.get('/calls')).toEqual({ calls: [] });
  const reader = await stage.events();
  await reader.until('a snapshot', ({ event, data }) => event === 'live' && (data as LiveSnapshot).calls.ended === 1);
  const first = await reader.until('calls', ({ event }) => event === 'calls');
  expect(callsOf(first)).toEqual([]);
});

test('without an access log calls are kept all the same', async () => {
  const stage = await start({}, [behave.fail(14)], ['--access-log', 'off']);
  await stage.call('/s/M');
  expect((await stage.get<Calls>('/calls?code=UNAVAILABLE')).calls).toHaveLength(1);
});
