import type { Http2Connection, Http2Stream } from '../http2/types.js';
import type { Turn } from '../runtime/ports.js';
import type { RelayBudget } from './relay-budget.js';

/**
 * What clients make us hold (--client-memory-limit): bytes of their requests and answers that wait for a peer, output that they
 * do not read, header blocks that are not whole. Windows and each connection's own bounds let ten thousand hostile clients
 * pile up more than a machine has; over the limit the client that holds most is sent away, and the next, until it is enough.
 */
export class ClientMemory {
  /** Bytes held now. */
  total = 0;
  private readonly limit: number;
  private readonly turn: Turn;
  private readonly clients = new Set<ClientShare>();
  private asked = false;

  /** @param limit bytes; null: none */
  constructor(limit: number | null, turn: Turn) {
    this.limit = limit ?? Number.POSITIVE_INFINITY;
    this.turn = turn;
  }

  /**
   * One client's connection begins.
   *
   * @param relay of all calls
   * @param evict sends the client away; `unread`: it does not read what we send
   */
  open(relay: RelayBudget, evict: (detail: string, unread: boolean) => void): ClientShare {
    const share = new ClientShare(this, relay, evict);
    this.clients.add(share);
    return share;
  }

  /** For shares alone. */
  change(bytes: number): void {
    this.total += bytes;
    if (this.total <= this.limit || this.asked) return;
    this.asked = true;
    // Not now: whoever holds more may be in the middle of a call of the client that is to go.
    this.turn.atEnd(() => {
      this.asked = false;
      this.relieve();
    });
  }

  /** For shares alone. */
  forget(share: ClientShare): void {
    this.clients.delete(share);
  }

  private relieve(): void {
    while (this.total > this.limit) {
      let worst: ClientShare | null = null;
      for (const share of this.clients) if (worst === null || share.held > worst.held) worst = share;
      if (worst === null) return;
      const all = `the most of all clients, who hold ${this.total} together, more than --client-memory-limit permits`;
      worst.evict(`holds ${worst.held} bytes in memory, ${all}`);
      // What its socket still has goes with it.
      worst.leave();
    }
  }
}

/** One client connection's part. Its calls count by it as by the budget of all. */
export class ClientShare implements RelayBudget {
  /** Bytes that this client makes us hold. */
  held = 0;
  private backlog = 0;
  private left = false;
  private readonly memory: ClientMemory;
  private readonly relay: RelayBudget;
  private readonly sendAway: (detail: string, unread: boolean) => void;

  constructor(memory: ClientMemory, relay: RelayBudget, sendAway: (detail: string, unread: boolean) => void) {
    this.memory = memory;
    this.relay = relay;
    this.sendAway = sendAway;
  }

  get waiting(): number {
    return this.relay.waiting;
  }

  add(bytes: number): void {
    this.relay.add(bytes);
    this.change(bytes);
  }

  remove(bytes: number): void {
    this.change(-bytes);
    this.relay.remove(bytes);
  }

  giveBack(connection: Http2Connection, stream: Http2Stream, bytes: number): void {
    this.relay.giveBack(connection, stream, bytes);
  }

  /** The connection itself holds so many bytes now: see SocketEvents.onHeld. */
  hold(bytes: number): void {
    this.change(bytes - this.backlog);
    this.backlog = bytes;
  }

  evict(detail: string): void {
    this.sendAway(detail, this.backlog > 0);
  }

  /** The connection is over, or about to be. Idempotent; nothing counts after it. */
  leave(): void {
    if (this.left) return;
    this.change(-this.held);
    this.left = true;
    this.memory.forget(this);
  }

  private change(bytes: number): void {
    if (this.left || bytes === 0) return;
    this.held += bytes;
    this.memory.change(bytes);
  }
}
