import { expect, test } from 'vitest';
import { drawLegend, drawSummary } from '../../../src/demo/summary.js';
import { drawCall, type ShownCall } from '../../../src/demo/waterfall.js';
import { Status } from '../../../src/grpc/status.js';
import type { CallRecord } from '../../../src/proxy/observer.js';
import { attempt, call, failed } from './records.js';

const plain = { color: false, width: 84 };

function shown(record: CallRecord, rest: Partial<ShownCall> = {}): ShownCall {
  return { number: 1, title: 'unary', lesson: null, record, before: null, after: null, notes: [], ...rest };
}

function draw(record: CallRecord, look = plain, rest: Partial<ShownCall> = {}): string {
  return drawCall(shown(record, rest), look);
}

test('a call answered at once is one full bar', () => {
  expect(draw(call())).toBe(
    `
#1 Orders/GetOrder  unary                                               OK  100.0 ms
   1 well  │████████████████████│ 100.0 ms  OK ◀
     answered at the first attempt
`.slice(1),
  );
});

test('a retry stands to the right of what it waited for, the wait in dots', () => {
  const attempts = [failed('flaky', 0, 10), attempt('well', 90, 100, { cause: 'retry' })];
  expect(draw(call({ attempts, retries: 1, replayPeak: 40 }))).toBe(
    `
#1 Orders/GetOrder  unary                                               OK  100.0 ms
   1 flaky │▒▒                  │  10.0 ms  UNAVAILABLE  no
   2 well  │  ··· 80.0 ms ····██│  10.0 ms  OK ◀
     1 retry, and the client never saw a failure; 40 request bytes had been kept and
     went again
`.slice(1),
  );
});

test('retries and kept bytes are counted, one and several', () => {
  const attempts = [failed('a', 0, 1), failed('b', 2, 3), attempt('c', 4, 5)];
  const last = (record: CallRecord): string | undefined =>
    draw(record, { color: false, width: 110 }).trimEnd().split('\n').at(-1);
  expect(last(call({ attempts, retries: 2 }))).toBe('     2 retries, and the client never saw a failure');
  expect(last(call({ attempts, retries: 1, replayPeak: 1 }))).toContain(
    '; 1 request byte had been kept and went again',
  );
});

test('a wait without room for its figure tells it beside the bar', () => {
  const attempts = [failed('flaky', 0, 70), attempt('well', 90, 100, { cause: 'retry' })];
  const [, , second] = draw(call({ attempts, retries: 1 })).split('\n');
  expect(second).toBe('   2 well  │              ····██│  10.0 ms  OK ◀  after 20.0 ms');
});

test('an attempt too short for a column still shows, at the right edge too', () => {
  const attempts = [failed('flaky', 0, 0.1), attempt('well', 99.9, 100, { cause: 'retry' })];
  const lines = draw(call({ attempts, retries: 1 })).split('\n');
  expect(lines[1]).toBe('   1 flaky │▒                   │   0.1 ms  UNAVAILABLE  no');
  expect(lines[2]).toBe('   2 well  │ ···· 99.8 ms ·····█│   0.1 ms  OK ◀');
});

test('a call of no length at all is drawn', () => {
  const record = call({ endedAt: 1000, attempts: [attempt('well', 0, 0)] });
  expect(draw(record).split('\n')[1]).toBe('   1 well  │█                   │   0.0 ms  OK ◀');
});

test('a status of the backend’s own is the client’s; its words are shown as far as they fit', () => {
  const attempts = [failed('well', 0, 100, { code: Status.NOT_FOUND, message: 'there is no order 7 anywhere here' })];
  expect(draw(call({ attempts, code: Status.NOT_FOUND, reason: 'fatal_status', commit: null }))).toBe(
    `
#1 Orders/GetOrder  unary                                        NOT_FOUND  100.0 ms
   1 well  │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│ 100.0 ms  NOT_FOUND ◀  there is no order 7 anywhe…
     fatal_status: NOT_FOUND is not among the codes that the policy tries again for:
     the client gets it at once
     → list the code only if another attempt may end otherwise and does no harm
     (docs/troubleshooting.md#fatal_status)
`.slice(1),
  );
});

