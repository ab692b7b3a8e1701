import { type Millis, millis } from '../grpc/millis.js';

/** At one moment, what comes from outside is heard before what is due by itself. */
export type Rank = 'outside' | 'due';

/** A clock that moves by what is planned on it, and in no other way. */
export interface VirtualTime {
  readonly now: Millis;
  /** Plans an action; a moment that is past means now. At one moment and rank, first planned is first done. */
  at(moment: Millis, rank: Rank, action: () => void): void;
  /** Moves to the next action and does it; false where none is planned. */
  step(): boolean;
}

interface Planned {
  readonly moment: number;
  readonly rank: number;
  readonly order: number;
  readonly action: () => void;
}

/** A clock that stands at 0. */
export function createVirtualTime(): VirtualTime {
  /** A binary heap, earliest first. */
  const heap: Planned[] = [];
  let now = 0;
  let planned = 0;
  return {
    get now() {
      return millis(now);
    },
    at(moment, rank, action) {
      planned += 1;
      push(heap, { moment: Math.max(moment, now), rank: rank === 'outside' ? 0 : 1, order: planned, action });
    },
    step() {
      const next = pop(heap);
      if (next === null) return false;
      now = next.moment;
      next.action();
      return true;
    },
  };
}

function isBefore(a: Planned, b: Planned): boolean {
  if (a.moment !== b.moment) return a.moment < b.moment;
  return a.rank === b.rank ? a.order < b.order : a.rank < b.rank;
}

function push(heap: Planned[], item: Planned): void {
  let at = heap.length;
  heap.push(item);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || isBefore(parent, item)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = item;
}

function pop(heap: Planned[]): Planned | null {
  const first = heap[0];
  const item = heap.pop();
  if (first === undefined || item === undefined) return null;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const a = heap[left];
    const b = heap[left + 1];
    if (a === undefined) break;
    const child = b !== undefined && isBefore(b, a) ? b : a;
    if (isBefore(item, child)) break;
    heap[at] = child;
    at = child === a ? left : left + 1;
  }
  heap[at] = item;
  return first;
}
