import { ResetBy } from './closed-streams.js';
import type { FloodBudget, FloodCause } from './flood-budget.js';
import { maxUint31 } from './frame/kinds.js';
import type { Sender } from './sender.js';
import type { StreamCore } from './stream.js';
import type { StreamTable } from './stream-table.js';
import { type ConnectionEvents, ErrorCode, type Role } from './types.js';

/**
 * What comes of a rule that the peer broke: the end of the connection or of one stream, or nothing where a frame was to be
 * expected. Each method returns whether to read on.
 */
export class Faults {
  /** Nothing is read any more: a connection error, or the socket is gone. */
  stopped = false;
  /** The highest peer's stream that was let in. */
  lastPeerStreamId = 0;
  /** The highest id that the peer used, ignored streams included. */
  highestPeerId = 0;
  /** Of the GOAWAY that we sent: streams above it are read and ignored (RFC 9113 6.8). */
  acceptUpTo = maxUint31;

  private readonly role: Role;
  private readonly events: ConnectionEvents;
  private readonly table: StreamTable;
  private readonly sender: Sender;
  private readonly budget: FloodBudget;

  constructor(role: Role, events: ConnectionEvents, table: StreamTable, sender: Sender, budget: FloodBudget) {
    this.role = role;
    this.events = events;
    this.table = table;
    this.sender = sender;
    this.budget = budget;
  }

  /** A frame that carries nothing for a call. Where no credit is left for it, the connection ends (RFC 9113 10.5). */
  spend(cause: FloodCause, credits = 1): boolean {
    if (this.budget.spend(cause, credits)) return true;
    return this.connection(
      ErrorCode.ENHANCE_YOUR_CALM,
      `too many frames that carry nothing for a call: ${this.budget.account}`,
    );
  }

  /**
   * The peer has reset a stream. Those that we opened cost it nothing: there are no more of them than we asked for, and a
   * backend that refuses a burst of calls is honest.
   */
  spendReset(stream: StreamCore): boolean {
    if (this.role === 'client') return !this.stopped;
    return this.spend('RST_STREAM', this.budget.resetCost(stream.openedAt, stream.responded));
  }

  /** A connection error (RFC 9113 5.4.1). */
  connection(code: number, detail: string): false {
    if (this.stopped) return false;
    this.stopped = true;
    this.sender.goaway(this.lastPeerStreamId, code, detail);
    // First the owner: what comes of a lost stream is not to look for a place here.
    this.events.onFailed(code, detail);
    this.table.loseAll(detail);
    return false;
  }

  /** A stream error (RFC 9113 5.4.2) on an open stream. */
  stream(stream: StreamCore, code: number, detail: string): boolean {
    this.sender.resetOpen(stream, code);
    this.table.end(stream, { kind: 'streamError', code, detail });
    if (this.stopped) return false;
    const cost = this.role === 'client' ? 1 : this.budget.resetCost(stream.openedAt, stream.responded);
    return this.spend('streams that had to be reset', cost);
  }

  /** A header list over our limit: only this call fails, the connection is well. */
  headersTooLarge(stream: StreamCore): boolean {
    this.sender.resetOpen(stream, ErrorCode.CANCEL);
    this.table.end(stream, { kind: 'headersTooLarge' });
    return !this.stopped;
  }

  /** A stream error where nobody owns the stream; its frame has been paid for. */
  private refuse(streamId: number, code: number): true {
    this.sender.resetId(streamId, code);
    return true;
  }

  /**
   * A stream error on a request that is not let in.
   * @param window bytes of DATA that may follow it; below 0: END_STREAM has come
   */
  refuseRequest(streamId: number, window: number): boolean {
    this.sender.resetEarly(streamId, ErrorCode.PROTOCOL_ERROR, window, 1);
    return this.spend('streams that had to be reset', this.budget.resetCost(this.budget.now, false));
  }

