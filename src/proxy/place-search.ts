import { allows } from '../balance/bounds.js';
import type { Bounds, Pick, PickQuery } from '../balance/types.js';
import { unplacedEnd } from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId, TargetName } from '../grpc/backend-id.js';
import { Status } from '../grpc/status.js';
import type { Http2Connection, Http2Stream, StreamEvents } from '../http2/types.js';
import type { AttemptCause, Constraint } from '../policy/types.js';
import type { StreamWaiter, UpstreamBackend, WaiterPlace } from '../upstream/types.js';
import type { ProxyParts } from './parts.js';
import { type SessionSeat, sessionLost, sessionsFull } from './session-seat.js';

/** Shared: nearly every search ends without a failure. */
const nobody: readonly BackendId[] = [];
const none: Pick = { kind: 'none' };
const overloaded: Pick = { kind: 'overloaded' };

/** What a place must be. */
export interface PlaceWish {
  readonly onlyOn: Constraint | null;
  readonly exclude: readonly TargetName[];
  /** The call's session, where the attempt keeps to it; `onlyOn` says how strictly. */
  readonly seat: SessionSeat | null;
  /** Wait for a backend where none can be had (CFG-83). */
  readonly waitForReady: boolean;
  readonly cause: AttemptCause;
  /** The call has a retry or hedging policy in force. */
  readonly guarded: boolean;
}

/** Who looks for a place. The stream's events go to it. */
export interface PlaceSeeker extends StreamEvents {
  /** Advice: backends to leave to others. */
  readonly avoided: readonly BackendId[];
  /** Send HEADERS in this turn. */
  placeFound(backend: UpstreamBackend, stream: Http2Stream, connection: Http2Connection): void;
  placeMissed(end: AttemptEnd): void;
  /** A defect of ours was thrown. */
  placeFailed(error: unknown): void;
}

/**
 * Finds one attempt its stream: picks a backend, waits there for a connection or for room, goes on to the next where it cannot
 * connect, and says what that comes to when none is left (D12, No backend).
 */
export class PlaceSearch implements StreamWaiter, PickQuery {
  private readonly seeker: PlaceSeeker;
  private readonly parts: ProxyParts;
  private readonly wish: PlaceWish;
  /** A pin, or a session's backend; null once it binds no further. */
  private onlyOn: Constraint | null;
  private seat: SessionSeat | null;
  /** What the next pick must keep to; null where it may go anywhere. */
  bounds: Bounds | null;
  /** Backends that failed to connect in this very pick. */
  failed: readonly BackendId[] = nobody;
  /** StreamWaiter. */
  place: WaiterPlace | null = null;
  private queuedAt: UpstreamBackend | null = null;
  private lastFailure = '';
  private over = false;
  /** Waits for any backend to come up. */
  private hopeful: (() => void) | null = null;

  constructor(seeker: PlaceSeeker, parts: ProxyParts, wish: PlaceWish) {
    this.seeker = seeker;
    this.parts = parts;
    this.wish = wish;
    this.onlyOn = wish.onlyOn;
    this.seat = wish.seat;
    this.bounds = boundsOf(wish.onlyOn, wish.exclude);
    if (wish.seat !== null) this.bindTo(wish.seat.backend);
  }

  /** Where it waits for a stream. */
  get waitingAt(): BackendId | null {
    return this.queuedAt?.id ?? null;
  }

  /** PickQuery. */
  get tried(): readonly BackendId[] {
    return this.seeker.avoided;
  }

  get cause(): AttemptCause {
    return this.wish.cause;
  }

  get guarded(): boolean {
    return this.wish.guarded;
  }

  get now(): number {
    return this.parts.clock.now();
  }

  /** StreamWaiter: the stream's events go to whoever looks for the place. */
  get events(): StreamEvents {
    return this.seeker;
  }

  /** Tells the seeker, now or when there is news. */
  begin(): void {
    const { pool } = this.parts;
    for (;;) {
      const pick = this.pick();
      if (pick.kind !== 'use') {
        // Told once, also to a call that could go elsewhere (D15).
        if (this.losesSession(pick)) this.miss(sessionLostEnd(this.seat?.backend ?? ''));
        else if (this.loosen(pick)) continue;
        else this.endWithout(pick);
        return;
      }
      const backend = pool.get(pick.id);
      if (backend === undefined) {
        this.failed = [...this.failed, pick.id];
        continue;
      }
      const opened = backend.tryOpen(this.seeker);
      if (opened !== null) {
        this.over = true;
        this.seeker.placeFound(backend, opened.stream, opened.connection);
        return;
      }
      this.queuedAt = backend;
      backend.wait(this);
      return;
    }
  }

