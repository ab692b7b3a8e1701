import { expect, test } from 'vitest';
import { drawCall, drawLegend, drawSummary } from '../../../src/demo/waterfall.js';
import { Status } from '../../../src/grpc/status.js';
import type { CallRecord } from '../../../src/proxy/observer.js';
import { attempt, call, failed } from './records.js';

const plain = { color: false, width: 84 };

function draw(record: CallRecord, look = plain, note: string | null = null): string {
  return drawCall({ number: 1, title: 'unary', record, note }, look);
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
     1 retry, and the client never saw a failure; 40 request bytes had been kept and went again
`.slice(1),
  );
});

test('retries and kept bytes are counted, one and several', () => {
  const attempts = [failed('a', 0, 1), failed('b', 2, 3), attempt('c', 4, 5)];
  const last = (record: CallRecord): string | undefined => draw(record).trimEnd().split('\n').at(-1);
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
     NOT_FOUND is not among the codes that the policy tries again for: the client gets it at once
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
  expect(draw(record, plain, 'one more thing')).toBe(
    `
#1 Orders/GetOrder  unary                                DEADLINE_EXCEEDED  100.0 ms
   1 slow  │░░░░░░░░░░░░░░░░░░░░│ 100.0 ms  given up
     the client’s deadline passed
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

test('no line of a bar is wider than the terminal', () => {
  const name = 'a-backend-with-a-long-name';
  const attempts = [
    failed(name, 0, 10, { code: Status.RESOURCE_EXHAUSTED, message: 'x'.repeat(300) }),
    failed(name, 10, 20, { cause: 'retry', code: Status.FAILED_PRECONDITION, message: 'y'.repeat(300) }),
    attempt('b', 30, 100, { cause: 'retry' }),
  ];
  const record = call({ attempts, retries: 2, method: '/a.very.long.Service/Method' });
  for (let width = 60; width <= 110; width += 1) {
    const shown = drawCall({ number: 7, title: 't'.repeat(200), record, note: null }, { color: false, width });
    for (const line of shown.split('\n').slice(0, 4)) expect(line.length).toBeLessThanOrEqual(width);
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

test('the summary sets what the client saw beside what it would have seen without retries', () => {
  const fatal = call({ code: Status.NOT_FOUND, reason: 'fatal_status', attempts: [failed('well', 0, 1)] });
  const retried = call({ retries: 1, attempts: [failed('flaky', 0, 1), attempt('well', 2, 3)] });
  const exhausted = call({
    code: Status.UNAVAILABLE,
    reason: 'attempts_exhausted',
    retries: 1,
    attempts: [failed('flaky', 0, 1), failed('slow', 2, 3)],
  });
  expect(drawSummary([call(), retried, fatal, retried, exhausted, exhausted], plain)).toBe(
    `
6 calls, 10 attempts
  failures the client saw      3   NOT_FOUND × 1, UNAVAILABLE × 2
  failures without retries     5
`.slice(1),
  );
  expect(drawSummary([call()], plain)).toBe(
    `
1 call, 1 attempt
  failures the client saw      0
  failures without retries     0
`.slice(1),
  );
});
