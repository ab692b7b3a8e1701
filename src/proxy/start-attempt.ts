import type { IncomingCall } from '../grpc/request.js';
import type { CallPolicy, Decision } from '../policy/types.js';
import { Attempt } from './attempt.js';
import type { AttemptOwner } from './attempt-owner.js';
import type { CallMachine } from './call-machine.js';
import type { MethodIndex } from './meters.js';
import type { ProxyParts } from './parts.js';
import type { SessionSeat } from './session-seat.js';

/** What an attempt has from its call. */
export interface AttemptStarter extends AttemptOwner<Attempt> {
  readonly parts: ProxyParts;
  readonly request: IncomingCall;
  readonly policy: CallPolicy;
  readonly method: MethodIndex;
  readonly machine: CallMachine;
  readonly guarded: boolean;
  /** Bytes of one message of an answer; null: no limit. */
  readonly responseLimit: number | null;
}

/** The attempt that the machine decided on; it has not looked for a place yet. */
export function attemptFor(
  call: AttemptStarter,
  decision: Extract<Decision, { type: 'startAttempt' }>,
  seat: SessionSeat | null,
): Attempt {
  const { request, policy } = call;
  return new Attempt(call, call.parts, {
    id: decision.attempt,
    path: request.path,
    method: call.method,
    trigger: call.machine.triggerOf(decision.cause),
    cause: decision.cause,
    hedge: policy.plan.kind === 'hedge' && decision.previous > 0,
    previous: decision.previous,
    avoid: decision.avoid,
    onlyOn: decision.onlyOn,
    seat,
    exclude: request.directives.exclude,
    waitForReady: policy.waitForReady,
    guarded: call.guarded,
    responseLimit: call.responseLimit,
  });
}
