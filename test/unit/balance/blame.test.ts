import { describe, expect, it } from 'vitest';
import { type BlameSettings, createBlame, judgeHealth, type Verdict } from '../../../src/balance/blame.js';
import {
  judgeHeaders,
  judgeMissingTrailers,
  judgeStreamEnd,
  judgeTrailers,
  unplacedEnd,
  type WireEnd,
} from '../../../src/grpc/attempt-end.js';
import type { AttemptEnd } from '../../../src/grpc/attempt-facts.js';
import { Status } from '../../../src/grpc/status.js';
import { lines } from '../grpc/lines.js';

const defaults: BlameSettings = { minBlame: 1000, ignoreDeadline: [], countInternal: false, rateLimit: false };

const success: Verdict = { kind: 'success', counts: true };
const quota: Verdict = { kind: 'success', counts: false };
const neutral: Verdict = { kind: 'neutral', waited: false };
const failure: Verdict = { kind: 'failure', cause: 'status' };
const transport: Verdict = { kind: 'failure', cause: 'transport' };
const timeout: Verdict = { kind: 'failure', cause: 'timeout' };

function status(code: number, ...more: (readonly [string, string])[]): AttemptEnd {
  return judgeTrailers(lines([['grpc-status', String(code)], ...more]));
}

function http(code: number, ...more: (readonly [string, string])[]): AttemptEnd {
  const verdict = judgeHeaders(lines([[':status', String(code)], ...more]), true);
  if (verdict.kind !== 'end') throw new Error('initial headers');
  return verdict.end;
}

const verdictOf = (end: AttemptEnd, settings: Partial<BlameSettings> = {}): Verdict =>
  judgeHealth(end, { ...defaults, ...settings });

describe('a status', () => {
  it('HEA-01: OK and every code of an application are answers: successes', () => {
    const others = new Set<number>([
      Status.UNAVAILABLE,
      Status.INTERNAL,
      Status.UNKNOWN,
      Status.DEADLINE_EXCEEDED,
      Status.RESOURCE_EXHAUSTED,
    ]);
    const codes = [...Object.values(Status), 17, 300].filter((code) => !others.has(code));
    expect(codes).toHaveLength(14);
    for (const code of codes) expect(verdictOf(status(code))).toEqual(success);
  });

  it('HEA-02: UNAVAILABLE is a hard failure, with a pushback too', () => {
    expect(verdictOf(status(14))).toEqual(failure);
    expect(verdictOf(status(14, ['grpc-retry-pushback-ms', '50']))).toEqual(failure);
  });

  it('HEA-03: INTERNAL, UNKNOWN and an answer without a status say nothing, with --health-count-internal they are failures', () => {
    for (const end of [status(13), status(2), judgeTrailers([]), judgeMissingTrailers(), http(500), http(400)]) {
      expect(verdictOf(end)).toEqual(neutral);
      expect(verdictOf(end, { countInternal: true })).toEqual(failure);
    }
  });

  it('HEA-04: DEADLINE_EXCEEDED from a backend says nothing, --health-count-internal or not', () => {
    expect(verdictOf(status(4))).toEqual(neutral);
    expect(verdictOf(status(4), { countInternal: true })).toEqual(neutral);
  });

  it('HEA-05: RESOURCE_EXHAUSTED bare is a success, with --health-rate-limit too', () => {
    for (const rateLimit of [false, true]) {
      expect(verdictOf(status(8), { rateLimit })).toEqual(success);
      expect(verdictOf(status(8, ['grpc-retry-pushback-ms', '-1']), { rateLimit })).toEqual(success);
    }
  });

  it('HEA-06: RESOURCE_EXHAUSTED with a delay is a success that leaves the rate, with --health-rate-limit a rate limit', () => {
    const end = status(8, ['grpc-retry-pushback-ms', '50']);
    expect(verdictOf(end)).toEqual(quota);
    expect(verdictOf(end, { rateLimit: true })).toEqual({ kind: 'rateLimited', ms: 50 });
    expect(verdictOf(status(8, ['retry-after', 'soon']), { rateLimit: true })).toEqual({
      kind: 'rateLimited',
      ms: null,
    });
  });

  it('HEA-07: an HTTP error of an intermediary counts as the code that it is mapped to; 429 with a retry-after as a quota', () => {
    for (const code of [429, 502, 503, 504]) expect(verdictOf(http(code))).toEqual(failure);
    for (const code of [401, 403, 404]) expect(verdictOf(http(code))).toEqual(success);
    expect(verdictOf(http(503, ['retry-after', '7']))).toEqual(failure);
    expect(verdictOf(http(429, ['retry-after', '7']))).toEqual(quota);
    expect(verdictOf(http(429, ['retry-after', '7']), { rateLimit: true })).toEqual({ kind: 'rateLimited', ms: 7000 });
    expect(verdictOf(http(503, ['grpc-status', '5']))).toEqual(success);
  });
});

