import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { millis } from '../../../src/grpc/millis.js';
import { Status, statusName } from '../../../src/grpc/status.js';
import type { Plan } from '../../../src/policy/types.js';
import { type CallRun, type CallScenario, runCall, silence, startCall } from '../../../src/sim/run-call.js';
import { parseScript, type Script } from '../../../src/sim/script.js';
import { throttleAt } from '../../../src/sim/throttle-at.js';
import { createVirtualTime } from '../../../src/sim/virtual-time.js';

const unavailable = new Set([Status.UNAVAILABLE]);
const retry: Plan = {
  kind: 'retry',
  maxAttempts: 3,
  initialBackoff: millis(100),
  maxBackoff: millis(1000),
  multiplier: 2,
  retryable: unavailable,
};
const hedge: Plan = { kind: 'hedge', maxAttempts: 3, delay: millis(50), nonFatal: unavailable };

function script(text: string): Script {
  const parsed = parseScript(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function scenario(plan: Plan, text: string, change: Partial<CallScenario> = {}): CallScenario {
  const { outcomes, cancelAt } = script(text);
  return {
    plan,
    policy: 'on',
    placement: { kind: 'any' },
    timeout: null,
    maxTransparent: 1000,
    throttle: throttleAt(null, null),
    random: () => 0.5,
    outcome: ({ attempt }) => outcomes[attempt - 1] ?? silence,
    happenings: cancelAt === null ? [] : [{ at: cancelAt, event: { type: 'aborted', by: 'client' } }],
    ...change,
  };
}

/** `1 first 0-10 UNAVAILABLE`, `2 retry 110-… `: each attempt's life. */
function lives({ attempts }: CallRun): string[] {
  return attempts.map(({ id, cause, startedAt, endedAt, end, cancelled }) => {
    const how = end === null ? (cancelled ?? 'open') : statusName(end.code);
    return `${id} ${cause} ${startedAt}-${endedAt ?? ''} ${how}`;
  });
}

describe('a call on virtual time', () => {
  it('is retried after its waits, and ends with the last status', () => {
    const run = runCall(scenario(retry, '14@10,14@20,14@30'));
    expect(lives(run)).toEqual([
      '1 first 0-10 UNAVAILABLE',
      '2 retry 110-130 UNAVAILABLE',
      '3 retry 330-360 UNAVAILABLE',
    ]);
    expect(run.result).toEqual({ at: 360, code: Status.UNAVAILABLE, attempt: 3, reason: 'attempts_exhausted' });
    expect(run.commit).toBeNull();
  });

  it('draws each backoff with the random number that it is given, and says which', () => {
    const numbers = [0, 0.25];
    const run = runCall(scenario(retry, '14@10,14@20,0@30', { random: () => numbers.shift() ?? Number.NaN }));
    expect(run.attempts.map(({ startedAt }) => startedAt)).toEqual([0, 90, 290]);
    expect(run.timeline.map(({ random }) => random)).toEqual([null, 0, null, 0.25, null, null]);
    expect(run.timeline.map(({ dueAt }) => dueAt)).toEqual([null, 90, null, 290, null, null]);
  });

  it('is hedged, and losers are cancelled at the moment of the answer', () => {
    const run = runCall(scenario(hedge, 'silent,0@30:headers=20,silent'));
    expect(lives(run)).toEqual(['1 first 0-70 superseded', '2 hedge 50-80 OK']);
    expect(run.commit).toEqual({ attempt: 2, cause: 'headers' });
    expect(run.result).toEqual({ at: 80, code: Status.OK, attempt: 2, reason: 'ok' });
  });

  it('hears no end of an attempt that was cancelled', () => {
    const run = runCall(scenario(hedge, '14@60,0@30:headers=5'));
    expect(lives(run)).toEqual(['1 first 0-55 superseded', '2 hedge 50-80 OK']);
    expect(run.timeline.filter(({ event }) => event.type === 'attemptEnded')).toHaveLength(1);
  });

  it('counts the bucket, and tells it before and after', () => {
    const throttle = throttleAt({ maxMilliTokens: 10_000, milliTokensPerSuccess: 500 }, 8000);
    const run = runCall(scenario(retry, '14@10,0@10', { throttle }));
    expect(run.timeline.map(({ tokens }) => tokens)).toEqual([
      { before: 8000, after: 8000 },
      { before: 8000, after: 7000 },
      { before: 7000, after: 7000 },
      { before: 7000, after: 7500 },
    ]);
    expect(throttle.state?.milliTokens).toBe(7500);
  });

  it('tells why no further hedge is sent while some are in flight', () => {
    const run = runCall(scenario(hedge, '0@200,14@10:pushback=-1'));
    expect(run.timeline.map(({ held }) => held)).toEqual([null, null, 'pushback', null]);
    expect(run.result).toMatchObject({ at: 200, reason: 'ok' });
  });

  it('keeps an unserved pushback in sight', () => {
    const run = runCall(scenario(hedge, 'silent,14@10:pushback=100,0@5'));
    expect(run.timeline.map(({ pushedUntil }) => pushedUntil)).toEqual([null, null, 160, null, null]);
    expect(run.attempts[2]?.startedAt).toBe(160);
  });

  it('stays open where nothing more can happen', () => {
    const run = runCall(scenario(retry, '14@10'));
    expect(lives(run)).toEqual(['1 first 0-10 UNAVAILABLE', '2 retry 110- open']);
    expect(run.result).toBeNull();
  });

  it('ends at its deadline, from its start', () => {
    expect(runCall(scenario(retry, 'silent', { timeout: millis(250) })).result).toEqual({
      at: 250,
      code: Status.DEADLINE_EXCEEDED,
      attempt: null,
      reason: 'deadline_exceeded',
    });
  });

  it('a wait that ends with the call starts nothing: the alarm of before is deaf', () => {
    const run = runCall(scenario(retry, '14@10,cancel@50'));
    expect(lives(run)).toEqual(['1 first 0-10 UNAVAILABLE']);
    expect(run.result).toEqual({ at: 50, code: Status.CANCELLED, attempt: null, reason: 'client_cancelled' });
    expect(run.timeline.filter(({ event }) => event.type === 'woke')).toEqual([]);
  });

  it('an answer at the moment when a hedge is due comes first', () => {
    expect(lives(runCall(scenario(hedge, '0@50')))).toEqual(['1 first 0-50 OK']);
  });

  it('an attempt that was never sent is placed again, committed or not', () => {
    const overflow = { type: 'bufferOverflowed', limit: 'call', sent: new Map() } as const;
    const run = runCall(scenario(retry, 'unsent@20,0@5', { happenings: [{ at: millis(10), event: overflow }] }));
    expect(lives(run)).toEqual(['1 first 0-20 UNAVAILABLE', '2 transparent 20-25 OK']);
    expect(run.commit).toEqual({ attempt: 2, cause: 'buffer_call' });
  });

  it('tells the machine where attempts were placed, for what is to be avoided', () => {
    const avoided: unknown[] = [];
    const ended = script('14@10').outcomes[0] ?? silence;
    runCall(
      scenario(retry, 'silent', {
        outcome: ({ attempt, avoid }) => {
          avoided.push(avoid);
          return { ...ended, backend: backendId(`b${attempt}`) };
        },
      }),
    );
    expect(avoided).toEqual([[], ['b1'], ['b1', 'b2']]);
  });
});

describe('several calls on one clock', () => {
  it('share a bucket: the failures of one stop the retries of the other', () => {
    const time = createVirtualTime();
    const throttle = throttleAt({ maxMilliTokens: 4000, milliTokensPerSuccess: 100 }, null);
    const first = startCall(time, scenario(retry, '14@10,14@10', { throttle }));
    const runs = [first];
    time.at(millis(50), 'outside', () => runs.push(startCall(time, scenario(retry, '14@5,0@1', { throttle }))));
    while (time.step());
    // 4 → 3 at 10 ms, a retry is due; → 2 at 55 ms, by the other call, which is told at once.
    expect(runs.map(({ result }) => result)).toEqual([
      { at: 120, code: Status.UNAVAILABLE, attempt: 2, reason: 'throttled' },
      { at: 5, code: Status.UNAVAILABLE, attempt: 1, reason: 'throttled' },
    ]);
    expect(throttle.state?.milliTokens).toBe(1000);
  });
});
