import type { Http2Connection, Http2Stream } from '../http2/types.js';

/** Window that one stream is owed. */
interface Debt {
  readonly connection: Http2Connection;
  bytes: number;
}

/**
 * Bytes that have been received and wait for a peer to take them, over all calls (--relay-buffer-limit). Over the limit no
 * stream gets new window; each gets what it is owed once the sum has fallen to the limit again. Never an error (design §4).
 */
export interface RelayBudget {
  /** Bytes waiting now. */
  readonly waiting: number;
  /** `bytes` more wait for a peer. */
  add(bytes: number): void;
  /** `bytes` wait no more: passed on or dropped. */
  remove(bytes: number): void;
  /** Gives stream window back, now or when the sum permits. */
  giveBack(connection: Http2Connection, stream: Http2Stream, bytes: number): void;
}

/** @param limit bytes, at least 0 */
export function createRelayBudget(limit: number): RelayBudget {
  let waiting = 0;
  let owed = new Map<Http2Stream, Debt>();

  function settle(): void {
    const due = owed;
    owed = new Map();
    for (const [stream, { connection, bytes }] of due) {
      if (!stream.closed) connection.consume(stream, bytes);
    }
  }

  return {
    get waiting() {
      return waiting;
    },
    add(bytes) {
      waiting += bytes;
    },
    remove(bytes) {
      waiting -= bytes;
      if (owed.size > 0 && waiting <= limit) settle();
    },
    giveBack(connection, stream, bytes) {
      if (waiting <= limit) {
        connection.consume(stream, bytes);
        return;
      }
      const debt = owed.get(stream);
      if (debt === undefined) owed.set(stream, { connection, bytes });
      else debt.bytes += bytes;
    },
  };
}
