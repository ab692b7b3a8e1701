import type { AttemptEnd } from '../grpc/attempt-facts.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import type { Failing, Spell } from './faults.js';
import { statusEnd } from './status-end.js';
import type { World } from './world.js';

/** What a backend makes of an attempt that it begins to work on; null: nothing, ever. */
export type Fate = { readonly after: Millis; readonly end: AttemptEnd } | null;

const answer = statusEnd(Status.OK, [], false);

type Terms = Pick<World, 'latency' | 'failures' | 'outages' | 'slownesses' | 'pushback'>;

/**
 * Draws it. An answer takes its latency, a failure without a time of its own as long; what makes the backend slow makes both
 * slow. Of outages at one time the first in the order given that befalls the attempt decides; they come before failures.
 *
 * @param backend its index
 * @param random the attempt's own, in [0, 1): time first, then whether it fails
 */
export function drawFate(world: Terms, backend: number, now: Millis, random: () => number): Fate {
  const here = (spell: Spell): boolean =>
    now >= spell.from && now < spell.to && (spell.backend === null || spell.backend === backend);
  let latency: number = world.latency.draw(random);
  for (const slowness of world.slownesses) if (here(slowness)) latency *= slowness.factor;
  let left = random();
  const fail = ({ code, after }: Failing): Fate => ({
    after: after ?? millis(latency),
    end: statusEnd(code, world.pushback === null ? [] : [world.pushback], true),
  });
  for (const outage of world.outages) {
    // What is down is no matter of single attempts.
    if (outage.how.kind === 'down' || !here(outage) || random() >= outage.share) continue;
    return outage.how.kind === 'silent' ? null : fail(outage.how);
  }
  for (const failure of world.failures) {
    if (left < failure.share) return fail(failure);
    left -= failure.share;
  }
  return { after: millis(latency), end: answer };
}
