import type { Http2Connection, Http2Stream } from '../http2/types.js';
import type { Turn } from '../runtime/ports.js';
import type { RelayBudget, RelayPool, RelayShare } from './relay-budget.js';

/** What is done about a client, and asked of it. */
export interface ClientHands {
  /** Sends the client away; `unread`: it does not read what we send. */
  readonly evict: (detail: string, unread: boolean) => void;
  /** Says that it has more waiting than any other, as --relay-buffer-limit is exceeded. */
  readonly tell: (detail: string) => void;
  /** What its connection itself holds now (bytes); see SocketBinding.heldBytes. */
  readonly look: () => number;
}

/**
 * What clients make us hold (--client-memory-limit): bytes of their requests and answers that wait for a peer, output that they
 * do not read, header blocks that are not whole. Windows and each connection's own bounds let ten thousand hostile clients
 * pile up more than a machine has; over the limit the client that holds most is sent away, and the next, until it is enough.
 */
export class ClientMemory {
  /** Bytes held now, as far as it has been told. */
  total = 0;
  private readonly limit: number;
  private readonly relay: RelayPool;
  private readonly turn: Turn;
  private readonly clients = new Set<ClientShare>();
  private asked = false;
  /** RelayPool.exceeded, as far as it has been told of. */
  private told = 0;

  /**
   * @param limit bytes; null: none
   * @param relay of all calls
   */
  constructor(limit: number | null, relay: RelayPool, turn: Turn) {
    this.limit = limit ?? Number.POSITIVE_INFINITY;
    this.relay = relay;
    this.turn = turn;
  }

  /** One client's connection begins. */
  open(hands: ClientHands): ClientShare {
    const share = new ClientShare(this, this.relay.open(), hands);
    this.clients.add(share);
    return share;
  }

  /** For shares alone. */
  change(bytes: number): void {
    this.total += bytes;
    if ((this.total <= this.limit && this.relay.exceeded === this.told) || this.asked) return;
    this.asked = true;
    // Not now: whoever holds more may be in the middle of a call of the client that is to go.
    this.turn.atEnd(() => {
      this.asked = false;
      if (this.relay.exceeded !== this.told) this.tell();
      if (this.total > this.limit) this.relieve();
    });
  }

  /** For shares alone. */
  forget(share: ClientShare): void {
    this.clients.delete(share);
  }

  private tell(): void {
    this.told = this.relay.exceeded;
    const worst = this.most((share) => share.waiting);
    if (worst === null || worst.waiting === 0) return;
    const all = `of ${this.relay.waiting} in all, more than --relay-buffer-limit; streams of its own may get no new window`;
    worst.hands.tell(`has the most bytes waiting for a peer: ${worst.waiting} ${all}`);
  }

  private relieve(): void {
    // What a client has read since its connection last spoke of it is not to be held against it.
    for (const share of this.clients) share.lookAgain();
    while (this.total > this.limit) {
      const worst = this.most((share) => share.held);
      if (worst === null) return;
      const all = `the most of all clients, who hold ${this.total} together, more than --client-memory-limit permits`;
      worst.evict(`holds ${worst.held} bytes in memory, ${all}`);
      // What its socket still has goes with it.
      worst.leave();
    }
  }

  private most(measure: (share: ClientShare) => number): ClientShare | null {
    let worst: ClientShare | null = null;
    for (const share of this.clients) if (worst === null || measure(share) > measure(worst)) worst = share;
    return worst;
  }
}

/** One client connection's part. Its calls count by it as by its share of the relay's bytes. */
export class ClientShare implements RelayBudget {
  /** Bytes that this client makes us hold. */
  held = 0;
  readonly hands: ClientHands;
  private backlog = 0;
  private left = false;
  private readonly memory: ClientMemory;
  private readonly relay: RelayShare;

  constructor(memory: ClientMemory, relay: RelayShare, hands: ClientHands) {
    this.memory = memory;
    this.relay = relay;
    this.hands = hands;
  }

  /** Bytes of its calls that wait for a peer. */
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

  giveBack(connection: Http2Connection, stream: Http2Stream, bytes: number, left: number): void {
    this.relay.giveBack(connection, stream, bytes, left);
  }

  /** The connection itself holds so many bytes now: see SocketEvents.onHeld. */
  hold(bytes: number): void {
    this.change(bytes - this.backlog);
    this.backlog = bytes;
  }

  /** For ClientMemory alone: counts what its connection holds by now. */
  lookAgain(): void {
    this.hold(this.hands.look());
  }

  evict(detail: string): void {
    this.hands.evict(detail, this.backlog > 0);
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
