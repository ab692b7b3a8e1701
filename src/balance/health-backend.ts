import type { BackendId } from '../grpc/backend-id.js';
import type { Verdict } from './blame.js';
import { Latency } from './health-latency.js';
import { RateLimits } from './health-limits.js';
import type {
  BackendHealth,
  HealthChange,
  HealthSettings,
  HealthStats,
  Mark,
  ParkReason,
  ReleaseRoute,
} from './health-types.js';
import type { Standing } from './types.js';

/** How many backends stand otherwise than clean or recent, as far as anybody has looked since. */
export interface Troubles {
  count: number;
}

/** No probe is under way. */
const noProbe = -1;

/*
 * One backend (D20, D21, D8; 4.3). What has ended by time alone is found out when somebody looks: no timer.
 *
 * Marks are even numbers that grow by 2 with each park that is set and each probe that begins; a probe's own is the odd one
 * below. So a mark says whether its attempt began after a park was set, 4.3 (b), and whether it is the probe.
 */
export class TrackedBackend implements BackendHealth {
  private readonly id: BackendId;
  private readonly settings: HealthSettings;
  private readonly troubles: Troubles;
  private readonly averages: Latency;
  private readonly limits: RateLimits;
  /** It counts in `troubles`. */
  private troubled = false;
  private gone = false;

  private calls = 0;
  private successes = 0;
  private failures = 0;
  private timeouts = 0;

  private rate = 0;
  private consecutive = 0;
  private hard = 0;
  /** The hard failures in a row were all of the transport. */
  private transportOnly = true;
  private lastSuccessAt = Number.NEGATIVE_INFINITY;
  private lastFailureAt = Number.NEGATIVE_INFINITY;

  private mark: Mark = 0;
  /** 0: no park by failures. In the past: lapsed. One that is parked so is breached too. */
  private failureUntil = 0;
  private streak = 0;
  /** Marks of attempts that began after the last park was set are no less. */
  private parkMark: Mark = 0;
  private probe: Mark = noProbe;
  private probeAt = 0;

  private limitMark: Mark = 0;

  /** By hand; 0: not. */
  private handUntil = 0;
  private notServing = false;

  private disconnectedNow = false;
  /** Since when it is parked or down without a break; of no meaning once it is neither. */
  private absentFrom: number | null = null;
  /** When the first of the parks by failures began that no answer came between; null: there is none. */
  private failuresFrom: number | null = null;

  constructor(id: BackendId, settings: HealthSettings, troubles: Troubles) {
    this.id = id;
    this.settings = settings;
    this.troubles = troubles;
    this.averages = new Latency(settings);
    this.limits = new RateLimits(settings);
  }

  // === BackendHealth ===

  began(now: number): Mark {
    this.calls += 1;
    if (!this.troubled || this.standing(now) !== 'lapsed') return this.mark;
    this.mark += 2;
    this.probe = this.mark - 1;
    this.probeAt = now;
    return this.probe;
  }

  answered(mark: Mark, now: number): HealthChange | null {
    if (mark !== this.probe || this.gone) return null;
    this.probe = noProbe;
    this.hard = Math.min(this.hard, this.settings.hardFailures - 1);
    return this.release('lapsed_probe', now);
  }

  ended(mark: Mark, verdict: Verdict, now: number, silentMs: number): HealthChange | null {
    if (this.gone) return null;
    const probed = mark === this.probe;
    if (probed) this.probe = noProbe;
    switch (verdict.kind) {
      case 'success':
        return this.succeeded(verdict.counts, probed, now, silentMs);
      case 'neutral':
        if (verdict.waited) this.averages.sampleAtLeast(silentMs, now);
        return null;
      case 'failure':
        return this.failed(mark, verdict.cause, now, silentMs);
      case 'rateLimited':
        return this.limited(mark, verdict.ms, now);
      default:
        return verdict satisfies never;
    }
  }

  connected(now: number): HealthChange | null {
    this.disconnectedNow = false;
    if (this.hard === 0 || !this.transportOnly || this.gone) return null;
    // What they told is void. The streak stays: of one that takes connections and drops calls the parks grow longer.
    this.hard = 0;
    return this.release('connected', now);
  }

  disconnected(since: number, now: number): void {
    if (this.disconnectedNow) return;
    this.away(since, now);
    this.disconnectedNow = true;
  }

  absentSince(now: number): number | null {
    return this.isAway(now) ? this.absentFrom : null;
  }

