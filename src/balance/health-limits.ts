import type { HealthSettings } from './health-types.js';

/** The rate limits of one backend (E6, as 4.3 (b) and (d) amend it; D20). Clock milliseconds. */
export class RateLimits {
  /** How many there were. */
  seen = 0;
  /** 0: none in force, as far as anybody has looked. */
  until = 0;
  /** Parks without a success or a long rest between. */
  streak = 0;
  private lastAt = Number.NEGATIVE_INFINITY;
  private readonly settings: HealthSettings;

  constructor(settings: HealthSettings) {
    this.settings = settings;
  }

  /**
   * @param asked the server's delay, capped; null: doubled with each that goes before
   * @param overlapped its attempt began before the last park was set: it does not take the next step
   * @returns for how long it is parked from now; 0: this one changes nothing
   */
  add(asked: number | null, overlapped: boolean, now: number): number {
    const { limitFirst, limitMax } = this.settings;
    this.seen += 1;
    this.rested(now);
    if (overlapped && asked === null) return 0;
    const parkMs = Math.min(asked ?? limitFirst * 2 ** this.streak, limitMax);
    if (now + parkMs <= Math.max(now, this.until)) return 0;
    if (!overlapped || this.streak === 0) this.streak += 1;
    this.until = now + parkMs;
    return parkMs;
  }

  /** Another worker has parked it for so long from now, as the how many-th. False: nothing new. */
  heard(parkMs: number, streak: number, now: number): boolean {
    this.rested(now);
    if (now + parkMs <= this.until && streak <= this.streak) return false;
    this.until = Math.max(this.until, now + parkMs);
    this.streak = Math.max(this.streak, streak);
    return true;
  }

  /** One comes: the first again after a long rest. */
  private rested(now: number): void {
    if (now - this.lastAt >= this.settings.limitForget) this.streak = 0;
    this.lastAt = now;
  }
}
