import type { Http2Connection, Http2Stream } from '../http2/types.js';

/** Where a call counts its bytes that have been received and wait for a peer to take them, either way. */
export interface RelayBudget {
  /** Bytes waiting now that were counted here. */
  readonly waiting: number;
  /** `bytes` more wait for a peer. */
  add(bytes: number): void;
  /** `bytes` wait no more: passed on or dropped. */
  remove(bytes: number): void;
  /**
   * Gives stream window back, now or with what the stream gives back later.
   *
   * @param left bytes that came on this stream and still wait
   */
  giveBack(connection: Http2Connection, stream: Http2Stream, bytes: number, left: number): void;
}

/**
 * The bytes that wait for a peer, over all client connections (--relay-buffer-limit). Over the limit a stream gets no new
 * window while bytes of its own wait, if its client has more waiting than its share, which is the limit by as many clients as
 * have anything waiting. So those who fill it feel it, and nobody else; and as a stream of which nothing waits always has its
 * window, none ever stands still for another's sake. Never an error (design §4).
 */
export class RelayPool {
  /** Bytes waiting now. */
  waiting = 0;
  /** Times that `waiting` went over the limit, after it had been down to half of it. */
  exceeded = 0;
  private readonly limit: number;
  /** Clients of whom something waits. */
  private holders = 0;
  private over = false;

  /** @param limit bytes, at least 0 */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** One client's connection begins. Nothing is to be done when it ends, but to remove what it has added. */
  open(): RelayShare {
    return new RelayShare(this);
  }

  /** For shares alone: `bytes` more or fewer of a client's wait, `holding` of them now. */
  change(bytes: number, holding: number): void {
    this.waiting += bytes;
    if (holding === 0) this.holders -= 1;
    else if (holding === bytes) this.holders += 1;
    if (this.waiting > this.limit) {
      if (this.over) return;
      this.over = true;
      this.exceeded += 1;
    } else if (this.over && this.waiting <= this.limit / 2) this.over = false;
  }

  /** For shares alone: a client of whom so many bytes wait has more than its share, and there is too much in all. */
  crowdedBy(holding: number): boolean {
    return this.waiting > this.limit && holding * this.holders > this.limit;
  }
}

/** One client connection's part. */
export class RelayShare implements RelayBudget {
  /** Bytes of this client that wait now. */
  waiting = 0;
  private readonly pool: RelayPool;
  /** Window that streams are owed; null: none ever was. A stream that is gone is owed nothing. */
  private owed: WeakMap<Http2Stream, number> | null = null;

  constructor(pool: RelayPool) {
    this.pool = pool;
  }

  add(bytes: number): void {
    if (bytes === 0) return;
    this.waiting += bytes;
    this.pool.change(bytes, this.waiting);
  }

  remove(bytes: number): void {
    if (bytes === 0) return;
    this.waiting -= bytes;
    this.pool.change(-bytes, this.waiting);
  }

  giveBack(connection: Http2Connection, stream: Http2Stream, bytes: number, left: number): void {
    const due = bytes + (this.owed?.get(stream) ?? 0);
    if (left > 0 && this.pool.crowdedBy(this.waiting)) {
      this.owed ??= new WeakMap();
      this.owed.set(stream, due);
      return;
    }
    this.owed?.delete(stream);
    connection.consume(stream, due);
  }
}
