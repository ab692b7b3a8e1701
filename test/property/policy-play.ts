import { expect } from 'vitest';
import { backendId } from '../../src/grpc/backend-id.js';
import { type Millis, millis } from '../../src/grpc/millis.js';
import { Status, statusName } from '../../src/grpc/status.js';
import { nothingSeen } from '../../src/policy/account.js';
import { transition } from '../../src/policy/call.js';
import { createCall } from '../../src/policy/call-state.js';
import { audit } from '../../src/policy/invariants.js';
import type { CallEvent, Decision } from '../../src/policy/types.js';
import {
  attemptScript,
  type Bucket,
  type CallScript,
  credit,
  debit,
  type Interruption,
  type Reckoning,
  randomAfter,
  sentBy,
} from './policy-scripts.js';

/** More attempts than a call can make. */
const manyAttempts = 20;

/**
 * Plays a script to the machine on virtual time, each step audited; says what it decided and when. As a reckoning does, it
 * yields the time of each step before it takes it.
 */
export function* play(script: CallScript, bucket: Bucket, t0: number, eager: boolean): Reckoning {
  const state = createCall(script.plan, { maxTransparent: script.maxTransparent });
  const lines: string[] = [];
  const agenda: { readonly at: number; readonly event: CallEvent }[] = [];
  let account = nothingSeen;
  let wakeAt: Millis | null = null;
  let over = false;
  const schedule = (at: number, event: CallEvent): void => {
    agenda.push({ at, event });
  };

  const step = (now: number, event: CallEvent): void => {
    let draws = 0;
    const env = {
      now: millis(now),
      random: () => {
        draws += 1;
        return event.type === 'attemptEnded' ? randomAfter(script, event.attempt) : Number.NaN;
      },
      throttled: (taken: boolean) => Math.max(0, bucket.tokens - (taken ? 1000 : 0)) * 2 <= bucket.max,
    };
    const taken = transition(state, event, env);
    const audited = audit(account, event, env, taken);
    expect(audited.broken).toEqual([]);
    expect(draws).toBeLessThanOrEqual(1);
    account = audited.account;
    wakeAt = taken.wakeAt;
    for (const decision of taken.decisions) {
      lines.push(`${now} ${inWords(decision)}`);
      if (decision.type === 'startAttempt') begin(now, decision.attempt);
      if (decision.type === 'countThrottle') (decision.as === 'failure' ? debit : credit)(bucket);
      if (decision.type === 'finish') over = true;
    }
  };
  const begin = (now: number, attempt: number): void => {
    const { backend, headersAfter, lasts, code, reach, pushback, by } = attemptScript(script, attempt);
    if (backend !== null) schedule(now, { type: 'attemptPlaced', attempt, backend: backendId(backend) });
    if (headersAfter !== null) schedule(now + headersAfter, { type: 'headersReceived', attempt });
    schedule(now + lasts, { type: 'attemptEnded', attempt, code, reach, pushback, by });
  };

  const { overflow, interruption } = script;
  if (overflow !== null) {
    const sent = new Map(Array.from({ length: manyAttempts }, (_, i) => [i + 1, sentBy(script, i + 1)]));
    schedule(t0 + overflow.at, { type: 'bufferOverflowed', limit: overflow.limit, sent });
  }
  if (interruption !== null) schedule(t0 + interruption.at, eventOf(interruption));
  yield t0;
  step(t0, {
    type: 'started',
    deadlineAt: script.deadline === null ? null : millis(t0 + script.deadline),
    placement: script.placement,
    policy: script.policy,
  });
  while (!over) {
    const next = agenda.reduce<number>((best, { at }) => Math.min(best, at), Number.POSITIVE_INFINITY);
    const alarm: number = wakeAt ?? Number.POSITIVE_INFINITY;
    yield Math.min(next, alarm);
    if (alarm < next || (eager && alarm === next && Number.isFinite(alarm))) {
      step(alarm, { type: 'woke' });
      continue;
    }
    const index = agenda.findIndex(({ at }) => at === next);
    const [item] = agenda.splice(index, 1);
    if (item === undefined) throw new Error('the call hangs: nothing is to happen and it is not over');
    step(item.at, item.event);
  }
  // What comes late changes nothing, and asks for nothing.
  for (const { at, event } of agenda.sort((a, b) => a.at - b.at)) step(at, event);
  return lines;
}

function eventOf(interruption: Interruption): CallEvent {
  return interruption.kind === 'aborted'
    ? { type: 'aborted', by: interruption.by }
    : { type: 'rejected', code: Status.RESOURCE_EXHAUSTED, reason: 'message_too_large', detail: 'too large' };
}

function inWords(decision: Decision): string {
  switch (decision.type) {
    case 'startAttempt': {
      const { cause, attempt, previous, avoid, onlyOn } = decision;
      const to = onlyOn === null ? '' : ` to ${onlyOn.target}${onlyOn.strict ? '' : ', if it can be had'}`;
      return `${cause} ${attempt} previous ${previous} avoid ${avoid.join()}${to}`;
    }
    case 'commit':
      return `commit ${decision.attempt} ${decision.cause}`;
    case 'cancelAttempt':
      return `cancel ${decision.attempt} ${decision.why}`;
    case 'countThrottle':
      return decision.as === 'failure' ? 'debit' : 'credit';
    case 'finish':
      return `finish ${'from' in decision.with ? decision.with.from : statusName(decision.with.code)} ${decision.reason}`;
    default:
      return decision satisfies never;
  }
}
