import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { runDemo } from '../../../src/demo/run-demo.js';
import { createStartProxy, type StartProxy } from '../../../src/demo/start-proxy.js';
import { createNodeAlarms } from '../../../src/runtime/alarms.js';
import { nodeClock } from '../../../src/runtime/clock.js';
import { nodeTurn } from '../../../src/runtime/turn.js';

const alarms = createNodeAlarms();
const startProxy = createStartProxy({ clock: nodeClock, random: { next: () => 0.1 }, alarms, turn: nodeTurn });

async function play(calls: number | null, interrupted: AbortSignal, out: (text: string) => void): Promise<void> {
  const serviceConfigText = await readFile(new URL('../../../service-config.json', import.meta.url), 'utf8');
  await runDemo({ calls, interrupted, serviceConfigText, startProxy, out, color: false, width: 100 });
}

/** Each call's block in short: method, status, and for each attempt its backend and how it ended. */
function inShort(text: string): string[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('#'))
    .map((block) => {
      const [head = '', ...lines] = block.split('\n');
      const method = /^#\d+ (\S+)/.exec(head)?.[1] ?? '';
      const status = /(\S+) {2}[\d.]+ ms$/.exec(head)?.[1] ?? '';
      const attempts = lines.flatMap((line) => {
        const [, backend, end] = /^ {3}\d+ (\S+) +│.*│ +[\d.]+ ms {2}(\S+)/.exec(line) ?? [];
        return backend === undefined ? [] : [`${backend} ${end}`];
      });
      return `${method} ${status}: ${attempts.join(', ')}`;
    });
}

test('twelve calls show every shape, retries, a replay, a fatal status, a deadline and a method without a policy', async () => {
  let text = '';
  await play(12, new AbortController().signal, (part) => {
    text += part;
  });
  // Both clocks end the archive call at one instant; whose word comes first is theirs to settle.
  const calls = inShort(text).map((line) => line.replace('slow DEADLINE_EXCEEDED', 'slow given'));
  expect(calls).toEqual([
    'Orders/GetOrder OK: well OK',
    'Orders/GetOrder OK: flaky UNAVAILABLE, well OK',
    'Orders/ListOrders OK: slow OK',
    'Orders/UploadOrders OK: well OK',
    'Orders/UploadOrders OK: flaky UNAVAILABLE, slow OK',
    'Orders/GetOrder OK: slow RESOURCE_EXHAUSTED, flaky UNAVAILABLE, well OK',
    'Orders/GetOrder NOT_FOUND: well NOT_FOUND',
    'Orders/Chat OK: flaky OK',
    'Orders/GetOrder DEADLINE_EXCEEDED: slow given',
    'Orders/Chat OK: well OK',
    'Payments/Charge UNAVAILABLE: flaky UNAVAILABLE',
    'Orders/GetOrder OK: slow OK',
  ]);
  expect(text).not.toMatch(/^ +the client saw [A-Z]/m);
  expect(text).toContain('12 calls, 16 attempts\n');
  expect(text).toMatch(/failures the client saw +3 {3}NOT_FOUND × 1, DEADLINE_EXCEEDED × 1, UNAVAILABLE × 1\n/);
  expect(text).toMatch(/failures without retries +6\n/);
  expect(text).toContain('status details reached the client untouched: NO_SUCH_ORDER (orders.demo)');
  expect(alarms.pending).toBe(0);
});

test('without a number of calls it goes on until it is interrupted, and sums up', async () => {
  const interrupt = new AbortController();
  let text = '';
  await play(null, interrupt.signal, (part) => {
    text += part;
    if (part.startsWith('#2')) interrupt.abort();
  });
  expect(inShort(text)).toHaveLength(2);
  expect(text).toContain('2 calls, 3 attempts\n');
});

test('a proxy that cannot start is told, and nothing is left running', async () => {
  const refuse: StartProxy = () => Promise.reject(new Error('no port is free'));
  const options = { calls: 1, interrupted: new AbortController().signal, serviceConfigText: '{}', color: false };
  const run = runDemo({ ...options, startProxy: refuse, out: () => {}, width: 100 });
  await expect(run).rejects.toThrow('no port is free');
});

test('a service config that is not valid is refused before anything is called', async () => {
  const options = { calls: 1, interrupted: new AbortController().signal, serviceConfigText: '{', color: false };
  await expect(runDemo({ ...options, startProxy, out: () => {}, width: 100 })).rejects.toThrow('hedgerow check');
});
