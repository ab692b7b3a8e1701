import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { runDemo } from '../../../src/demo/run-demo.js';
import { createStartProxy, type StartProxy } from '../../../src/demo/start-proxy.js';
import { createNoMeters } from '../../../src/proxy/no-meters.js';
import { createNodeAlarms } from '../../../src/runtime/alarms.js';
import { nodeClock } from '../../../src/runtime/clock.js';
import { nodeTurn } from '../../../src/runtime/turn.js';
import { built } from '../../support/build.js';
import { hedgerow, type Program, ran } from '../../support/program.js';
import { inShort } from './in-short.js';

const alarms = createNodeAlarms();
const startProxy = createStartProxy(
  { clock: nodeClock, random: { next: () => 0.1 }, alarms, turn: nodeTurn },
  createNoMeters(),
);

async function play(
  calls: number | null,
  interrupted: AbortSignal,
  out: (text: string) => void,
  edit: (config: string) => string = (config) => config,
): Promise<void> {
  const serviceConfigText = edit(await readFile(new URL('../../../service-config.json', import.meta.url), 'utf8'));
  const admin = 'off';
  await runDemo({ calls, interrupted, serviceConfigText, admin, startProxy, out, color: false, width: 100 });
}

describe('hedgerow demo --calls 12, the built program', () => {
  // Whoever comes first builds, and that is no part of a test's time.
  beforeAll(async () => void (await built()));

  test('shows every feature, each with its stop reason and its tokens, and ends by itself', async () => {
    const { code, out, err } = await ran(['demo', '--calls', '12']);
    expect(err).toBe('');
    expect(code).toBe(0);
    const calls = inShort(out);
    const seen = calls.map(({ method, status, attempts, tokens, reason }) => [
      `${method} ${status}`,
      attempts.join(', '),
      tokens,
      reason,
    ]);
    expect(seen).toEqual([
      ['Orders/GetOrder OK', 'UNAVAILABLE, OK ◀', '10 → 9.5', null],
      ['Orders/FindOrder OK', 'cancelled, cancelled (hedge), OK (hedge) ◀', '9.5 → 10', null],
      ['Orders/UploadOrders OK', 'UNAVAILABLE, OK ◀', '10 → 9.5', null],
      ['Orders/GetOrder RESOURCE_EXHAUSTED', 'RESOURCE_EXHAUSTED ◀', '9.5 → 8.5', 'pushback'],
      ['Orders/GetOrder UNAVAILABLE', 'UNAVAILABLE ◀', '8.5 → 7.5', 'pinned'],
      ['Orders/GetOrder OK', 'UNAVAILABLE, OK ◀', '7.5 → 7', null],
      ['Orders/GetOrder UNAVAILABLE', 'UNAVAILABLE ◀', '7 → 6', 'backoff_beyond_deadline'],
      ['Orders/GetOrder UNAVAILABLE', 'UNAVAILABLE ◀', '6 → 5', 'throttled'],
      ['Orders/GetOrder OK', 'OK ◀', '5 → 5.5', null],
      ['Orders/Chat OK', 'OK ◀', '5.5 → 6', null],
      ['Orders/ListOrders OK', 'OK ◀', '6 → 6.5', null],
      ['Orders/GetOrder OK', 'UNAVAILABLE, OK ◀', '6.5 → 6', null],
    ]);
    expect(out).toMatch(/\n12 calls, 18 attempts\n/);
    expect(out).toMatch(/failures the client saw +4 {3}RESOURCE_EXHAUSTED × 1, UNAVAILABLE × 3\n/);
    expect(out).toMatch(/failures without retries +8\n/);
    expect(out).toMatch(/slow calls that a hedge answered sooner +1\n/);

    const [retry, hedges, , , pinned, loosened, , throttled, excluded] = calls;
    // Whom the proxy picks is its affair, within what the client asked.
    for (const { backends } of calls) expect(new Set(backends).size).toBe(backends.length);
    expect(retry?.words).toContain('grpc-previous-rpc-attempts none, 1');
    expect(hedges?.words).toContain('hedgerow-hedged: true');
    expect(hedges?.words).toContain('without hedges the client would have waited for 1000 ms');
    expect(pinned?.backends).toEqual(['elm']);
    expect(pinned?.words).toContain('[pinned to elm]');
    expect(pinned?.words).toContain('→ send hedgerow-allow-retry: true');
    expect(loosened?.backends[0]).toBe('elm');
    expect(loosened?.words).toContain('[first to elm]');
    expect(throttled?.words).toContain('6 → 5 of 10: no retries now');
    expect(excluded?.backends).toEqual(['hazel']);
  });

  test('the wait that the backend asked for is kept to, never cut short', async () => {
    const { out } = await ran(['demo', '--calls', '3']);
    const waited = /· ([\d.]+) ms ·/.exec(out.slice(out.indexOf('#3')))?.[1];
    expect(Number(waited)).toBeGreaterThanOrEqual(150);
  });

  test('without a number of calls it goes on until it is interrupted, sums up, and exits 0', async () => {
    const program = await hedgerow(['demo']);
    await program.said('#2');
    program.signal('SIGINT');
    expect(await program.exited()).toBe(0);
    expect(program.err).toBe('');
    expect(program.out).toMatch(/\n\d+ calls?, \d+ attempts\n/);
  });
});