test('a status that the proxy made is no attempt’s', () => {
  const attempts = [attempt('slow', 0, 100, { result: 'cancelled', code: Status.CANCELLED })];
  const record = call({
    attempts,
    code: Status.DEADLINE_EXCEEDED,
    reason: 'deadline_exceeded',
    origin: 'proxy',
    commit: null,
  });
  expect(draw(record, plain, { notes: ['one more thing'] })).toBe(
    `
#1 Orders/GetOrder  unary                                DEADLINE_EXCEEDED  100.0 ms
   1 slow  │░░░░░░░░░░░░░░░░░░░░│ 100.0 ms  cancelled
     deadline_exceeded: the deadline passed: the client’s own, or the method’s
     timeout
     → give the call more time, or hedge a method that is slow now and then
     (docs/troubleshooting.md#deadline_exceeded)
     one more thing
`.slice(1),
  );
});

test('a lost connection, a repeat unseen and a place not found have words of their own', () => {
  const attempts = [
    failed('well', 0, 20, { result: 'lost' }),
    attempt(null, 40, 60, { cause: 'retry', result: 'unplaced', code: Status.UNAVAILABLE, message: '' }),
    attempt('slow', 60, 100, { cause: 'transparent' }),
  ];
  expect(
    draw(call({ attempts, retries: 1 }))
      .split('\n')
      .slice(1, 4),
  ).toEqual([
    '   1 well    │▒▒▒▒              │  20.0 ms  connection lost  no',
    '   2 nowhere │    ···▒▒▒▒       │  20.0 ms  no connection  after 20.0 ms',
    '   3 slow    │           ███████│  40.0 ms  OK (sent again unseen) ◀',
  ]);
});

const hedges = [
  attempt('elm', 0, 100, { result: 'cancelled', code: Status.CANCELLED }),
  attempt('oak', 40, 100, { cause: 'hedge', result: 'cancelled', code: Status.CANCELLED }),
  attempt('hazel', 80, 99, { cause: 'hedge' }),
];

test('hedges stand on one axis, each with its delay before it; the winner is marked, the losers are cancelled', () => {
  const look = { color: false, width: 100 };
  expect(draw(call({ attempts: hedges, retries: 2 }), look)).toBe(
    `
#1 Orders/GetOrder  unary                                                               OK  100.0 ms
   1 elm   │░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░│ 100.0 ms  cancelled
   2 oak   │╌╌ 40.0 ms ╌╌╌░░░░░░░░░░░░░░░░░░░░░░│  60.0 ms  cancelled (hedge)
   3 hazel │              ╌╌╌ 40.0 ms ╌╌╌███████│  19.0 ms  OK (hedge) ◀
     2 hedges: attempt 3, a hedge, answered first
`.slice(1),
  );
});

test('the first attempt may win over its hedges, and is the one marked', () => {
  const attempts = [
    attempt('elm', 0, 100),
    attempt('oak', 40, 100, { cause: 'hedge', result: 'cancelled', code: Status.CANCELLED }),
  ];
  const [, first, second, end] = draw(call({ attempts, retries: 1 })).split('\n');
  expect(first).toMatch(/OK ◀$/);
  expect(second).not.toContain('◀');
  expect(end).toBe('     1 hedge: the first one answered');
});

test('a hedge that a failure brought forward waits from that failure on', () => {
  const attempts = [failed('elm', 0, 30), attempt('oak', 31, 100, { cause: 'hedge' })];
  expect(draw(call({ attempts, retries: 1 })).split('\n')[2]).toBe(
    '   2 oak   │      ██████████████│  69.0 ms  OK (hedge) ◀  after 1.0 ms',
  );
});

test('of hedges that all fail the last to end is the client’s, whichever was sent last', () => {
  const attempts = [failed('elm', 0, 100), failed('oak', 40, 60, { cause: 'hedge' })];
  const record = call({ attempts, code: Status.UNAVAILABLE, reason: 'attempts_exhausted', commit: null, retries: 1 });
  const marked = draw(record)
    .split('\n')
    .map((line) => line.includes('◀'));
  expect(marked.slice(1, 3)).toEqual([true, false]);
});

test('an attempt that had begun to answer when the call was ended is the one that the client had of', () => {
  const attempts = [attempt('elm', 0, 100, { result: 'cancelled', code: Status.CANCELLED })];
  const record = call({ attempts, code: Status.DEADLINE_EXCEEDED, reason: 'deadline_exceeded', origin: 'proxy' });
  expect(draw(record)).toContain('cancelled ◀');
});

