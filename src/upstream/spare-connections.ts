import type { AlarmHandle, Alarms, Clock } from '../runtime/ports.js';
import type { Slot } from './slot.js';

/** A connection beyond the first that no call used for this long (ms), or up to twice as long, is closed. */
const spareIdle = 750;

/** Looks for connections of a backend that were opened for a crowd which has gone. */
export class SpareConnections {
  private readonly ports: { readonly alarms: Alarms; readonly clock: Clock };
  private readonly up: readonly Slot[];
  private readonly owner: { readonly waiting: boolean };
  private readonly close: (slot: Slot) => void;
  private alarm: AlarmHandle | null = null;

  /**
   * @param up those that take streams, the oldest first; the owner's own list
   * @param close takes one out of that list and lets it end
   */
  constructor(
    ports: { readonly alarms: Alarms; readonly clock: Clock },
    up: readonly Slot[],
    owner: { readonly waiting: boolean },
    close: (slot: Slot) => void,
  ) {
    this.ports = ports;
    this.up = up;
    this.owner = owner;
    this.close = close;
  }

  /** There is one more. */
  watch(): void {
    if (this.up.length < 2 || this.alarm !== null) return;
    const { alarms, clock } = this.ports;
    this.alarm = alarms.set(clock.now() + spareIdle, () => this.look());
  }

  stop(): void {
    if (this.alarm !== null) this.ports.alarms.cancel(this.alarm);
    this.alarm = null;
  }

  private look(): void {
    this.alarm = null;
    const { up, owner } = this;
    // A copy: those that go are taken out of it.
    for (const slot of [...up].reverse()) {
      const unused = slot.opened === slot.openedBefore && slot.connection?.openStreams === 0;
      slot.openedBefore = slot.opened;
      if (unused && up.length > 1 && !owner.waiting) this.close(slot);
    }
    this.watch();
  }
}
