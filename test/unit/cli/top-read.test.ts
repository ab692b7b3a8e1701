import { expect, it } from 'vitest';
import { readTopOptions } from '../../../src/cli/top-options.js';
import { type HttpAnswer, readTop } from '../../../src/cli/top-read.js';
import { asCalls, asSnapshot } from '../../../src/cli/top-shape.js';
import { backend, exhausted, hedgedCall, live, recentCall } from '../../support/live.js';

const address = { kind: 'tcp', host: '127.0.0.1', port: 9901 } as const;

function answering(of: Readonly<Record<string, HttpAnswer>>) {
  const other: HttpAnswer = { ok: true, status: 404, body: '{"error":"there is no such path"}' };
  return async (_address: unknown, path: string): Promise<HttpAnswer> => of[path] ?? other;
}

const json = (value: unknown, status = 200): HttpAnswer => ({ ok: true, status, body: JSON.stringify(value) });
const throttle = { tokens: 1, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: true, suppressed: 0 };

it('what the admin listener answers is taken', async () => {
  const snapshot = live({ throttle, backends: [backend('a', { next_connect_in_ms: 5, why: 'x' })] });
  const calls = [exhausted(3), hedgedCall(2), recentCall(1)];
  const get = answering({ '/live': json(snapshot), '/calls?limit=200': json({ calls }) });
  expect(await readTop(get, address)).toEqual({ ok: true, snapshot, calls });
});

it('more fields than are known are no matter', () => {
  expect(asSnapshot({ ...live(), weather: 'fair' }).ok).toBe(true);
});

const fine = { '/live': json(live()), '/calls?limit=200': json({ calls: [] }) };
const failed = (code: string, message = 'went wrong'): HttpAnswer => ({ ok: false, code, message });

it.each<[string, Record<string, HttpAnswer>, string]>([
  [
    'nobody listens',
    { '/live': failed('ECONNREFUSED') },
    'nothing listens at 127.0.0.1:9901; start hedgerow serve, or name its --admin address',
  ],
  [
    'no such socket',
    { '/live': failed('ENOENT') },
    'nothing listens at 127.0.0.1:9901; start hedgerow serve, or name its --admin address',
  ],
  ['no answer', { '/live': failed('ETIMEDOUT') }, '127.0.0.1:9901 does not answer in time'],
  ['no such host', { '/live': failed('ENOTFOUND') }, '127.0.0.1:9901: there is no such host'],
  ['no right to', { '/live': failed('EACCES') }, '127.0.0.1:9901 may not be opened'],
  ['another error', { '/live': failed('EPIPE', 'broken\npipe') }, '127.0.0.1:9901 does not answer: broken\\u{a}pipe'],
  [
    'a refusal with a reason',
    { '/live': json({ error: 'the Host is not one' }, 421) },
    '127.0.0.1:9901 answered /live with 421: the Host is not one',
  ],
  [
    'a refusal without one',
    { '/live': { ok: true, status: 500, body: '<html>' } },
    '127.0.0.1:9901 answered /live with 500',
  ],
  [
    'another server',
    { '/live': { ok: true, status: 200, body: 'hello' } },
    'what answers at 127.0.0.1:9901 is no admin listener of hedgerow (/live: no object)',
  ],
  [
    'another program’s JSON',
    { '/live': json({ instance: 'x', version: 3 }) },
    'what answers at 127.0.0.1:9901 is no admin listener of hedgerow (/live: nothing fit at version)',
  ],
  [
    'calls that are none',
    { '/calls?limit=200': json({ calls: [recentCall(1), { ...recentCall(2), attempts: [{}] }] }) },
    'what answers at 127.0.0.1:9901 is no admin listener of hedgerow (/calls: nothing fit at calls[1].attempts[0].backend)',
  ],
])('TOP-13: %s: one sentence', async (_name, changes, problem) => {
  expect(await readTop(answering({ ...fine, ...changes }), address)).toEqual({ ok: false, problem });
});

it('every field that is used is checked: none may be missing', () => {
  for (const key of Object.keys(live())) {
    if (key === 'replay' || key === 'methods') continue;
    expect(asSnapshot({ ...live(), [key]: undefined }).ok, key).toBe(false);
  }
  for (const key of ['seq', 'started', 'call', 'method', 'code', 'reason', 'hedges', 'ms', 'attempts', 'why', 'help']) {
    expect(asCalls({ calls: [{ ...recentCall(1), [key]: undefined }] }).ok, key).toBe(false);
  }
  expect(asSnapshot({ ...live(), reasons: { ok: 'many' } }).ok).toBe(false);
  expect(asSnapshot({ ...live(), backends: {} }).ok).toBe(false);
});

it('options: defaults, and what is given', () => {
  const defaults = { admin: address, interval: 1000, once: false, json: false };
  expect(readTopOptions([])).toEqual({ ok: true, options: defaults });
  expect(readTopOptions(['--admin', 'unix:/run/a.sock', '--interval', '250ms', '--once', '--json'])).toEqual({
    ok: true,
    options: { admin: { kind: 'unix', path: '/run/a.sock' }, interval: 250, once: true, json: true },
  });
});

it.each([
  [['here'], 'unexpected argument "here"; an address is given by --admin'],
  [['--admin', 'x'], '--admin "x": not an address; write HOST:PORT, [IPV6]:PORT or unix:PATH'],
  [
    ['--admin', '127.0.0.1:0'],
    '--admin "127.0.0.1:0": port 0 is none to ask; the line "ready" of the log has the port',
  ],
  [
    ['--interval', '1'],
    '--interval "1": a duration needs a unit; write a number and ms, s, m or h, like 250ms, 1.5s or 2m',
  ],
  [['--interval', '10ms'], '--interval "10ms": must be from 100ms to 1h'],
  [['--onse'], 'unknown flag --onse; did you mean --once?'],
])('wrong usage is one line: %j', (argv, problem) => {
  expect(readTopOptions(argv)).toEqual({ ok: false, problem });
});
