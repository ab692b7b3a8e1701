import type { HealthSettings } from './health-types.js';

/** The moving average of the time to response headers (E8, D20). Milliseconds. */
export class Latency {
  /** 0: none yet. */
  samples = 0;
  private average = 0;
  private sampledAt = 0;
  private readonly settings: HealthSettings;

  constructor(settings: HealthSettings) {
    this.settings = settings;
  }

  sample(ms: number, now: number): void {
    this.average = this.fresh(now) ? this.average + this.settings.latencyAlpha * (ms - this.average) : ms;
    this.samples += 1;
    this.sampledAt = now;
  }

  /** At least so long: nobody waited for the end. It must not make a slow backend look faster (D21). */
  sampleAtLeast(ms: number, now: number): void {
    if (ms > (this.fresh(now) ? this.average : this.settings.latencyPrior)) this.sample(ms, now);
  }

  /** Never better than one that is not proven (E8). */
  sampleTimeout(ms: number, now: number): void {
    this.sample(Math.max(ms, this.settings.latencyPrior + 1), now);
  }

  sampleFailure(ms: number, now: number): void {
    if (ms >= this.settings.latencySlowFailure) this.sample(ms, now);
  }

  /** Null: none that is not too old. */
  current(now: number): number | null {
    return this.fresh(now) ? this.average : null;
  }

  score(now: number): number {
    return this.fresh(now) && this.samples >= this.settings.latencySamples ? this.average : this.settings.latencyPrior;
  }

  private fresh(now: number): boolean {
    if (this.samples > 0 && now - this.sampledAt >= this.settings.latencyMaxAge) this.samples = 0;
    return this.samples > 0;
  }
}