test('a pinned call says so, and whether that binds every attempt', () => {
  const head = (strict: boolean): string | undefined =>
    draw(call({ pin: { target: 'elm', strict } }))
      .split('\n')[0]
      ?.replace(/ {3,}.*/, '');
  expect(head(true)).toBe('#1 Orders/GetOrder  [pinned to elm] unary');
  expect(head(false)).toBe('#1 Orders/GetOrder  [first to elm] unary');
});

test('the lesson stands above the bars, the bucket under the end, notes last', () => {
  const limits = { maxMilliTokens: 10_000, milliTokensPerSuccess: 500 };
  const rest = {
    lesson: 'Watch.',
    before: { milliTokens: 9000, limits },
    after: { milliTokens: 9500, limits },
    notes: ['one', 'two'],
  };
  expect(draw(call(), plain, rest)).toBe(
    `
#1 Orders/GetOrder  unary                                               OK  100.0 ms
     Watch.
   1 well  │████████████████████│ 100.0 ms  OK ◀
     answered at the first attempt
     tokens │■■■■■■■■■■┃■■■■■■■■■·│ 9 → 9.5 of 10
     one
     two
`.slice(1),
  );
});

test('no line is wider than the terminal', () => {
  const name = 'a-backend-with-a-long-name';
  const attempts = [
    failed(name, 0, 10, { code: Status.RESOURCE_EXHAUSTED, message: 'x'.repeat(300) }),
    failed(name, 10, 20, { cause: 'hedge', code: Status.FAILED_PRECONDITION, message: 'y'.repeat(300) }),
    failed('b', 30, 100, { cause: 'retry' }),
  ];
  const limits = { maxMilliTokens: 1_000_000, milliTokensPerSuccess: 500 };
  const end = { code: Status.UNAVAILABLE, reason: 'backoff_beyond_deadline' } as const;
  const record = call({ attempts, ...end, retries: 2, method: `/a.very.long.Service/${'Method'.repeat(30)}` });
  const rest: Partial<ShownCall> = {
    title: 't'.repeat(200),
    lesson: 'word '.repeat(60),
    before: { milliTokens: 900_999, limits },
    after: { milliTokens: 499_999, limits },
    notes: ['n'.repeat(300)],
  };
  for (let width = 60; width <= 110; width += 1) {
    for (const line of draw(record, { color: false, width }, rest).split('\n')) {
      expect(line.length, `${width}: ${line}`).toBeLessThanOrEqual(width);
    }
    for (const line of drawLegend({ color: false, width }).split('\n')) expect(line.length).toBeLessThanOrEqual(width);
  }
});

test('colour changes nothing but colour', () => {
  const record = call({ attempts: [failed('flaky', 0, 10), attempt('well', 90, 100, { cause: 'retry' })], retries: 1 });
  const look = { color: true, width: 84 };
  const colored = draw(record, look) + drawLegend(look) + drawSummary([record], look);
  expect(colored).toContain('\u001b[32m██\u001b[0m');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
  expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(draw(record) + drawLegend(plain) + drawSummary([record], plain));
});

test('the summary sets what the client saw beside what it would have seen without a policy', () => {
  const fatal = call({ code: Status.NOT_FOUND, reason: 'fatal_status', attempts: [failed('well', 0, 1)] });
  const retried = call({ retries: 1, attempts: [failed('flaky', 0, 1), attempt('well', 2, 3)] });
  const exhausted = call({
    code: Status.UNAVAILABLE,
    reason: 'attempts_exhausted',
    retries: 1,
    attempts: [failed('flaky', 0, 1), failed('slow', 2, 3)],
  });
  // A hedge that won was no failure, a hedge after a failure is no gain in time.
  const hedged = call({ retries: 2, attempts: hedges });
  const broughtForward = call({
    retries: 1,
    attempts: [failed('elm', 0, 1), attempt('oak', 1, 2, { cause: 'hedge' })],
  });
  expect(drawSummary([call(), retried, fatal, hedged, broughtForward, exhausted, exhausted], plain)).toBe(
    `
7 calls, 13 attempts
  failures the client saw                    3   NOT_FOUND × 1, UNAVAILABLE × 2
  failures without retries                   5
  slow calls that a hedge answered sooner    1
`.slice(1),
  );
  expect(drawSummary([call()], plain)).toBe(
    `
1 call, 1 attempt
  failures the client saw                    0
  failures without retries                   0
  slow calls that a hedge answered sooner    0
`.slice(1),
  );
});
