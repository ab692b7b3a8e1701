import type { Verdict } from './blame.js';
import type { HealthSettings } from './health-types.js';

export type FailureCause = Extract<Verdict, { kind: 'failure' }>['cause'];

/** What the ends of one backend's attempts have come to (D20, D21): failures in a row, and their moving share. */
export class FailureRow {
  successes = 0;
  failures = 0;
  /** Of the failures. */
  timeouts = 0;
  /** The share, 0 to 1. */
  rate = 0;
  /** In a row, of any kind, rate limits too. */
  consecutive = 0;
  /** In a row, of those that park. */
  hard = 0;
  private transportOnly = true;
  private lastSuccessAt = Number.NEGATIVE_INFINITY;
  private lastFailureAt = Number.NEGATIVE_INFINITY;
  private readonly settings: HealthSettings;

  constructor(settings: HealthSettings) {
    this.settings = settings;
  }

  failed(cause: FailureCause, now: number): void {
    const { rateAlpha } = this.settings;
    this.failures += 1;
    if (cause === 'timeout') this.timeouts += 1;
    this.rate = this.rate * (1 - rateAlpha) + rateAlpha;
    this.consecutive += 1;
    this.transportOnly = cause === 'transport' && (this.hard === 0 || this.transportOnly);
    this.hard += 1;
    this.lastFailureAt = now;
  }

  limited(now: number): void {
    this.consecutive += 1;
    this.lastFailureAt = now;
  }

  /** @param counts it makes the rate less */
  succeeded(counts: boolean, now: number): void {
    this.successes += 1;
    if (counts) this.rate *= 1 - this.settings.rateAlpha;
    this.lastSuccessAt = now;
  }

  /** It answered, here or at another worker: no failure before is in a row with one to come. */
  end(now: number): void {
    this.lastSuccessAt = now;
    this.consecutive = 0;
    this.hard = 0;
  }

  /**
   * Another worker has seen so many, at the least as many as park. Where nobody here has seen one they count in a row all the
   * same, so that an answer ends what they are the reason of.
   *
   * @param transport theirs were all of the transport
   */
  heard(hard: number, transport: boolean, now: number): void {
    this.transportOnly = transport && (this.hard === 0 || this.transportOnly);
    this.hard = Math.max(this.hard, hard, this.settings.hardFailures);
    this.consecutive = Math.max(this.consecutive, this.hard);
    this.lastFailureAt = now;
  }

  /** Another worker has met a rate limit. */
  heardLimit(now: number): void {
    this.consecutive = Math.max(this.consecutive, 1);
    this.lastFailureAt = now;
  }

  /** There are hard failures, and all were of the transport. */
  get transport(): boolean {
    return this.hard > 0 && this.transportOnly;
  }

  get breached(): boolean {
    return this.hard >= this.settings.hardFailures;
  }

  /** A breach is to park: it has not answered for long, or fails too often. */
  damning(now: number): boolean {
    return now - this.lastSuccessAt >= this.settings.aliveWindow || this.rate >= this.settings.rateFloor;
  }

  recent(now: number): boolean {
    return this.consecutive > 0 && now < this.recentUntil;
  }

  /** Of meaning once something has failed. */
  get recentUntil(): number {
    return this.lastFailureAt + this.settings.recentWindow;
  }
}
