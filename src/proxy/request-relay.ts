import { createMessageScanner, type MessageScanner, prefixLength } from '../grpc/message-frames.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { Http2Connection, Http2Stream } from '../http2/types.js';
import { createReplayBuffer } from '../replay/buffer.js';
import type { ReplayBudget, ReplayBuffer, ReplayLimit } from '../replay/types.js';
import type { Attempt } from './attempt.js';
import type { ProxyParts } from './parts.js';

/** Why a request ends its call. */
export interface RequestProblem {
  readonly code: StatusCode;
  readonly reason: StopReason;
  readonly detail: string;
}

const cutShort: RequestProblem = {
  code: Status.INTERNAL,
  reason: 'malformed_request',
  detail: 'the request ended in the middle of a message',
};

const empty = new Uint8Array(0);

/** The way of one call's request bytes: from the client's stream, through the replay buffer, to its attempts. */
export class RequestRelay {
  private readonly connection: Http2Connection;
  private readonly stream: Http2Stream;
  private readonly parts: ProxyParts;
  private readonly buffer: ReplayBuffer;
  private readonly most: number | null;
  private readonly scanner: MessageScanner = createMessageScanner();
  private overflowTold = false;
  /** Bytes that wait for the backend and are not kept for another attempt. */
  private waiting = 0;
  private disposed = false;

  /**
   * @param replay the client connection's share of replay bytes
   * @param most bytes of one message, without its prefix; null: no limit
   */
  constructor(
    connection: Http2Connection,
    stream: Http2Stream,
    parts: ProxyParts,
    replay: ReplayBudget,
    most: number | null,
  ) {
    this.most = most;
    this.connection = connection;
    this.stream = stream;
    this.parts = parts;
    this.buffer = createReplayBuffer(replay, parts.callLimit);
  }

  /** The request has ended without a byte: END_STREAM belongs on HEADERS. */
  get bodiless(): boolean {
    return this.buffer.ended && this.buffer.total === 0;
  }

  /** A message may turn out to be too large. */
  get limited(): boolean {
    return this.most !== null;
  }

  /**
   * Bytes of messages among the first `bytes` of the request, without the prefixes. Where messages are under way, theirs are
   * reckoned with all that came.
   */
  messageBytes(bytes: number): number {
    const { messages, midMessage } = this.scanner;
    return Math.max(0, bytes - prefixLength * (messages + (midMessage ? 1 : 0)));
  }

  /** Bytes; the most that were kept for sending again. */
  get peakHeld(): number {
    return this.buffer.peakHeld;
  }

  /**
   * Takes the client's bytes [start, end). What is returned ends the call: a message too large, told by its prefix before a byte
   * of it is kept (PRX-09), or a request that ended within a message (PRX-10).
   */
  receive(chunk: Uint8Array, start: number, end: number, endStream: boolean): RequestProblem | null {
    if (end > start) {
      this.scanner.scan(chunk, start, end);
      if (this.most !== null && this.scanner.largest > this.most) return overweight(this.scanner.largest, this.most);
      const kept = this.buffer.append(chunk, start, end);
      const left = end - start - kept;
      this.wait(left);
      if (kept > 0 && !endStream) this.parts.relay.giveBack(this.connection, this.stream, kept, left);
    }
    if (!endStream) return null;
    if (this.scanner.midMessage) return cutShort;
    this.buffer.end();
    return null;
  }

  /** The request has no bytes at all. */
  end(): void {
    this.buffer.end();
  }

  /** The limit that a byte was over, once; null before and after. */
  takeOverflow(): ReplayLimit | null {
    if (this.overflowTold || this.buffer.overflow === null) return null;
    this.overflowTold = true;
    return this.buffer.overflow;
  }

  /** Lets the attempt read from the first byte. */
  open(attempt: Attempt): void {
    attempt.reader = this.buffer.open();
  }

  /**
   * From now on only this attempt reads (null: the next that opens), and nothing is kept: what it has sent is freed now, as
   * no further byte may come to free it by (A6, Commit: "already sent").
   */
  commit(attempt: Attempt | null): void {
    this.buffer.commit(attempt?.reader ?? null);
    if (attempt !== null) this.freePassed(attempt);
  }

  /** Sends what the attempt has not read yet, as far as its windows permit. */
  pump(attempt: Attempt, committed: boolean): void {
    const { connection, stream, reader } = attempt;
    if (reader === null || connection === null || stream === null) return;
    if (attempt.requestEnded || attempt.end !== null || attempt.cancelled) return;
    for (let chunk = reader.chunk; chunk !== null; chunk = reader.chunk) {
      const offered = reader.end - reader.start;
      const last = reader.last;
      const taken = connection.sendData(stream, chunk, reader.start, reader.end, last);
      reader.advance(taken);
      if (taken < offered) break;
      if (last) attempt.endRequest();
    }
    if (reader.finished && !attempt.requestEnded) {
      connection.sendData(stream, empty, 0, 0, true);
      attempt.endRequest();
    }
    if (committed) this.freePassed(attempt);
  }

  /** Drops what is kept and what waits. Idempotent. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.wait(-this.buffer.dispose());
  }

  private wait(bytes: number): void {
    this.waiting += bytes;
    if (bytes > 0) this.parts.relay.add(bytes);
    else if (bytes < 0) this.parts.relay.remove(-bytes);
  }

  /** After commit: frees what has been passed on, once the stream cannot turn out never to have left (D25, unsent). */
  private freePassed(attempt: Attempt): void {
    const { connection, stream } = attempt;
    if (this.disposed || connection === null || stream === null) return;
    if (!stream.flushed) {
      if (attempt.awaitsFlush) return;
      attempt.awaitsFlush = true;
      connection.onceFlushed(() => {
        attempt.awaitsFlush = false;
        this.freePassed(attempt);
      });
      return;
    }
    const freed = this.buffer.free();
    if (freed === 0) return;
    this.wait(-freed);
    if (!this.stream.receiveClosed) this.parts.relay.giveBack(this.connection, this.stream, freed, this.waiting);
  }
}

function overweight(bytes: number, most: number): RequestProblem {
  const detail = `the request has a message of ${bytes} bytes, more than the ${most} permitted`;
  return { code: Status.RESOURCE_EXHAUSTED, reason: 'message_too_large', detail };
}
