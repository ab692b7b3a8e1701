import type { ServiceConfig } from '../config/service-config.js';
import { defaultBalancing } from '../grpc/balancing-config.js';
import type { Millis } from '../grpc/millis.js';
import { createThrottle, type ThrottleLimits } from '../policy/throttle.js';
import type { Plan } from '../policy/types.js';
import { type Bucket, bucketsOf, bucketWidth } from '../sim/buckets.js';
import { type ModelRun, runModel } from '../sim/run-model.js';
import { compare, type Difference, type Summary, summarize } from '../sim/summary.js';
import type { World } from '../sim/world.js';
import { notesOn } from './explanation.js';
import type { Governing } from './governing-entry.js';
import type { SimulateOptions, WorldWords } from './simulate-options.js';

/** One way of treating the calls. */
export interface Side {
  readonly run: ModelRun;
  readonly summary: Summary;
  readonly buckets: readonly Bucket[];
}

/** Everything that `hedgerow simulate` tells, before it is put in words. */
export interface Simulation {
  /** `/pkg.Service/Method` */
  readonly path: string;
  readonly governing: Governing;
  readonly notes: readonly string[];
  /** The earlier of the clients' and the method's own; null: none. */
  readonly deadline: Millis | null;
  readonly world: World;
  readonly words: WorldWords;
  readonly without: Side;
  readonly with: Side;
  /** With the policy and no throttle; null where the throttle was never shut. */
  readonly unthrottled: Summary | null;
  readonly difference: Difference;
  readonly bucketWidth: Millis;
}

/** @param deadline the earlier of the clients' and the method's own; null: none */
export function simulateMethod(
  config: ServiceConfig,
  governing: Governing,
  deadline: Millis | null,
  { method, words, world: given, loadBalancing }: SimulateOptions,
): Simulation {
  const { plan, waitForReady } = governing.policy;
  const path = `/${method.service}/${method.method}`;
  const world: World = { ...given, balancing: config.balancing ?? defaultBalancing(loadBalancing) };
  const play = (by: Plan, limits: ThrottleLimits | null): ModelRun =>
    runModel(world, { path, plan: by, deadline, waitForReady, throttle: createThrottle(limits) });
  const [bare, kept] = [play({ kind: 'none' }, config.throttling), play(plan, config.throttling)];
  const held = plan.kind !== 'none' && (kept.tokens?.shut.length ?? 0) > 0;
  const width = bucketWidth(Math.max(bare.calls.at(-1)?.startedAt ?? 0, 1));
  const sideOf = (run: ModelRun): Side => ({ run, summary: summarize(run), buckets: bucketsOf(run, width) });
  return {
    path,
    governing,
    notes: notesOn(config, governing),
    deadline,
    world,
    words,
    without: sideOf(bare),
    with: sideOf(kept),
    unthrottled: held ? summarize(play(plan, null)) : null,
    difference: compare(bare, kept),
    bucketWidth: width,
  };
}
