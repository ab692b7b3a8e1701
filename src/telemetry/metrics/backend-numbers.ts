import type { HealthChange } from '../../balance/health-types.js';
import { lossOutcomes } from '../../proxy/losses.js';
import { Counts } from './counts.js';
import { latencyBuckets } from './definition.js';
import { Histogram } from './histogram.js';
import { attemptCauses, attemptResults, connectionEvents, parkReasons, releaseRoutes } from './labels.js';

/** What is counted for the backends of one name. */
export class BackendNumbers {
  readonly attempts = new Counts(attemptCauses, attemptResults);
  /** Seconds. */
  readonly duration = new Histogram(latencyBuckets);
  readonly losses = new Counts(lossOutcomes);
  readonly parks = new Counts(parkReasons);
  readonly releases = new Counts(releaseRoutes);
  readonly connections = new Counts(connectionEvents);
  /** Milliseconds of parks that are over. */
  parkedMs = 0;
}

interface Park {
  readonly numbers: BackendNumbers;
  /** Clock milliseconds. */
  readonly since: number;
  /** Infinity: until it is released. */
  readonly until: number;
}

/** Parks in force or lapsed, by backend id: how long each lasted. */
export class ParkTimes {
  private readonly open = new Map<string, Park>();

  changed(change: HealthChange, numbers: BackendNumbers, now: number): void {
    this.close(change.id, now);
    if (change.kind === 'parked')
      this.open.set(change.id, { numbers, since: now, until: now + (change.parkMs ?? Number.POSITIVE_INFINITY) });
  }

  /** Milliseconds of parks that are not closed. */
  running(numbers: BackendNumbers, now: number): number {
    let sum = 0;
    for (const park of this.open.values()) if (park.numbers === numbers) sum += lengthOf(park, now);
    return sum;
  }

  private close(id: string, now: number): void {
    const park = this.open.get(id);
    if (park === undefined) return;
    this.open.delete(id);
    park.numbers.parkedMs += lengthOf(park, now);
  }
}

function lengthOf({ since, until }: Park, now: number): number {
  return Math.min(now, until) - since;
}