  private pick(): Pick {
    const { pool, picker } = this.parts;
    const { seat, bounds } = this;
    if (seat === null) return picker.pick(pool.backends, this);
    const { backend: id } = seat;
    if (id === null) {
      const pick = seat.choose(pool.backends, this);
      if (pick.kind === 'use') this.bindTo(pick.id);
      return pick;
    }
    const home = pool.get(id);
    if (home?.phase !== 'leaving' || this.failed.includes(id) || bounds === null || !allows(bounds, home))
      return picker.pick(pool.backends, this);
    // D15: a session keeps a backend that is leaving until its drain has ended, or its last connection takes no more.
    if (home.connections === 0) return none;
    return home.maxCalls !== null && home.load >= home.maxCalls ? overloaded : { kind: 'use', id };
  }

  /** @param id the session's backend; null: it has none yet */
  private bindTo(id: BackendId | null): void {
    const strict = this.wish.onlyOn?.strict ?? true;
    this.onlyOn = { target: id ?? '', strict };
    this.bounds = boundsOf(id === null ? null : this.onlyOn, this.wish.exclude);
  }

  /** The pick found nobody. */
  private endWithout(pick: Exclude<Pick, { kind: 'use' }>): void {
    const { waitForReady } = this.wish;
    switch (pick.kind) {
      case 'skipped':
        this.miss(skippedEnd);
        return;
      case 'parked': {
        // Parks are not waited for (D9).
        const left = Math.max(0, pick.until - this.now);
        const time = Number.isFinite(left)
          ? `for another ${(Math.ceil(left / 100) / 10).toFixed(1)} s`
          : 'until it is released';
        this.miss(unplacedEnd(`${this.bound()}, which is parked ${time}`));
        return;
      }
      case 'none':
      case 'overloaded':
        if (this.seat?.crowded) this.miss(crowdedEnd);
        else if (waitForReady && !this.isHomeless()) this.waitForRoom();
        else this.miss(pick.kind === 'none' ? this.nowhereEnd() : this.droppedEnd());
        return;
      default:
        pick satisfies never;
    }
  }

  /**
   * The session's backend is refused, and not by the call's own exclude (D3): that loses it where no time is allowed (D15). A
   * busy one is not lost (D17), and one that is waited for is not refused (D9).
   */
  private losesSession({ kind }: Pick): boolean {
    const { seat, bounds } = this;
    if (seat === null || seat.backend === null || kind === 'overloaded') return false;
    if (kind === 'none' && this.wish.waitForReady) return false;
    const backend = this.parts.pool.get(seat.backend);
    return backend !== undefined && bounds !== null && allows(bounds, backend) && seat.refused();
  }

  onOpened(stream: Http2Stream, connection: Http2Connection): void {
    const backend = this.queuedAt;
    this.queuedAt = null;
    if (backend === null || this.over) return;
    this.over = true;
    this.seeker.placeFound(backend, stream, connection);
  }

  onFailed(why: 'connect' | 'lost' | 'closed', detail: string): void {
    const backend = this.queuedAt;
    this.queuedAt = null;
    if (backend === null || this.over) return;
    // Waited behind the peer's stream limit: proven never to have left (A6, Transparent retries).
    if (why === 'lost') this.miss({ ...unplacedEnd(detail), reach: 'unsent' });
    else {
      this.failed = [...this.failed, backend.id];
      this.lastFailure = detail;
      // D29: nothing can depend on a claim whose first call never came there.
      if (this.seat?.release()) this.bindTo(null);
      this.beginAgain();
    }
  }

  /** Gives up; the seeker hears nothing more. */
  cancel(): void {
    this.over = true;
    if (this.queuedAt !== null) {
      this.queuedAt.cancel(this);
      this.queuedAt = null;
    }
    if (this.hopeful !== null) {
      this.parts.pool.forget(this.hopeful);
      this.hopeful = null;
    }
  }

