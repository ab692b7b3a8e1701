import {
  judgeHeaders,
  judgeMissingTrailers,
  judgeStreamEnd,
  judgeTrailers,
  statedTrailers,
  unplacedEnd,
} from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { MetadataField } from '../grpc/metadata.js';
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
import type { StreamWaiter, UpstreamBackend } from '../upstream/types.js';
import type { ProxyParts } from './parts.js';
import { SliceQueue } from './slice-queue.js';

/** What an attempt asks of its call. Each call is made inside an event of the wire; none throws. */
export interface AttemptOwner {
  /** A stream is open: send the request's HEADERS and what is kept of its bytes. */
  attemptOpened(attempt: Attempt): void;
  /** Response headers that are not Trailers-Only are in `attempt.initial`. */
  attemptAnswered(attempt: Attempt): void;
  /** Offers response bytes to the client; returns how many were taken. */
  attemptOffers(chunk: Uint8Array, start: number, end: number): number;
  /** Its request stream has room again. */
  attemptWritable(attempt: Attempt): void;
  /** It is over, `attempt.end` says how, and all that it answered has been passed on. */
  attemptEnded(attempt: Attempt): void;
  /** Its answer's header list was over our limit: the call ends RESOURCE_EXHAUSTED (CON-13). */
  attemptTooLarge(attempt: Attempt): void;
  /** A defect of ours was thrown. */
  attemptFailed(error: unknown): void;
}

/** One attempt of a call: a place at a backend, then a stream there. Reads the wire; decides nothing. */
export class Attempt implements StreamEvents, StreamWaiter {
  readonly id: AttemptId;
  readonly cause: AttemptCause;
  /** grpc-previous-rpc-attempts of our own counting. */
  readonly previous: number;
  readonly startedAt: number;
  endedAt = 0;
  backend: UpstreamBackend | null = null;
  connection: Http2Connection | null = null;
  stream: Http2Stream | null = null;
  reader: ReplayReader | null = null;
  /** END_STREAM of the request has been sent. */
  requestEnded = false;
  initial: readonly MetadataField[] | null = null;
  /** The backend's own trailers, or its Trailers-Only answer; null where it gave none. */
  trailers: readonly MetadataField[] | null = null;
  end: AttemptEnd | null = null;
  /** Ended by us. */
  cancelled = false;

  private readonly owner: AttemptOwner;
  private readonly parts: ProxyParts;
  private readonly avoid: readonly BackendId[];
  /** Backends that failed to connect in this very pick (D12, No backend). */
  private failed: BackendId[] = [];
  private waitingAt: UpstreamBackend | null = null;
  private lastFailure = '';
  private reported = false;
  /** Answer bytes that the client could not take yet. */
  private readonly queue = new SliceQueue();

  constructor(
    owner: AttemptOwner,
    parts: ProxyParts,
    facts: { id: AttemptId; cause: AttemptCause; previous: number; avoid: readonly BackendId[] },
  ) {
    this.owner = owner;
    this.parts = parts;
    this.id = facts.id;
    this.cause = facts.cause;
    this.previous = facts.previous;
    this.avoid = facts.avoid;
    this.startedAt = parts.clock.now();
  }

  /** StreamWaiter: the stream's events come here. */
  get events(): StreamEvents {
    return this;
  }

  /** Picks a backend and opens a stream there, now or when there is room (D12, No backend; D16). */
  place(): void {
    const { pool, picker } = this.parts;
    for (;;) {
      const pick = picker.pick(pool.backends, this.avoid, this.failed);
      if (pick.kind === 'none') {
        this.settle(unplacedEnd(this.lastFailure === '' ? describeDown(pool.backends) : this.lastFailure));
        return;
      }
      if (pick.kind === 'overloaded') {
        this.settle({
          ...unplacedEnd('every backend has as many calls waiting as --queue-limit permits'),
          reach: 'dropped',
        });
        return;
      }
      const backend = pool.get(pick.id);
      if (backend === undefined) {
        this.failed.push(pick.id);
        continue;
      }
      const opened = backend.tryOpen(this);
      if (opened !== null) {
        this.backend = backend;
        this.take(opened.stream, opened.connection);
        return;
      }
      this.waitingAt = backend;
      backend.wait(this);
      return;
    }
  }

  onOpened(stream: Http2Stream, connection: Http2Connection): void {
    this.backend = this.waitingAt;
    this.waitingAt = null;
    this.take(stream, connection);
  }

  onFailed(why: 'connect' | 'lost' | 'closed', detail: string): void {
    const backend = this.waitingAt;
    this.waitingAt = null;
    if (backend === null || this.reported) return;
    try {
      if (why === 'lost') {
        // Waited behind the peer's stream limit: proven never to have left (A6, Transparent retries).
        this.settle({ ...unplacedEnd(detail), reach: 'unsent' });
        return;
      }
      this.failed.push(backend.id);
      this.lastFailure = detail;
      this.place();
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  /** Ends the attempt from our side; nothing more is heard of it. */
  cancel(): void {
    if (this.reported) return;
    this.reported = true;
    this.cancelled = this.end === null;
    this.endedAt = this.parts.clock.now();
    if (this.waitingAt !== null) {
      this.waitingAt.cancel(this);
      this.waitingAt = null;
    }
    this.release();
  }

  /** The client has room: passes on what waits. */
  flush(): void {
    if (this.queue.bytes > 0) {
      const taken = this.queue.drain((chunk, start, end) => this.owner.attemptOffers(chunk, start, end));
      if (taken > 0) {
        this.parts.relay.remove(taken);
        this.giveBack(taken);
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
      const length = end - start;
      if (length > 0) {
        const taken = this.queue.bytes === 0 ? this.owner.attemptOffers(chunk, start, end) : 0;
        if (taken > 0) this.giveBack(taken);
        if (taken < length) {
          this.queue.push(chunk, start + taken, end);
          this.parts.relay.add(length - taken);
        }
      }
      if (endStream) this.settle(judgeMissingTrailers());
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  onTrailers(_stream: Http2Stream, fields: readonly HeaderField[]): void {
    if (this.reported) return;
    try {
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
      this.settle(judgeStreamEnd(end));
    } catch (error) {
      this.owner.attemptFailed(error);
    }
  }

  private take(stream: Http2Stream, connection: Http2Connection): void {
    this.stream = stream;
    this.connection = connection;
    try {
      this.owner.attemptOpened(this);
    } catch (error) {
      this.owner.attemptFailed(error);
    }
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
    this.release();
    this.owner.attemptEnded(this);
  }

  private release(): void {
    const dropped = this.queue.clear();
    if (dropped > 0) this.parts.relay.remove(dropped);
    this.reader?.close();
    if (this.stream !== null && !this.stream.closed) this.connection?.reset(this.stream, ErrorCode.CANCEL);
  }

  private giveBack(bytes: number): void {
    if (this.connection !== null && this.stream !== null)
      this.parts.relay.giveBack(this.connection, this.stream, bytes);
  }
}

/** Why no backend is usable, in words that name each one's trouble. */
function describeDown(backends: readonly UpstreamBackend[]): string {
  const troubles = backends.map((backend) => backend.lastError).filter((error): error is string => error !== null);
  return troubles.length === 0
    ? 'no backend is connected'
    : `no backend is connected: ${troubles.slice(0, 3).join('; ')}`;
}
