import { neutral, type Unended } from '../balance/blame.js';
import type { BackendHealth, Mark } from '../balance/health-types.js';
import {
  judgeHeaders,
  judgeMissingTrailers,
  judgeStreamEnd,
  judgeTrailers,
  overdueEnd,
  statedTrailers,
  unplacedEnd,
} from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { createMessageScanner, type MessageScanner, prefixLength } from '../grpc/message-frames.js';
import { MessageLimit } from '../grpc/message-limit.js';
import type { MetadataField } from '../grpc/metadata.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import {
  ErrorCode,
  type HeaderField,
  type Http2Connection,
  type Http2Stream,
  type StreamEnd,
  type StreamEvents,
} from '../http2/types.js';
import type { AttemptCause, AttemptId } from '../policy/types.js';
import type { ReplayReader } from '../replay/types.js';
import type { UpstreamBackend } from '../upstream/types.js';
import type { AttemptOwner } from './attempt-owner.js';
import type { HedgeTrigger, MeteredAttempt, MethodIndex } from './meters.js';
import type { ProxyParts } from './parts.js';
import { PlaceSearch, type PlaceSeeker, type PlaceWish } from './place-search.js';
import { SliceQueue } from './slice-queue.js';

/** What an attempt is started with. */
export interface AttemptFacts extends PlaceWish {
  readonly id: AttemptId;
  /** The call's `:path`. */
  readonly path: string;
  readonly method: MethodIndex;
  readonly trigger: HedgeTrigger | null;
  /** A hedge, or the repeat of one. */
  readonly hedge: boolean;
  readonly previous: number;
  /** Backends that the call has tried. */
  readonly avoid: readonly BackendId[];
  /** Bytes of one message of the answer; null: no limit. */
  readonly responseLimit: number | null;
}

/** One attempt of a call: a place at a backend, then a stream there. Reads the wire; decides nothing. */
export class Attempt implements StreamEvents, PlaceSeeker, MeteredAttempt {
  readonly id: AttemptId;
  readonly cause: AttemptCause;
  /** A hedge, or the repeat of one that no application saw. */
  readonly hedge: boolean;
  /** grpc-previous-rpc-attempts of our own counting. */
  readonly previous: number;
  readonly startedAt: number;
  endedAt = 0;
  backend: UpstreamBackend | null = null;
  connection: Http2Connection | null = null;
  stream: Http2Stream | null = null;
  reader: ReplayReader | null = null;
  /** As which of its call's attempts its request HEADERS were handed to the wire, from 1; 0: they were not. */
  dispatched = 0;
  /** When they were (clock ms). */
  sentAt = 0;
  /** What it has passed on is freed once its HEADERS have left. */
  awaitsFlush = false;
  private initial: readonly MetadataField[] | null = null;
  /** The backend's own trailers, or its Trailers-Only answer; null where it gave none. */
  trailers: readonly MetadataField[] | null = null;
  end: AttemptEnd | null = null;
  /** Of the connection, where that was lost under it; else 0. */
  lostGeneration = 0;
  /** Ended by us. */
  cancelled = false;
  /** The same, as the deadline had passed. */
  expired = false;
  readonly trigger: HedgeTrigger | null;
  /** Backends that its call had tried when it began. */
  readonly avoid: readonly BackendId[];
  /** Null before its HEADERS were handed over, and after its end. */
  private health: BackendHealth | null = null;
  private mark: Mark = 0;
  /** Negative: END_STREAM of the request has not been handed over. */
  private requestEndedAt = -1;
  /** Negative: no response headers yet. */
  private answeredAt = -1;
  private readonly path: string;
  private readonly method: MethodIndex;
  private readonly owner: AttemptOwner<Attempt>;
  private readonly parts: ProxyParts;
  /** Null once it has a place, or will have none. */
  private search: PlaceSearch | null;
  private readonly limit: MessageLimit | null;
  /** Null: nothing of the answer's body has come. */
  private answer: MessageScanner | null = null;
  private answerBytes = 0;
  private reported = false;
  /** Answer bytes that the client could not take yet. */
  private readonly queue = new SliceQueue();

  constructor(owner: AttemptOwner<Attempt>, parts: ProxyParts, facts: AttemptFacts) {
    this.owner = owner;
    this.parts = parts;
    this.id = facts.id;
    this.cause = facts.cause;
    this.path = facts.path;
    this.method = facts.method;
    this.trigger = facts.trigger;
    this.hedge = facts.hedge;
    this.previous = facts.previous;
    this.avoid = facts.avoid;
    this.limit = facts.responseLimit === null ? null : new MessageLimit(facts.responseLimit);
    this.search = new PlaceSearch(this, parts, facts);
    this.startedAt = parts.clock.now();
    parts.meters.attemptStarted(facts.method);
  }