  /**
   * A request past our limit of streams (RFC 9113 5.1.2).
   * @param window bytes of DATA that may follow it; below 0: END_STREAM has come
   * @param told whether the peer has acknowledged our limit: before, a client that opens all its calls at once has not erred
   */
  refusePastLimit(streamId: number, window: number, told: boolean): boolean {
    this.sender.resetEarly(streamId, ErrorCode.REFUSED_STREAM, window, 1);
    return this.spend('streams past the limit', told ? this.budget.resetCost(this.budget.now, false) : 1);
  }

  /** A stream error on whatever the stream is; an idle one cannot be reset (RFC 9113 6.4). */
  streamId(streamId: number, code: number, detail: string): boolean {
    const stream = this.table.get(streamId);
    if (stream !== undefined) return this.stream(stream, code, detail);
    if (this.isIdle(streamId)) return this.connection(code, detail);
    return this.spend('frames on closed streams') && this.refuse(streamId, code);
  }

  /**
   * DATA on a stream that is not open. What was under way when we reset it costs nothing: a peer that streams tiny messages
   * has thousands in a window, and many streams end at once where one client leaves.
   *
   * @param size bytes that count against the window
   * @param empty nothing but padding, if that
   */
  lateData(streamId: number, size: number, empty: boolean, endStream: boolean): boolean {
    if (this.table.past.expectsData(streamId, size, empty, endStream, this.sender.pingsAnswered)) return true;
    return this.withoutStream(streamId, 'DATA');
  }

  /** The same for a header block, which has been decoded. */
  lateHeaders(streamId: number, endStream: boolean): boolean {
    if (this.table.past.expectsHeaders(streamId, endStream, this.sender.pingsAnswered)) return true;
    return this.withoutStream(streamId, 'HEADERS');
  }

  /** DATA or HEADERS on a stream that is not open (RFC 9113 5.1, idle and closed). */
  private withoutStream(streamId: number, what: string): boolean {
    if (!this.spend('frames on closed streams')) return false;
    const { past } = this.table;
    if (this.isIdle(streamId)) return this.connection(ErrorCode.PROTOCOL_ERROR, `${what} on idle stream ${streamId}`);
    if (this.role === 'server' && streamId > this.acceptUpTo) return true;
    if (past.wasSkipped(streamId))
      return this.connection(ErrorCode.PROTOCOL_ERROR, `stream ${streamId} after higher ones`);
    const by = past.resetBy(streamId);
    if (by === ResetBy.us) return true;
    if (by === ResetBy.peer || past.uncertain(streamId)) return this.refuse(streamId, ErrorCode.STREAM_CLOSED);
    return this.connection(ErrorCode.STREAM_CLOSED, `${what} on closed stream ${streamId}`);
  }

  /** RST_STREAM or WINDOW_UPDATE on a stream that is not open: late ones are to be expected (RFC 9113 5.1, closed). */
  lateControl(streamId: number, what: string): boolean {
    if (!this.isIdle(streamId)) return true;
    return this.connection(ErrorCode.PROTOCOL_ERROR, `${what} on idle stream ${streamId}`);
  }

  /**
   * RST_STREAM on a stream that is not open. Where ours crossed it, what follows is no longer what was under way before ours
   * arrived: the peer has given its word to send no more (RFC 9113 6.4). A backend's
   * costs nothing then either: see `spendReset`.
   */
  lateReset(streamId: number): boolean {
    const { past } = this.table;
    const crossed = past.resetBy(streamId) === ResetBy.us;
    if (!(crossed && this.role === 'client') && !this.spend('RST_STREAM')) return false;
    if (crossed) past.remember(streamId, ResetBy.peer);
    return this.lateControl(streamId, 'RST_STREAM');
  }

  private isIdle(streamId: number): boolean {
    if ((streamId & 1) === 0) return true;
    return this.role === 'client' ? streamId >= this.sender.nextStreamId : streamId > this.highestPeerId;
  }
}
