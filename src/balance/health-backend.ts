import type { BackendId } from '../grpc/backend-id.js';
import type { Verdict } from './blame.js';
import { Latency } from './health-latency.js';
import { RateLimits } from './health-limits.js';
import { Marks } from './health-marks.js';
import { type FailureCause, FailureRow } from './health-row.js';
import { sharedWithWorkers } from './health-shared.js';
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

type Park = Extract<HealthChange, { kind: 'parked' }>;

/** One backend (D20, D21, D8; 4.3). What has ended by time alone is found out when somebody looks: no timer. */
export class TrackedBackend implements BackendHealth {
  private readonly id: BackendId;
  private readonly settings: HealthSettings;
  private readonly troubles: Troubles;
  private readonly averages: Latency;
  private readonly limits: RateLimits;
  private readonly row: FailureRow;
  private readonly marks = new Marks();
  /** It counts in `troubles`. */
  private troubled = false;
  private gone = false;

  private calls = 0;
  /** 0: no park by failures. In the past: lapsed. One that is parked so is breached too. */
  private failureUntil = 0;
  private streak = 0;
  /** Marks of attempts that began after the last park was set are no less. */
  private parkMark: Mark = 0;
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
    this.row = new FailureRow(settings);
  }

  // === BackendHealth ===

  began(now: number): Mark {
    this.calls += 1;
    if (!this.troubled || this.standing(now) !== 'lapsed') return this.marks.last;
    return this.marks.beginProbe(now);
  }

  answered(mark: Mark, now: number): HealthChange | null {
    if (!this.marks.isProbe(mark) || this.gone) return null;
    this.marks.endProbe();
    this.row.hard = Math.min(this.row.hard, this.settings.hardFailures - 1);
    return this.release('lapsed_probe', now);
  }

  ended(mark: Mark, verdict: Verdict, now: number, silentMs: number): HealthChange | null {
    if (this.gone) return null;
    const probed = this.marks.isProbe(mark);
    if (probed) this.marks.endProbe();
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
    return this.gone ? null : this.reconnected(now);
  }

  disconnected(since: number, now: number): void {
    if (this.disconnectedNow) return;
    this.away(since, now);
    this.disconnectedNow = true;
  }

  absentSince(now: number): number | null {
    return this.isAway(now) ? this.absentFrom : null;
  }

  heard(change: HealthChange, now: number): HealthChange | null {
    if (this.gone || !sharedWithWorkers(change)) return null;
    if (change.kind === 'released') return this.heardRelease(change.route, now);
    // Those without an end are not shared.
    if (change.parkMs === null) return null;
    return change.reason === 'rate_limited'
      ? this.heardLimit(change.parkMs, change.streak, now)
      : this.heardPark(change.parkMs, change, now);
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
    if (this.failureUntil > 0) this.row.hard = 0;
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
    this.row.hard = 0;
    this.marks.endProbe();
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
      if (this.row.breached) {
        if (now < this.lapsesAt) return 'breached';
        return this.marks.probing(now, this.settings.probeTimeout) ? 'probing' : 'lapsed';
      }
    }
    return this.row.recent(now) ? 'recent' : 'clean';
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
      successes: this.row.successes,
      failures: this.row.failures,
      timeouts: this.row.timeouts,
      rate_limited: this.limits.seen,
      failure_rate: Math.round(this.row.rate * 1000) / 1000,
      consecutive_failures: this.row.consecutive,
      consecutive_hard_failures: this.row.hard,
      threshold_breached: this.row.breached,
      parked_for_ms: until === Number.POSITIVE_INFINITY ? null : Math.ceil(Math.max(0, until - now)),
      park_reason: this.reason(now),
      park_streak: this.streak,
      rate_limited_for_ms: Math.ceil(Math.max(0, this.limits.until - now)),
      recent_failure: this.row.recent(now),
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
    this.averages.sample(silentMs, now);
    this.row.succeeded(counts, now);
    if (this.row.consecutive === 0 && !this.troubled) return null;
    this.row.end(now);
    this.limits.streak = 0;
    this.streak = 0;
    // Of an attempt from before the park too, 4.3 (f): it answered, so it is alive.
    return this.release(probed ? 'lapsed_probe' : 'success', now);
  }

  private failed(mark: Mark, cause: FailureCause, now: number, silentMs: number): HealthChange | null {
    const { parkFirst, parkMax } = this.settings;
    if (cause === 'timeout') this.averages.sampleTimeout(silentMs, now);
    else this.averages.sampleFailure(silentMs, now);
    this.row.failed(cause, now);
    // 4.3 (b): nor does a park grow while it lasts, which is felt where all are parked and tried all the same (D32).
    const parked = now < this.failureUntil || mark < this.parkMark;
    // One that has lapsed was for a reason; of another worker's nothing but the park is known here.
    const due = this.row.breached && (this.failureUntil > 0 || this.row.damning(now));
    if (parked || !due) {
      this.settle();
      return null;
    }
    const parkMs = Math.min(parkFirst * 2 ** this.streak, parkMax);
    this.streak += 1;
    this.parkUntil(now + parkMs, now);
    return this.parked('consecutive_failures', parkMs, this.streak);
  }

  private limited(mark: Mark, asked: number | null, now: number): HealthChange | null {
    this.row.limited(now);
    const parkMs = this.limits.add(asked, mark < this.limitMark, now);
    if (parkMs === 0) return null;
    return this.limitParked(parkMs);
  }

  // === What another worker tells ===

  private heardPark(parkMs: number, { streak, failures, transport }: Park, now: number): HealthChange | null {
    const until = now + parkMs;
    // Two that park at once hear of each other.
    if (until <= this.failureUntil && streak <= this.streak) return null;
    this.row.heard(failures, transport, now);
    this.streak = Math.max(this.streak, streak);
    this.parkUntil(Math.max(until, this.failureUntil), now);
    return this.parked('consecutive_failures', this.failureUntil - now, this.streak);
  }

  private heardLimit(parkMs: number, streak: number, now: number): HealthChange | null {
    if (!this.limits.heard(parkMs, streak, now)) return null;
    this.row.heardLimit(now);
    return this.limitParked(this.limits.until - now);
  }

  private heardRelease(route: ReleaseRoute, now: number): HealthChange | null {
    if (route === 'connected') return this.reconnected(now);
    if (route === 'success') {
      this.row.end(now);
      this.limits.streak = 0;
      this.streak = 0;
    } else {
      // A probe's headers say less than an end that is good: the row of parks goes on until one is seen here.
      this.row.hard = 0;
    }
    return this.release(route, now);
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

  /** What failures of the transport told is void (D8). */
  private reconnected(now: number): HealthChange | null {
    if (!this.row.transport) return null;
    // The streak stays: of one that takes connections and drops calls the parks grow longer.
    this.row.hard = 0;
    return this.release('connected', now);
  }

  private parkUntil(until: number, now: number): void {
    // What had lapsed and fails its probe has been of no use all the time (D15).
    this.failuresFrom ??= now;
    this.away(this.failuresFrom, now);
    this.failureUntil = until;
    this.parkMark = this.marks.next();
    this.marks.endProbe();
    this.settle();
  }

  private limitParked(parkMs: number): HealthChange {
    this.limitMark = this.marks.next();
    this.settle();
    return this.parked('rate_limited', parkMs, this.limits.streak);
  }

  /**
   * From when it waits for a probe. A breach without a park ends so too: a backend that counts as tried for everybody (D33)
   * gets no call that could clear it.
   */
  private get lapsesAt(): number {
    return this.failureUntil > 0 ? this.failureUntil : this.row.recentUntil;
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
    this.marks.endProbe();
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
    const { hard: failures, transport } = this.row;
    return { kind: 'parked', id: this.id, reason, parkMs, streak, failures, transport };
  }

  private released(reason: ParkReason, route: ReleaseRoute, parkMs: number | null): HealthChange {
    return { kind: 'released', id: this.id, reason, route, parkMs };
  }

  private settle(): void {
    const troubled =
      !this.gone && (this.row.breached || this.handUntil > 0 || this.limits.until > 0 || this.notServing);
    if (troubled === this.troubled) return;
    this.troubled = troubled;
    this.troubles.count += troubled ? 1 : -1;
  }
}
