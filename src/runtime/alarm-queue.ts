import type { AlarmHandle } from './ports.js';

/** Where an alarm is: its place in the heap, or one of these. */
const over = -1;
const ringing = -2;

interface Alarm extends AlarmHandle {
  readonly at: number;
  /** Rising in order of setting: alarms due at the same time ring in that order. */
  readonly order: number;
  readonly ring: () => void;
  place: number;
}

/** Pending alarms in order of time. Pure: knows no clock and rings only when told the time. */
export interface AlarmQueue {
  /** @param at on the caller's scale; Infinity never rings; NaN is a defect and throws */
  set(at: number, ring: () => void): AlarmHandle;
  cancel(handle: AlarmHandle): void;
  /**
   * Rings all that are due at `now`, in order of time, then of setting. What is set meanwhile waits for the next time, even
   * if it is due; what is cancelled meanwhile does not ring. An alarm that throws stops no other: the first error is thrown
   * at the end.
   */
  ringDue(now: number): void;
  /** When the next one is due; Infinity where none is. */
  readonly next: number;
  readonly pending: number;
}

/**
 * A binary heap whose alarms know their place. A wheel would set and cancel in O(1) where this takes O(log n), but most
 * alarms are deadlines that are set in rising order and cancelled while few others are pending: both are a step or two here,
 * without ticks to round to, slots to cascade or a horizon to overflow (PRX-22).
 */
export function createAlarmQueue(): AlarmQueue {
  return new Heap();
}

class Heap implements AlarmQueue {
  private readonly heap: Alarm[] = [];
  private order = 0;
  /** Taken out of the heap by `ringDue` and not yet rung. */
  private taken = 0;

  get next(): number {
    return this.heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  get pending(): number {
    return this.heap.length + this.taken;
  }

  set(at: number, ring: () => void): AlarmHandle {
    if (Number.isNaN(at)) throw new RangeError('alarm: the time is not a number');
    this.order += 1;
    const alarm: Alarm = { at, order: this.order, ring, place: this.heap.length };
    this.heap.push(alarm);
    this.rise(alarm);
    return alarm;
  }

  cancel(handle: AlarmHandle): void {
    // Handles are only made here: opaque outside.
    const alarm = handle as Alarm;
    if (alarm.place === ringing) {
      this.taken -= 1;
      alarm.place = over;
    } else if (alarm.place >= 0) this.remove(alarm);
  }

  ringDue(now: number): void {
    const due: Alarm[] = [];
    for (let first = this.heap[0]; first !== undefined && first.at <= now; first = this.heap[0]) {
      this.remove(first);
      first.place = ringing;
      due.push(first);
    }
    this.taken += due.length;
    let failure: { readonly error: unknown } | null = null;
    for (const alarm of due) {
      if (alarm.place !== ringing) continue;
      alarm.place = over;
      this.taken -= 1;
      try {
        alarm.ring();
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== null) throw failure.error;
  }

  private remove(alarm: Alarm): void {
    const { heap } = this;
    const { place } = alarm;
    const last = heap.pop() as Alarm;
    alarm.place = over;
    if (last === alarm) return;
    heap[place] = last;
    last.place = place;
    this.rise(last);
    this.sink(last);
  }

  private rise(alarm: Alarm): void {
    const { heap } = this;
    let { place } = alarm;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Alarm;
      if (!before(alarm, parent)) break;
      heap[place] = parent;
      parent.place = place;
      place = above;
    }
    heap[place] = alarm;
    alarm.place = place;
  }

  private sink(alarm: Alarm): void {
    const { heap } = this;
    let { place } = alarm;
    for (;;) {
      let below = 2 * place + 1;
      let child = heap[below];
      if (child === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && before(right, child)) {
        child = right;
        below += 1;
      }
      if (!before(child, alarm)) break;
      heap[place] = child;
      child.place = place;
      place = below;
    }
    heap[place] = alarm;
    alarm.place = place;
  }
}

function before(a: Alarm, b: Alarm): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
