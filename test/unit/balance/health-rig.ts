import { transportFailure, type Verdict } from '../../../src/balance/blame.js';
import { createHealth } from '../../../src/balance/health.js';
import {
  type BackendHealth,
  defaultHealth,
  type Health,
  type HealthChange,
  type HealthSettings,
  type HealthStats,
  type Mark,
} from '../../../src/balance/health-types.js';
import type { Standing } from '../../../src/balance/types.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { millis } from '../../../src/grpc/millis.js';

export const success: Verdict = { kind: 'success', counts: true };
export const quota: Verdict = { kind: 'success', counts: false };
export const neutral: Verdict = { kind: 'neutral', waited: false };
export const loser: Verdict = { kind: 'neutral', waited: true };
export const failure: Verdict = { kind: 'failure', cause: 'status' };
export const timeout: Verdict = { kind: 'failure', cause: 'timeout' };
export const lost = transportFailure;
export const limit = (ms: number | null = null): Verdict => ({
  kind: 'rateLimited',
  ms: ms === null ? null : millis(ms),
});

/** One backend's health at a time of the test's own. */
export class Rig {
  readonly health: Health;
  readonly id: BackendId;
  readonly backend: BackendHealth;
  now = 1_000_000;

  constructor(settings: Partial<HealthSettings> = {}) {
    this.health = createHealth({ ...defaultHealth, ...settings });
    this.id = backendId('a');
    this.backend = this.health.of(this.id);
  }

  get standing(): Standing {
    return this.health.standing(this.id, this.now);
  }

  get stats(): HealthStats {
    return this.backend.stats(this.now);
  }

  pass(ms: number): this {
    this.now += ms;
    return this;
  }

  began(): Mark {
    return this.backend.began(this.now);
  }

  end(mark: Mark, verdict: Verdict, silentMs = 5): HealthChange | null {
    return this.backend.ended(mark, verdict, this.now, silentMs);
  }

  /** Attempts one after the other; what the last one changed. */
  meets(...verdicts: readonly Verdict[]): HealthChange | null {
    let last: HealthChange | null = null;
    for (const verdict of verdicts) last = this.end(this.began(), verdict);
    return last;
  }

  /** Attempts that are all under way before the first ends; what each changed. */
  overlap(...verdicts: readonly Verdict[]): (HealthChange | null)[] {
    const marks = verdicts.map(() => this.began());
    return verdicts.map((verdict, i) => this.end(marks[i] ?? -2, verdict));
  }

  mayProbe(guarded: boolean): boolean {
    return this.health.mayProbe(this.id, this.now, guarded);
  }

  /** A park by three failures, of a backend that never answered. */
  parked(verdict: Verdict = failure): this {
    this.meets(verdict, verdict, verdict);
    return this;
  }
}