  checked(serving: boolean, now: number): HealthChange | null {
    if (this.gone) return null;
    if (!serving) {
      if (this.notServing) return null;
      this.away(now, now);
      this.notServing = true;
      this.settle();
      return this.parked('not_serving', null, 0);
    }
    const refused = this.notServing;
    this.notServing = false;
    if (this.failureUntil > 0) this.hard = 0;
    const released = this.release('serving', now);
    return released ?? (refused ? this.released('not_serving', 'serving', null) : null);
  }

  unchecked(): HealthChange | null {
    if (this.gone || !this.notServing) return null;
    this.notServing = false;
    this.settle();
    return this.released('not_serving', 'removed', null);
  }

  park(ms: number | null, now: number): HealthChange {
    this.away(now, now);
    this.handUntil = ms === null ? Number.POSITIVE_INFINITY : now + ms;
    this.settle();
    return this.parked('operator', ms, 0);
  }

  unpark(now: number): HealthChange | null {
    const change = this.dissolved('operator', now);
    this.handUntil = 0;
    this.notServing = false;
    this.limits.until = 0;
    this.limits.streak = 0;
    this.failureUntil = 0;
    this.failuresFrom = null;
    this.streak = 0;
    this.hard = 0;
    this.probe = noProbe;
    this.settle();
    return change;
  }

  standing(now: number): Standing {
    if (this.troubled) {
      if (this.handUntil > 0 && now >= this.handUntil) {
        this.handUntil = 0;
        this.settle();
      }
      if (this.limits.until > 0 && now >= this.limits.until) {
        this.limits.until = 0;
        this.settle();
      }
      if (this.notServing || this.handUntil > 0 || now < this.failureUntil) return 'parked';
      if (this.limits.until > 0) return 'rate_limited';
      if (this.breached) {
        if (now < this.lapsesAt) return 'breached';
        return this.probe !== noProbe && now - this.probeAt < this.settings.probeTimeout ? 'probing' : 'lapsed';
      }
    }
    return this.failedRecently(now) ? 'recent' : 'clean';
  }

  latency(now: number): number {
    return this.averages.score(now);
  }

  stats(now: number): HealthStats {
    const standing = this.standing(now);
    const ewma = this.averages.current(now);
    const until = Math.max(this.handUntil, this.failureUntil, this.notServing ? Number.POSITIVE_INFINITY : 0);
    return {
      calls: this.calls,
      successes: this.successes,
      failures: this.failures,
      timeouts: this.timeouts,
      rate_limited: this.limits.seen,
      failure_rate: Math.round(this.rate * 1000) / 1000,
      consecutive_failures: this.consecutive,
      consecutive_hard_failures: this.hard,
      threshold_breached: this.breached,
      parked_for_ms: until === Number.POSITIVE_INFINITY ? null : Math.ceil(Math.max(0, until - now)),
      park_reason: this.reason(now),
      park_streak: this.streak,
      rate_limited_for_ms: Math.ceil(Math.max(0, this.limits.until - now)),
      recent_failure: this.failedRecently(now),
      standing,
      ewma_ms: ewma === null ? null : Math.round(ewma * 10) / 10,
      samples: this.averages.samples,
    };
  }

  // === HealthView, of this one ===

  /** The latest end of a park that there is or was; in the past for a lapsed one, Infinity for one without an end. */
  get parkedUntil(): number {
    if (this.notServing) return Number.POSITIVE_INFINITY;
    return Math.max(this.handUntil, this.failureUntil, this.limits.until);
  }

  mayProbe(now: number, guarded: boolean): boolean {
    return this.standing(now) === 'lapsed' && (guarded || now >= this.lapsesAt + this.settings.probeGrace);
  }

  /** It left the set. */
  leave(now: number): HealthChange | null {
    const change = this.dissolved('removed', now);
    this.gone = true;
    this.settle();
    return change;
  }

  // === What ends ===

  private succeeded(counts: boolean, probed: boolean, now: number, silentMs: number): HealthChange | null {
    this.successes += 1;
    if (counts) this.rate *= 1 - this.settings.rateAlpha;
    this.averages.sample(silentMs, now);
    this.lastSuccessAt = now;
    if (this.consecutive === 0 && !this.troubled) return null;
    this.consecutive = 0;
    this.hard = 0;
    this.limits.streak = 0;
    this.streak = 0;
    // Of an attempt from before the park too, 4.3 (f): it answered, so it is alive.
    return this.release(probed ? 'lapsed_probe' : 'success', now);
  }