  /** Where it is, or waits to be; null while it has no place. */
  get at(): BackendId | null {
    return this.backend?.id ?? this.search?.waitingAt ?? null;
  }

  get requestEnded(): boolean {
    return this.requestEndedAt >= 0;
  }

  /** END_STREAM of the request is handed over. */
  endRequest(): void {
    this.requestEndedAt = this.parts.clock.now();
  }

  /** Its backend has failed so often in a row that a pin goes on with it no more (D33). */
  get breached(): boolean {
    const { backend, parts } = this;
    if (backend === null || parts.health.calm) return false;
    const standing = parts.health.standing(backend.id, parts.clock.now());
    return standing !== 'clean' && standing !== 'recent' && standing !== 'rate_limited';
  }

  place(): void {
    this.search?.begin();
  }

  /** Response headers that have just come. Once: a stream may stay open for hours, and they are of no more use. */
  takeInitial(): readonly MetadataField[] {
    const { initial } = this;
    this.initial = null;
    return initial ?? [];
  }

  /** Response headers that were not Trailers-Only have come. */
  get hasAnswered(): boolean {
    return this.answeredAt >= 0;
  }

  // === PlaceSeeker ===

  get avoided(): readonly BackendId[] {
    return this.owner.avoidedBy(this);
  }

  placeFound(backend: UpstreamBackend, stream: Http2Stream, connection: Http2Connection): void {
    this.search = null;
    this.backend = backend;
    this.stream = stream;
    this.connection = connection;
    try {
      this.owner.attemptOpened(this);
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  placeMissed(end: AttemptEnd): void {
    this.search = null;
    if (!this.reported) this.settle(end);
  }

  placeFailed(error: unknown): void {
    this.owner.attemptFailed(error);
  }

  /**
   * Its HEADERS have been handed to the wire.
   *
   * @param order as which of its call's attempts, from 1
   */
  sent(order: number): void {
    this.dispatched = order;
    const { backend, parts } = this;
    if (backend === null) return;
    this.sentAt = parts.clock.now();
    this.health = parts.health.of(backend.id);
    this.mark = this.health.began(this.sentAt);
    backend.calls.began(this.sentAt);
  }

  /** Ends the attempt before anything of it was sent. */
  drop(code: StatusCode, reason: StopReason, detail: string): void {
    this.settle({ ...unplacedEnd(detail), code, reach: 'dropped', reason });
  }

  /** Ends the attempt from our side; nothing more is heard of it. @param late the call's deadline has passed */
  cancel(late = false): void {
    if (this.reported) return;
    this.reported = true;
    this.cancelled = this.end === null;
    this.expired = late && this.cancelled;
    this.endedAt = this.parts.clock.now();
    this.tellHealth(this.end ?? (late ? 'deadline' : 'abandoned'));
    this.search?.cancel();
    this.search = null;
    this.parts.meters.attemptEnded(this.method, this.path, this);
    this.release();
  }

  /** The client has room: passes on what waits. */
  flush(): void {
    if (this.queue.bytes > 0) {
      const taken = this.queue.drain((chunk, start, end) => this.owner.attemptOffers(chunk, start, end));
      if (taken > 0) {
        this.parts.relay.remove(taken);
        this.giveBack(taken, this.queue.bytes);
      }
    }
    if (this.end !== null && this.queue.bytes === 0) this.report();
  }

  onHeaders(_stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void {
    if (this.reported) return;
    try {
      const verdict = judgeHeaders(fields, endStream);
      if (verdict.kind === 'initial') {
        this.initial = fields;
        this.answered();
        this.owner.attemptAnswered(this);
        return;
      }
      this.trailers = verdict.trailers === null ? null : statedTrailers(verdict.trailers, verdict.end);
      this.settle(verdict.end);
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  onData(_stream: Http2Stream, chunk: Uint8Array, start: number, end: number, endStream: boolean): void {
    if (this.reported) return;
    try {
      this.count(chunk, start, end);
      const { limit } = this;
      if (limit === null) {
        if (end > start) this.passOn(chunk, start, end);
      } else if (!limit.pass(chunk, start, end, (...bytes) => this.passOn(...bytes))) {
        this.settle({ ...unplacedEnd(''), code: Status.RESOURCE_EXHAUSTED, reach: 'processed' });
        // What comes before it may wait for a slow client; the backend need not.
        if (this.stream !== null && !this.stream.closed) this.connection?.reset(this.stream, ErrorCode.CANCEL);
        return;
      }
      if (endStream) this.settle(judgeMissingTrailers());
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  onTrailers(_stream: Http2Stream, fields: readonly HeaderField[]): void {
    if (this.reported) return;
    try {
      this.limit?.flush((...bytes) => this.passOn(...bytes));
      const end = judgeTrailers(fields);
      this.trailers = statedTrailers(fields, end);
      this.settle(end);
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  onWritable(_stream: Http2Stream): void {
    if (this.reported) return;
    try {
      this.owner.attemptWritable(this);
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  onEnd(_stream: Http2Stream, end: StreamEnd): void {
    // After a complete answer a reset is the backend's way to stop our upload (RFC 9113 8.1; BR-59).
    if (this.reported || this.end !== null) return;
    try {
      if (end.kind === 'headersTooLarge') {
        this.owner.attemptTooLarge(this);
        return;
      }
      if (end.kind === 'lost') this.lost(end);
      else this.settle(judgeStreamEnd(end, this.hasAnswered));
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  private lost(end: StreamEnd): void {
    const { backend, connection } = this;
    if (backend?.overdue) {
      this.settle(overdueEnd(backend.name));
      return;
    }
    const life = connection === null ? null : (backend?.lifeOf(connection) ?? null);
    this.lostGeneration = life?.generation ?? backend?.generation ?? 0;
    this.settle(judgeStreamEnd(end, this.hasAnswered, life?.superseded ?? false));
  }

  /** Another is what its backend's name stands for by now, at another address: what ends here says nothing of that one. */
  private get replaced(): boolean {
    const { backend, parts } = this;
    return backend !== null && backend.phase !== 'serving' && parts.pool.get(backend.id) !== backend;
  }

  /** MeteredAttempt. */
  get sentBytes(): number {
    return this.reader === null ? 0 : this.owner.messageBytes(this.reader.position);
  }

  get receivedBytes(): number {
    const { answer } = this;
    if (answer === null) return 0;
    return Math.max(0, this.answerBytes - prefixLength * (answer.messages + (answer.midMessage ? 1 : 0)));
  }

  private count(chunk: Uint8Array, start: number, end: number): void {
    this.answer ??= createMessageScanner();
    this.answer.scan(chunk, start, end);
    this.answerBytes += end - start;
  }

  private answered(): void {
    this.answeredAt = this.parts.clock.now();
    if (this.replaced) return;
    const change = this.health?.answered(this.mark, this.answeredAt) ?? null;
    if (change !== null) this.parts.onHealthChange(change);
  }

  /** D21; before the machine hears of the end, so that what follows is placed by it. */
  private tellHealth(end: AttemptEnd | Unended): void {
    const { health, parts } = this;
    if (health === null) return;
    this.health = null;
    this.backend?.calls.ended(typeof end === 'string' ? null : end.code);
    const silent = (this.hasAnswered ? this.answeredAt : this.endedAt) - this.sentAt;
    const owed = this.requestEnded ? this.endedAt - this.requestEndedAt : -1;
    const verdict = this.replaced ? neutral : parts.blame.judge(end, this.path, silent, owed, this.hasAnswered);
    const change = health.ended(this.mark, verdict, this.endedAt, silent);
    if (change !== null) parts.onHealthChange(change);
  }

  private passOn(chunk: Uint8Array, start: number, end: number): void {
    const length = end - start;
    const taken = this.queue.bytes === 0 ? this.owner.attemptOffers(chunk, start, end) : 0;
    if (taken > 0) this.giveBack(taken, length - taken);
    if (taken === length) return;
    this.queue.push(chunk, start + taken, end);
    this.parts.relay.add(length - taken);
  }

  /** The end is known; it is told once the client has taken all bytes before it. */
  private settle(end: AttemptEnd): void {
    if (this.end !== null) return;
    this.end = end;
    if (this.queue.bytes === 0) this.report();
  }

  private report(): void {
    if (this.reported) return;
    this.reported = true;
    this.endedAt = this.parts.clock.now();
    if (this.end !== null) this.tellHealth(this.end);
    this.parts.meters.attemptEnded(this.method, this.path, this);
    this.release();
    const refused = this.limit?.refused ?? null;
    if (refused === null) this.owner.attemptEnded(this);
    else this.owner.attemptOverweight(this, refused);
  }

  private release(): void {
    const dropped = this.queue.clear();
    if (dropped > 0) this.parts.relay.remove(dropped);
    this.reader?.close();
    if (this.stream !== null && !this.stream.closed) this.connection?.reset(this.stream, ErrorCode.CANCEL);
  }

  /** @param left bytes of the answer that still wait */
  private giveBack(bytes: number, left: number): void {
    if (this.connection !== null && this.stream !== null)
      this.parts.relay.giveBack(this.connection, this.stream, bytes, left);
  }
}