describe('the transport', () => {
  it('HEA-08: a reset, a lost connection and broken HTTP/2 are hard failures of it, after response headers too', () => {
    const ends: WireEnd[] = [
      { kind: 'lost', flushed: true, detail: 'ECONNRESET' },
      { kind: 'lost', flushed: false, detail: 'ECONNRESET' },
      { kind: 'streamError', code: 1, detail: 'x' },
    ];
    for (let code = 0; code < 16; code += 1) if (code !== 7 && code !== 8) ends.push({ kind: 'reset', code });
    for (const end of ends)
      for (const answered of [false, true]) expect(verdictOf(judgeStreamEnd(end, answered))).toEqual(transport);
  });

  it('HEA-09: GOAWAY, REFUSED_STREAM and CANCEL are orderly: neutral', () => {
    for (const code of [0, 2, 11]) expect(verdictOf(judgeStreamEnd({ kind: 'goaway', code }))).toEqual(neutral);
    for (const code of [7, 8]) expect(verdictOf(judgeStreamEnd({ kind: 'reset', code }))).toEqual(neutral);
  });

  it('HLW-16: a lost connection that was superseded says nothing of the backend', () => {
    for (const flushed of [true, false])
      for (const answered of [true, false])
        expect(verdictOf(judgeStreamEnd({ kind: 'lost', flushed, detail: 'x' }, answered, true))).toEqual(neutral);
  });

  it('HEA-10: what this proxy ended is neutral', () => {
    expect(verdictOf(unplacedEnd('x'))).toEqual(neutral);
    expect(verdictOf({ ...unplacedEnd('x'), code: Status.RESOURCE_EXHAUSTED })).toEqual(neutral);
    expect(verdictOf(judgeStreamEnd({ kind: 'headersTooLarge' }))).toEqual(neutral);
    expect(createBlame(defaults).judge('abandoned', '/s/m', 5000, 5000, false)).toEqual({
      kind: 'neutral',
      waited: true,
    });
  });
});