  private failed(
    mark: Mark,
    cause: 'transport' | 'status' | 'timeout',
    now: number,
    silentMs: number,
  ): HealthChange | null {
    const { rateAlpha, aliveWindow, rateFloor, parkFirst, parkMax } = this.settings;
    this.failures += 1;
    if (cause === 'timeout') {
      this.timeouts += 1;
      this.averages.sampleTimeout(silentMs, now);
    } else this.averages.sampleFailure(silentMs, now);
    this.rate = this.rate * (1 - rateAlpha) + rateAlpha;
    this.consecutive += 1;
    this.transportOnly = cause === 'transport' && (this.hard === 0 || this.transportOnly);
    this.hard += 1;
    this.lastFailureAt = now;
    const silentTooLong = now - this.lastSuccessAt >= aliveWindow;
    // 4.3 (b): nor does a park grow while it lasts, which is felt where all are parked and tried all the same (D32).
    const parked = now < this.failureUntil || mark < this.parkMark;
    if (!this.breached || parked || !(silentTooLong || this.rate >= rateFloor)) {
      this.settle();
      return null;
    }
    const parkMs = Math.min(parkFirst * 2 ** this.streak, parkMax);
    this.streak += 1;
    // What had lapsed and fails its probe has been of no use all the time (D15).
    this.failuresFrom ??= now;
    this.away(this.failuresFrom, now);
    this.failureUntil = now + parkMs;
    this.mark += 2;
    this.parkMark = this.mark;
    this.probe = noProbe;
    this.settle();
    return this.parked('consecutive_failures', parkMs, this.streak);
  }

  private limited(mark: Mark, asked: number | null, now: number): HealthChange | null {
    this.consecutive += 1;
    this.lastFailureAt = now;
    const parkMs = this.limits.add(asked, mark < this.limitMark, now);
    if (parkMs === 0) return null;
    this.mark += 2;
    this.limitMark = this.mark;
    this.settle();
    return this.parked('rate_limited', parkMs, this.limits.streak);
  }

  // === Pieces ===

  private isAway(now: number): boolean {
    return this.disconnectedNow || this.standing(now) === 'parked';
  }

  /** Another reason to be away begins, before it is noted: it goes on with an absence that lasts, or is a new one (D15). */
  private away(since: number, now: number): void {
    const from = this.isAway(now) ? this.absentFrom : null;
    this.absentFrom = from === null ? since : Math.min(from, since);
  }

  private get breached(): boolean {
    return this.hard >= this.settings.hardFailures;
  }

  /**
   * From when it waits for a probe. A breach without a park ends so too: a backend that counts as tried for everybody (D33)
   * gets no call that could clear it.
   */
  private get lapsesAt(): number {
    return this.failureUntil > 0 ? this.failureUntil : this.lastFailureAt + this.settings.recentWindow;
  }

  private failedRecently(now: number): boolean {
    return this.consecutive > 0 && now - this.lastFailureAt < this.settings.recentWindow;
  }

  private reason(now: number): ParkReason | null {
    if (now < this.handUntil) return 'operator';
    if (this.notServing) return 'not_serving';
    if (now < this.failureUntil) return 'consecutive_failures';
    return now < this.limits.until ? 'rate_limited' : null;
  }

  /** Ends the park by failures, if there is one. */
  private release(route: ReleaseRoute, now: number): HealthChange | null {
    const until = this.failureUntil;
    this.failureUntil = 0;
    this.failuresFrom = null;
    this.probe = noProbe;
    this.settle();
    return until > 0 ? this.released('consecutive_failures', route, Math.max(0, until - now)) : null;
  }

  /** What is told where every park ends at once. */
  private dissolved(route: ReleaseRoute, now: number): HealthChange | null {
    const reason = this.reason(now) ?? (this.failureUntil > 0 ? 'consecutive_failures' : null);
    if (reason === null) return null;
    const until = this.parkedUntil;
    return this.released(reason, route, until === Number.POSITIVE_INFINITY ? null : Math.max(0, until - now));
  }

  private parked(reason: ParkReason, parkMs: number | null, streak: number): HealthChange {
    return { kind: 'parked', id: this.id, reason, parkMs, streak, failures: this.hard };
  }

  private released(reason: ParkReason, route: ReleaseRoute, parkMs: number | null): HealthChange {
    return { kind: 'released', id: this.id, reason, route, parkMs };
  }

  private settle(): void {
    const troubled = !this.gone && (this.breached || this.handUntil > 0 || this.limits.until > 0 || this.notServing);
    if (troubled === this.troubled) return;
    this.troubled = troubled;
    this.troubles.count += troubled ? 1 : -1;
  }
}
