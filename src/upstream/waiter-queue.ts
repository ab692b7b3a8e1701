import type { StreamWaiter, WaiterPlace } from './types.js';

/**
 * Waiters in order of arrival; leaving from the middle costs no more than leaving at the front. Each knows its place: a Map
 * that changes with each call keeps dead ones alive (see http2/id-table.ts).
 */
export class WaiterQueue {
  size = 0;
  private head: WaiterPlace | null = null;
  private tail: WaiterPlace | null = null;
  private tickets = 0;

  /** The ticket of the last that came: those that come later have higher ones. */
  get lastTicket(): number {
    return this.tickets;
  }

  /** A waiter that is in the queue keeps its place. It must be in no other. */
  push(waiter: StreamWaiter): void {
    if (waiter.place?.queue === this) return;
    this.tickets += 1;
    const place: WaiterPlace = { queue: this, waiter, ticket: this.tickets, before: this.tail, after: null };
    if (this.tail === null) this.head = place;
    else this.tail.after = place;
    this.tail = place;
    this.size += 1;
    waiter.place = place;
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
    const { place } = waiter;
    if (place?.queue === this) this.unlink(place);
  }

  private unlink(place: WaiterPlace): void {
    const { before, after, waiter } = place;
    if (before === null) this.head = after;
    else before.after = after;
    if (after === null) this.tail = before;
    else after.before = before;
    // One that has grown old would keep alive all that came after it.
    place.before = null;
    place.after = null;
    this.size -= 1;
    waiter.place = null;
  }
}
