import { describe, expect, it } from 'vitest';
import type { LiveSnapshot, RecentCall } from '../../../src/admin/live.js';
import { drawFrame } from '../../../src/cli/top-frame.js';
import type { Look } from '../../../src/cli/top-look.js';
import { firstState, step, type TopState } from '../../../src/cli/top-state.js';
import { createPaint } from '../../../src/text/paint.js';
import { backend, exhausted, hedgedCall, histogram, live, recentCall } from '../../support/live.js';

const look = (changes: Partial<Look> = {}): Look => ({
  size: { columns: 80, rows: 24 },
  paint: createPaint(false),
  source: '127.0.0.1:9901',
  now: 5000,
  timeOfDay: (at) => new Date(at).toISOString().slice(11, 19),
  ...changes,
});

function read(snapshots: readonly LiveSnapshot[], calls: readonly RecentCall[] = []): TopState {
  return snapshots.reduce((state, snapshot) => step(state, { type: 'read', snapshot, calls }), firstState);
}

const busy = [
  live(),
  live({
    at: 1_760_000_012_000,
    uptime_ms: 12_000,
    in_flight: 7,
    clients: 2,
    calls: { ended: 400, ok: 380, cancelled: 0, saved: 20, retried: 25, hedged: 30, hedges_won: 10 },
    codes: { OK: 380, UNAVAILABLE: 20 },
    reasons: { ok: 380, attempts_exhausted: 15, throttled: 5 },
    attempts: [360, 30, 10, 0, 0],
    latency: {
      calls: histogram([300, 50, 20, 20, 10, 0]),
      first_ended: histogram([0, 0, 10, 0, 0, 0]),
      first_cut: histogram([0, 0, 0, 20, 0, 0]),
    },
    throttle: { tokens: 7.5, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 5 },
    backends: [
      backend('a', { in_flight: 5, calls: 300, failures: 3, failure_rate: 0.01 }),
      backend('b', {
        state: 'parked',
        in_flight: 2,
        calls: 100,
        failures: 40,
        failure_rate: 0.62,
        parked_for_ms: 24_000,
        why: '5 attempts in a row failed there',
      }),
      backend('c', {
        state: 'down',
        why: 'backend c at 127.0.0.1:50061: connect refused (ECONNREFUSED)',
        next_connect_in_ms: 640,
      }),
    ],
  }),
];

const calls = [recentCall(1), hedgedCall(2), exhausted(3)];

/** Key by key. */
function press(state: TopState, ...keys: readonly string[]): TopState {
  return keys.reduce((before, key) => step(before, { type: 'key', key }), state);
}

