import type { StreamWaiter } from './types.js';

interface Place {
  readonly waiter: StreamWaiter;
  /** Rising in order of arrival. */
  readonly ticket: number;
  before: Place | null;
  after: Place | null;
}

/** Waiters in order of arrival; leaving from the middle costs no more than leaving at the front. */
export class WaiterQueue {
  private readonly places = new Map<StreamWaiter, Place>();
  private head: Place | null = null;
  private tail: Place | null = null;
  private tickets = 0;

  get size(): number {
    return this.places.size;
  }

  /** The ticket of the last that came: those that come later have higher ones. */
  get lastTicket(): number {
    return this.tickets;
  }

  /** A waiter that is in the queue keeps its place. */
  push(waiter: StreamWaiter): void {
    if (this.places.has(waiter)) return;
    this.tickets += 1;
    const place: Place = { waiter, ticket: this.tickets, before: this.tail, after: null };
    if (this.tail === null) this.head = place;
    else this.tail.after = place;
    this.tail = place;
    this.places.set(waiter, place);
  }

  get first(): StreamWaiter | null {
    return this.head?.waiter ?? null;
  }

  /** Takes the first one out if its ticket is at most `ticket`; null where there is none. */
  shift(ticket: number): StreamWaiter | null {
    const { head } = this;
    if (head === null || head.ticket > ticket) return null;
    this.unlink(head);
    return head.waiter;
  }

  /** Does nothing for one that is not in the queue. */
  remove(waiter: StreamWaiter): void {
    const place = this.places.get(waiter);
    if (place !== undefined) this.unlink(place);
  }

  private unlink(place: Place): void {
    const { before, after, waiter } = place;
    if (before === null) this.head = after;
    else before.after = after;
    if (after === null) this.tail = before;
    else after.before = before;
    this.places.delete(waiter);
  }
}
