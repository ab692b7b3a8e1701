import { describe, expect, it } from 'vitest';
import type { Http2Connection, Http2Stream } from '../../../src/http2/types.js';
import { RelayPool, type RelayShare } from '../../../src/proxy/relay-budget.js';

const kib = 1024;
const window = 256 * kib;

/** A stream of a client, whose window its peer fills as soon as it has any. */
class Flow {
  /** Bytes that its peer may still send. */
  room = window;
  /** Bytes that wait. */
  waiting = 0;
  /** Bytes that have been taken in all. */
  taken = 0;
  private readonly share: RelayShare;
  private readonly stream = {} as Http2Stream;
  private readonly connection: Http2Connection;

  constructor(share: RelayShare) {
    this.share = share;
    const given: Pick<Http2Connection, 'consume'> = {
      consume: (_stream, bytes) => {
        this.room += bytes;
      },
    };
    this.connection = given as Http2Connection;
  }

  fill(): void {
    this.share.add(this.room);
    this.waiting += this.room;
    this.room = 0;
  }

  /** The one who waits for it takes so many bytes. */
  take(bytes: number): void {
    const passed = Math.min(bytes, this.waiting);
    this.waiting -= passed;
    this.taken += passed;
    this.share.remove(passed);
    if (passed > 0) this.share.giveBack(this.connection, this.stream, passed, this.waiting);
  }
}

/** Clients that do not read, with so many bytes waiting together. */
function hoarders(pool: RelayPool, clients: number, bytes: number): RelayShare[] {
  return Array.from({ length: clients }, () => {
    const share = pool.open();
    share.add(bytes / clients);
    return share;
  });
}

describe('RelayPool', () => {
  it('gives window back at once up to and at the limit', () => {
    const pool = new RelayPool(window);
    const flow = new Flow(pool.open());
    flow.fill();
    flow.take(1);
    expect(flow.room).toBe(1);
  });

  it('over the limit a stream of a client that has more than its share gets no window while bytes of its own wait', () => {
    const pool = new RelayPool(window);
    const share = pool.open();
    const [slow, other] = [new Flow(share), new Flow(share)];
    slow.fill();
    other.fill();
    slow.take(10);
    slow.take(20);
    expect(slow.room).toBe(0);
    // It never stands still for another's sake: with nothing left waiting it has its whole window.
    slow.take(window);
    expect([slow.room, other.room]).toEqual([window, 0]);
  });

  it('pays what a stream is owed with what it gives back once the sum is down to the limit', () => {
    const pool = new RelayPool(window);
    const share = pool.open();
    const [slow, other] = [new Flow(share), new Flow(share)];
    slow.fill();
    other.fill();
    slow.take(10);
    other.take(window - 10);
    slow.take(1);
    expect(pool.waiting).toBeLessThanOrEqual(window);
    expect(slow.room).toBe(11);
  });

  it('a client below its share has all its window, whatever others hold', () => {
    const pool = new RelayPool(100 * window);
    const [first] = hoarders(pool, 2, 300 * window);
    const flow = new Flow(pool.open());
    for (let n = 0; n < 100; n += 1) {
      flow.fill();
      flow.take(64 * kib);
      expect(flow.room).toBe(64 * kib);
    }
    expect([flow.taken, pool.waiting > 100 * window]).toEqual([6400 * kib, true]);
    // And they are the ones who have none.
    const hoarder = new Flow(first ?? pool.open());
    hoarder.fill();
    hoarder.take(64 * kib);
    expect(hoarder.room).toBe(0);
  });

  it('a share is the limit by the clients of whom anything waits', () => {
    const pool = new RelayPool(4 * window);
    const [a, b] = [pool.open(), pool.open()];
    a.add(4 * window);
    const flow = new Flow(b);
    flow.fill();
    const second = new Flow(b);
    second.fill();
    // Two of four windows: its share of two.
    flow.take(1);
    expect(flow.room).toBe(1);
    const c = pool.open();
    c.add(1);
    flow.take(1);
    expect(flow.room).toBe(1);
    c.remove(1);
    flow.take(1);
    expect(flow.room).toBe(3);
  });

  it('thousands of hostile clients leave each stream of an honest one a window for each that it has emptied', () => {
    const pool = new RelayPool(window);
    hoarders(pool, 4096, 64 * window);
    const flow = new Flow(pool.open());
    for (let n = 0; n < 10; n += 1) {
      flow.fill();
      for (let part = 0; part < 4; part += 1) flow.take(64 * kib);
      expect(flow.room).toBe(window);
    }
    expect(flow.taken).toBe(10 * window);
  });

  it('counts each time that the limit is exceeded, once until it has been down to half', () => {
    const pool = new RelayPool(100);
    const share = pool.open();
    share.add(100);
    expect(pool.exceeded).toBe(0);
    share.add(1);
    share.remove(50);
    share.add(60);
    expect(pool.exceeded).toBe(1);
    share.remove(61);
    share.add(60);
    expect([pool.exceeded, pool.waiting, share.waiting]).toEqual([2, 110, 110]);
    share.remove(110);
    expect([pool.waiting, share.waiting]).toEqual([0, 0]);
  });
});