  /** The session's backend is leaving, or has left: there is nothing to wait for. */
  private isHomeless(): boolean {
    const id = this.seat?.backend ?? null;
    return id !== null && this.parts.pool.get(id)?.phase !== 'serving';
  }

  private miss(end: AttemptEnd): void {
    this.over = true;
    this.seeker.placeMissed(end);
  }

  /** From inside an event of the pool. */
  private beginAgain(): void {
    try {
      this.begin();
    } catch (error) {
      this.seeker.placeFailed(error);
    }
  }

  /** Where the pick may begin anew: a pin that binds no further (D7), or backends that may be up again by now. */
  private loosen({ kind }: Pick): boolean {
    if (this.onlyOn !== null && !this.onlyOn.strict) {
      this.onlyOn = null;
      this.seat = null;
      this.bounds = boundsOf(null, this.wish.exclude);
    } else if (!this.wish.waitForReady || this.failed.length === 0 || kind === 'parked' || kind === 'skipped')
      return false;
    this.failed = nobody;
    return true;
  }

  /** CFG-83, D9: a place comes with a connection or with room in a queue, of the pinned backend where the call is pinned. */
  private waitForRoom(): void {
    this.hopeful = () => {
      this.hopeful = null;
      if (!this.over) this.beginAgain();
    };
    if (this.parts.pool.onceRoom(this.hopeful)) return;
    this.hopeful = null;
    this.miss(this.droppedEnd());
  }

  private droppedEnd(): AttemptEnd {
    const { onlyOn } = this;
    const queue = 'as many calls waiting as --queue-limit permits, or in flight as its max-calls does';
    if (onlyOn === null || onlyOn.target === '')
      return { ...unplacedEnd(`${this.every} has ${queue}`), reach: 'dropped' };
    const detail = `${this.bound()}, which has ${queue}`;
    return { ...unplacedEnd(detail), code: Status.RESOURCE_EXHAUSTED, reach: 'dropped' };
  }

  /** What binds the call, in words. */
  private bound(): string {
    const target = this.onlyOn?.target ?? '';
    return this.seat === null ? `the call is pinned to ${target}` : `the call's session is on ${target}`;
  }

  /** What was judged, in words. */
  private get every(): string {
    return this.wish.exclude.length === 0 ? 'every backend' : 'every backend that the call does not exclude';
  }

  private nowhereEnd(): AttemptEnd {
    const { bounds, onlyOn, lastFailure } = this;
    const { backends } = this.parts.pool;
    const allowed = bounds === null ? backends : backends.filter((backend) => allows(bounds, backend));
    const which = onlyOn === null || onlyOn.target === '' ? this.every : `backend ${onlyOn.target}`;
    const detail = lastFailure === '' ? describeDown(allowed, which, this.wish.exclude.length > 0) : lastFailure;
    return unplacedEnd(onlyOn === null || onlyOn.target === '' ? detail : `${this.bound()}: ${detail}`);
  }
}

const skippedEnd: AttemptEnd = {
  ...unplacedEnd(
    'the call has been sent to every backend that can be used, and --hedge-distinct leaves further hedges out',
  ),
  reach: 'dropped',
  reason: 'attempts_exhausted',
};

const crowdedEnd: AttemptEnd = {
  ...unplacedEnd(sessionsFull),
  code: Status.RESOURCE_EXHAUSTED,
  reach: 'dropped',
  reason: 'overloaded',
};

function sessionLostEnd(backend: string): AttemptEnd {
  return { ...unplacedEnd(sessionLost(backend)), reach: 'dropped', reason: 'session_lost' };
}

function boundsOf(onlyOn: Constraint | null, exclude: readonly TargetName[]): Bounds | null {
  return onlyOn === null && exclude.length === 0
    ? null
    : { only: onlyOn?.target ?? null, strict: onlyOn?.strict ?? false, exclude };
}

/** Why no backend is usable, in words that name each one's trouble. */
function describeDown(backends: readonly UpstreamBackend[], which: string, excluding: boolean): string {
  if (backends.length === 0)
    return excluding ? `the call excludes ${which}, or there is none` : `there is none of ${which} yet`;
  const troubles = backends.map((backend) => backend.lastError).filter((error): error is string => error !== null);
  return troubles.length === 0 ? `${which} is down` : `${which} is down: ${troubles.slice(0, 3).join('; ')}`;
}