describe('the demo’s dashboard', () => {
  beforeAll(async () => void (await built()));

  /** Where it says that the dashboard is. */
  async function dashboardOf(program: Program): Promise<string> {
    await program.said('#1');
    return /^dashboard: (http:\S+)$/m.exec(program.out)?.[1] ?? 'nowhere';
  }

  test('is served while it runs, before the first call is drawn, and shows its calls', async () => {
    const program = await hedgerow(['demo', '--admin', '127.0.0.1:0']);
    const url = await dashboardOf(program);
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const { calls } = (await (await fetch(new URL('calls', url))).json()) as { calls: { retries: number }[] };
    expect(calls.at(-1)?.retries).toBe(1);
    const live = (await (await fetch(new URL('live', url))).json()) as { calls: { saved: number } };
    expect(live.calls.saved).toBeGreaterThanOrEqual(1);
  });

  test('is at another port where the usual one is taken', async () => {
    // One of the two has it, or neither, where something else on this machine does.
    const programs = [await hedgerow(['demo']), await hedgerow(['demo'])];
    const urls = await Promise.all(programs.map(dashboardOf));
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) expect((await fetch(new URL('healthz', url))).status).toBe(200);
  });

  test('is nowhere with --admin off, and --admin with a taken port is an error', async () => {
    const { out } = await ran(['demo', '--calls', '1', '--admin', 'off']);
    expect(out).not.toContain('dashboard');
    const program = await hedgerow(['demo', '--admin', '127.0.0.1:0']);
    const { host } = new URL(await dashboardOf(program));
    expect(await ran(['demo', '--admin', host])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^hedgerow demo: [^\n]*--admin[^\n]*\n$/),
    });
  });
});

test('the first calls of a newcomer have a retried one and a hedged one', async () => {
  let text = '';
  await play(2, new AbortController().signal, (part) => {
    text += part;
  });
  expect(inShort(text).map(({ attempts }) => attempts.length)).toEqual([2, 3]);
  expect(alarms.pending).toBe(0);
});

test('what the client saw is what the proxy says it told it, in every call of a round and of what follows', async () => {
  let text = '';
  // A hedge after 60 ms would race with the failure that brings it forward, wherever the machine is busy.
  const late = (config: string): string => config.replace(/"hedgingDelay": "[^"]*"/, '"hedgingDelay": "1.5s"');
  await play(
    26,
    new AbortController().signal,
    (part) => {
      text += part;
    },
    late,
  );
  expect(text).not.toMatch(/the client saw [A-Z]/);
  // Ordinary calls fill the bucket; after them comes what the first twelve have no room for.
  const calls = inShort(text).slice(12);
  expect(calls.slice(0, 8).map(({ attempts, tokens }) => [attempts.join(), tokens])).toEqual(
    ['6 → 6.5', '6.5 → 7', '7 → 7.5', '7.5 → 8', '8 → 8.5', '8.5 → 9', '9 → 9.5', '9.5 → 10'].map((tokens) => [
      'OK ◀',
      tokens,
    ]),
  );
  expect(calls.slice(8).map(({ status, attempts, reason }) => [status, attempts.length, reason])).toEqual([
    ['OK', 2, null],
    ['NOT_FOUND', 1, 'fatal_status'],
    ['UNAVAILABLE', 1, 'no_policy'],
    ['UNAVAILABLE', 4, 'attempts_exhausted'],
    ['UNAVAILABLE', 1, 'buffer_exceeded'],
    ['OK', 1, null],
  ]);
  expect(text).toContain('status details came through untouched: SHEDDING_LOAD (orders.demo)');
});

test('without a number of calls it makes no further one once it is interrupted, and sums up', async () => {
  const interrupt = new AbortController();
  let text = '';
  await play(null, interrupt.signal, (part) => {
    text += part;
    if (part.startsWith('#2')) interrupt.abort();
  });
  expect(inShort(text)).toHaveLength(2);
  expect(text).toContain('2 calls, 5 attempts\n');
});

const quiet = { admin: 'off', color: false };

test('a proxy that cannot start is told, and nothing is left running', async () => {
  const refuse: StartProxy = () => Promise.reject(new Error('no port is free'));
  const options = { ...quiet, calls: 1, interrupted: new AbortController().signal, serviceConfigText: '{}' };
  const run = runDemo({ ...options, startProxy: refuse, out: () => {}, width: 100 });
  await expect(run).rejects.toThrow('no port is free');
});

test('a service config that is not valid is refused before anything is called', async () => {
  const options = { ...quiet, calls: 1, interrupted: new AbortController().signal, serviceConfigText: '{' };
  await expect(runDemo({ ...options, startProxy, out: () => {}, width: 100 })).rejects.toThrow('hedgerow check');
});