describe('our own deadline', () => {
  const blame = (settings: Partial<BlameSettings> = {}) => createBlame({ ...defaults, ...settings });

  it('HEA-11: blames a backend that was silent for a second, exactly, and none that was silent for less', () => {
    expect(blame().judge('deadline', '/s/m', 1000, 1000, false)).toEqual(timeout);
    expect(blame().judge('deadline', '/s/m', 999.9, 999.9, false)).toEqual(neutral);
    expect(blame({ minBlame: 50 }).judge('deadline', '/s/m', 50, 50, false)).toEqual(timeout);
  });

  it('HLW-15: does not blame one that has not had the whole request for so long: it waits for its client', () => {
    for (const owedMs of [-1, 0, 999.9]) {
      expect(blame().judge('deadline', '/s/m', 5000, owedMs, false)).toEqual(neutral);
      expect(blame().judge('deadline', '/s/m', 5000, owedMs, true)).toEqual(neutral);
    }
    expect(blame().judge('deadline', '/s/m', 5000, 1000, false)).toEqual(timeout);
    expect(blame({ minBlame: 0 }).judge('deadline', '/s/m', 5000, -1, false)).toEqual(neutral);
  });

  it('HEA-11: does not blame one that has sent response headers', () => {
    expect(blame().judge('deadline', '/s/m', 5000, 5000, true)).toEqual(neutral);
  });

  it('HEA-12: does not blame where the method has before ended a call that was silent as long', () => {
    const judged = blame();
    expect(judged.judge(status(0), '/s/poll', 20_000, 20_000, false)).toEqual(success);
    expect(judged.judge(status(5), '/s/poll', 3000, 3000, false)).toEqual(success);
    expect(judged.judge('deadline', '/s/poll', 20_000, 20_000, false)).toEqual(neutral);
    expect(judged.judge('deadline', '/s/poll', 20_001, 20_001, false)).toEqual(timeout);
    expect(judged.judge('deadline', '/s/other', 20_000, 20_000, false)).toEqual(timeout);
  });

  it('HEA-12: a backend that echoes the deadline, or answers a quota, has ended the call', () => {
    const judged = blame();
    judged.judge(status(4), '/s/a', 5000, 5000, false);
    judged.judge(status(8, ['retry-after', '1']), '/s/b', 5000, 5000, false);
    judged.judge(status(0), '/s/exactly', 1000, 1000, false);
    expect(judged.judge('deadline', '/s/exactly', 1000, 1000, false)).toEqual(neutral);
    judged.judge(judgeTrailers([]), '/s/c', 5000, 5000, false);
    for (const path of ['/s/a', '/s/b', '/s/c'])
      expect(judged.judge('deadline', path, 5000, 5000, false)).toEqual(neutral);
  });

  it('HEA-12: failures, losses, what was given up and methods that are not there end no call so', () => {
    const judged = blame();
    judged.judge(status(14), '/s/m', 5000, 5000, false);
    judged.judge(judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'x' }), '/s/m', 5000, 5000, false);
    judged.judge(judgeStreamEnd({ kind: 'reset', code: 8 }), '/s/m', 5000, 5000, false);
    judged.judge('abandoned', '/s/m', 5000, 5000, false);
    judged.judge('deadline', '/s/m', 5000, 5000, false);
    judged.judge(status(12), '/s/m', 5000, 5000, false);
    judged.judge(unplacedEnd('x'), '/s/m', 5000, 5000, false);
    expect(judged.judge('deadline', '/s/m', 5000, 5000, false)).toEqual(timeout);
  });

  it('HEA-13: 500 methods are remembered, those used last, and no path over 512 characters', () => {
    const judged = blame();
    const answers = (path: string) => judged.judge(status(0), path, 5000, 5000, false);
    const excused = (path: string) => judged.judge('deadline', path, 5000, 5000, false).kind === 'neutral';
    for (let i = 0; i < 500; i += 1) answers(`/s/${i}`);
    expect(excused('/s/0')).toBe(true);
    answers('/s/2');
    answers('/s/new');
    answers('/s/newer');
    expect(['/s/0', '/s/1', '/s/2', '/s/3', '/s/4', '/s/new'].map(excused)).toEqual([
      true,
      false,
      true,
      false,
      true,
      true,
    ]);
    answers(`/${'x'.repeat(511)}`);
    answers(`/${'x'.repeat(512)}`);
    expect(excused(`/${'x'.repeat(511)}`)).toBe(true);
    expect(excused(`/${'x'.repeat(512)}`)).toBe(false);
  });

  it('HEA-13: quick answers take no place, nor do deadlines', () => {
    const judged = blame();
    judged.judge(status(0), '/s/slow', 5000, 5000, false);
    for (let i = 0; i < 1000; i += 1) {
      judged.judge(status(0), `/s/${i}`, 999, 999, false);
      judged.judge('deadline', `/s/${i}`, 5000, 5000, false);
    }
    expect(judged.judge('deadline', '/s/slow', 5000, 5000, false)).toEqual(neutral);
  });

  it('HEA-14: --health-ignore-deadline takes a method, or all of a service', () => {
    const { judge } = blame({ ignoreDeadline: ['/a.B/Poll', '/a.C/*', '/a.D/Get*'] });
    const blamed = (path: string) => judge('deadline', path, 5000, 5000, false).kind === 'failure';
    for (const path of ['/a.B/Poll', '/a.C/x', '/a.C/', '/a.D/GetAll']) expect(blamed(path)).toBe(false);
    for (const path of ['/a.B/Poll2', '/a.B/', '/a.Cx/x', '/a.D/Put', '/', '']) expect(blamed(path)).toBe(true);
  });
});