describe('the screen of hedgerow top', () => {
  it('TOP-01: a frame: the sentence, the figures, backends, calls as waterfalls, and why the newest ended so', () => {
    expect(drawFrame(read(busy, calls), look()).map((line) => line.trimEnd())).toEqual(
      `hedgerow 0.1.0  127.0.0.1:9901                                 up 12 s  08:53:32
■ 5 % of calls fail, most often with UNAVAILABLE.

calls     200/s   in flight 7   2 clients   last 2 s
success   95 %   without retries 90 %   attempts per call 1.13
latency   p50 6.7 ms   p99 128 ms   p99 without hedges 149 ms
ends      attempts_exhausted 15   throttled 5
tokens    │■■■■■■■■■■┃■■■■■·····│ 7.5 of 10; retries above 5

BACKEND  STATE        IN FLIGHT  FAILED OF LATE BACK IN   WHY
b        parked               2      40    62 % 24 s      5 attempts in a row f…
c        down                 0       0     0 % 640 ms    connect refused (ECON…
a        ready                5       3     1 %

CALLS that failed or took more than one attempt, newest first
08:53:20 Cart/Add             │▒▒▒··········▒▒▒│  100 ms attempts_exhausted
08:53:20 Search/Find          │░░░░░░░░░░░░████│   80 ms OK by a hedge


0abc-3: a UNAVAILABLE, b UNAVAILABLE
all 2 attempts that the policy permits failed → look at the backends; more
attempts help only where failures are brief
(http://127.0.0.1:9901/troubleshooting#attempts_exhausted)
q quit  p pause  j k choose  / filter  a all calls`.split('\n'),
    );
  });

  it('TOP-02: no line is wider than the terminal and there are no more than it has rows, whatever their number', () => {
    const many = Array.from({ length: 30 }, (_, index) =>
      backend(`a-backend-with-a-long-name-${index}`, { why: 'w'.repeat(300) }),
    );
    const wide = Array.from({ length: 50 }, (_, index) => exhausted(index + 1, { method: `/p/${'M'.repeat(400)}` }));
    for (const link of ['up', 'lost'] as const) {
      let state = read([live(), live({ ...busy[1], backends: many })], wide);
      if (link === 'lost') state = step(state, { type: 'failed', why: 'x '.repeat(100), now: 0 });
      for (const columns of [72, 73, 80, 133, 300]) {
        for (const rows of [1, 2, 5, 10, 24, 60]) {
          const lines = drawFrame(state, look({ size: { columns, rows } }));
          expect(lines.length, `${columns}x${rows}`).toBe(rows);
          for (const line of lines) expect([...line].length, line).toBeLessThanOrEqual(columns);
        }
      }
    }
  });

  it('TOP-03: backends that are not well come first, so that they are seen where not all have room', () => {
    const backends = [
      backend('a'),
      backend('b'),
      backend('c'),
      backend('d'),
      backend('e'),
      backend('z', { state: 'down' }),
    ];
    const lines = drawFrame(read([live({ backends })]), look({ size: { columns: 80, rows: 17 } }));
    const at = lines.findIndex((line) => line.startsWith('BACKEND'));
    expect(lines[at + 1]).toMatch(/^z +down /);
    expect(lines.find((line) => line.includes('more: GET /backends'))).toMatch(/^… and \d more/);
  });

  it('TOP-04: the chosen call is marked, seen, and told in words', () => {
    const many = Array.from({ length: 40 }, (_, index) => exhausted(40 - index, { call: `id-${40 - index}` }));
    const state = press(read([live()], many), 'G');
    const marked = drawFrame(state, look({ paint: (tone, text) => (tone === 'chosen' ? `<${text}>` : text) }));
    expect(marked.filter((line) => line.startsWith('<'))).toHaveLength(1);
    expect(marked.some((line) => line.startsWith('id-1: a UNAVAILABLE, b UNAVAILABLE'))).toBe(true);
  });

  it('TOP-05: the connection is lost: what was seen last stays, with why and for how long', () => {
    const state = step(read(busy, calls), { type: 'failed', why: 'nothing listens at 127.0.0.1:9901', now: 2000 });
    const lines = drawFrame(state, look());
    expect(lines[1]).toBe('✕ nothing listens at 127.0.0.1:9901; trying again, for 3 s now');
    expect(lines.some((line) => line.startsWith('calls     200/s'))).toBe(true);
  });

  it('before anything was read there is the address, and what is wrong', () => {
    expect(drawFrame(firstState, look()).slice(0, 3)).toEqual([
      'hedgerow top  127.0.0.1:9901',
      '',
      'asking 127.0.0.1:9901 …',
    ]);
    const failed = step(firstState, { type: 'failed', why: 'nothing listens there', now: 5000 });
    expect(drawFrame(failed, look())[2]).toBe('✕ nothing listens there; trying again, for 0 s now');
  });

  it('TOP-06: text of peers cannot steer the terminal', () => {
    const hostile = '\u001b[2J\u0007\u202e';
    const state = read(
      [live({ version: hostile, backends: [backend(hostile, { state: 'down', why: hostile })] })],
      [exhausted(1, { method: `/p.S/${hostile}`, why: hostile, call: hostile })],
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    for (const line of drawFrame(state, look())) expect(line).not.toMatch(/[\u0000-\u001f\u202e]/);
  });

  it('without a terminal: all backends, ten calls, no keys', () => {
    const many = Array.from({ length: 40 }, (_, index) => exhausted(40 - index));
    const lines = drawFrame(
      read([live({ backends: Array.from({ length: 30 }, (_, i) => backend(`b${i}`)) })], many),
      look({ size: { columns: 80, rows: null } }),
    );
    expect(lines.filter((line) => /^b\d/.test(line))).toHaveLength(30);
    expect(lines.filter((line) => line.includes('Cart/Add'))).toHaveLength(10);
    expect(lines.join('\n')).not.toContain('quit');
  });

  it('the bucket is shut at its threshold, and open above it by however little', () => {
    const throttle = { tokens: 5, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: true, suppressed: 0 };
    const tokens = (changes: Partial<typeof throttle>): string | undefined =>
      drawFrame(read([live({ throttle: { ...throttle, ...changes } })]), look()).find((line) =>
        line.startsWith('tokens'),
      );
    expect(tokens({})).toBe('tokens    │■■■■■■■■■■┃··········│ 5 of 10; no retries until above 5');
    expect(tokens({ tokens: 5.1, shut: false })).toBe('tokens    │■■■■■■■■■■┃■·········│ 5.1 of 10; retries above 5');
    expect(tokens({ tokens: 0 })).toBe('tokens    │··········┃··········│ 0 of 10; no retries until above 5');
  });

  it('says what is paused, what is filtered, and what is being typed', () => {
    const state = read([live()], calls);
    const foot = (of: TopState): string | undefined => drawFrame(of, look()).at(-1);
    expect(foot(press(state, 'p'))).toMatch(/^PAUSED q quit {2}p go on/);
    expect(foot(press(state, '/', 'C', 'a'))).toBe('/Ca▏ Enter: show only these calls, Esc: leave it');
    expect(drawFrame(press(state, '/', 'F', 'i', 'n', 'd', 'enter'), look())).toContain(
      'CALLS that failed or took more than one attempt with "Find", newest first',
    );
  });

  it('a state of a newer proxy is shown as it stands', () => {
    const row = { ...backend('a'), state: 'resting' } as unknown as ReturnType<typeof backend>;
    expect(drawFrame(read([live({ backends: [row] })]), look()).some((line) => /^a +resting/.test(line))).toBe(true);
  });
});
