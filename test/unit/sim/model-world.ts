import { type Millis, millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { createThrottle, type ThrottleLimits } from '../../../src/policy/throttle.js';
import type { HedgePlan, Plan, RetryPlan } from '../../../src/policy/types.js';
import { type Distribution, parseDistribution } from '../../../src/sim/distribution.js';
import {
  type Failure,
  type Outage,
  parseFailures,
  parseOutage,
  parseSlowness,
  type Slowness,
} from '../../../src/sim/faults.js';
import { type ModelRun, runModel } from '../../../src/sim/run-model.js';
import type { World } from '../../../src/sim/world.js';

export const none: Plan = { kind: 'none' };

export function retry(change: Partial<RetryPlan> = {}): RetryPlan {
  return {
    kind: 'retry',
    maxAttempts: 3,
    initialBackoff: millis(10),
    maxBackoff: millis(100),
    multiplier: 2,
    retryable: new Set([Status.UNAVAILABLE]),
    ...change,
  };
}

export function hedge(delay: number, change: Partial<HedgePlan> = {}): HedgePlan {
  return { kind: 'hedge', maxAttempts: 2, delay: millis(delay), nonFatal: new Set(), ...change };
}

export function latency(text: string): Distribution {
  const read = parseDistribution(text);
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

export function failures(text: string): readonly Failure[] {
  const read = parseFailures(text);
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

export function outage(text: string, backends = 3): Outage {
  const read = parseOutage(text, backends);
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

export function slowness(text: string, backends = 3): Slowness {
  const read = parseSlowness(text, backends);
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

/** Three backends that answer after 20 ms without fail, and 1000 calls, one each 10 ms. */
export function world(change: Partial<World> = {}): World {
  return {
    calls: 1000,
    rate: 100,
    arrivals: 'even',
    backends: 3,
    balancing: { kind: 'round_robin' },
    latency: latency('20ms'),
    failures: [],
    outages: [],
    slownesses: [],
    pushback: null,
    capacity: null,
    cancelledWork: 'stops',
    requestBytes: 1024,
    perCallBufferLimit: 256 * 1024,
    bufferLimit: 64 * 1024 * 1024,
    seed: 1,
    ...change,
  };
}

export interface RunChange {
  readonly deadline?: number;
  readonly throttle?: ThrottleLimits;
  readonly waitForReady?: boolean;
}

export function play(
  plan: Plan,
  change: Partial<World> = {},
  { deadline, throttle, waitForReady }: RunChange = {},
): ModelRun {
  return runModel(world(change), {
    path: '/shop.Cart/Add',
    plan,
    deadline: deadline === undefined ? null : millis(deadline),
    waitForReady: waitForReady ?? false,
    throttle: createThrottle(throttle ?? null),
  });
}

export function oks({ calls }: ModelRun): number {
  return calls.filter(({ code }) => code === Status.OK).length;
}

export function times({ calls }: ModelRun): readonly Millis[] {
  return calls.map(({ startedAt, endedAt }) => millis(endedAt - startedAt));
}
