import type { ChannelzId, Page } from './channelz-types.js';

/** Gives out ids, from 1, each once: all shelves of a process share one, so that no id is ever that of two things. */
export function createIds(): () => ChannelzId {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
}

/** Empty places that are kept however few things there are. */
const slack = 64;

/**
 * Things by id, in the order of their ids. A page costs what is on it and a binary search, however many there are; places
 * of what was taken out are closed up when they are more than what is left.
 */
export class Shelf<T> {
  private readonly nextId: () => ChannelzId;
  private readonly byId = new Map<ChannelzId, T>();
  /** Ascending; those that are gone from `byId` included. */
  private ids: ChannelzId[] = [];

  constructor(nextId: () => ChannelzId) {
    this.nextId = nextId;
  }

  get size(): number {
    return this.byId.size;
  }

  add(thing: T): ChannelzId {
    const id = this.nextId();
    this.byId.set(id, thing);
    this.ids.push(id);
    return id;
  }

  get(id: ChannelzId): T | undefined {
    return this.byId.get(id);
  }

  delete(id: ChannelzId): void {
    if (!this.byId.delete(id)) return;
    if (this.ids.length > 2 * this.byId.size + slack) this.ids = this.ids.filter((one) => this.byId.has(one));
  }

  /** @param start the lowest id wanted @param most at least 1 */
  page(start: ChannelzId, most: number): Page<readonly [ChannelzId, T]> {
    const items: (readonly [ChannelzId, T])[] = [];
    const { ids, byId } = this;
    for (let at = this.placeOf(start); at < ids.length; at += 1) {
      const id = ids[at];
      const thing = id === undefined ? undefined : byId.get(id);
      if (id === undefined || thing === undefined) continue;
      if (items.length === most) return { items, end: false };
      items.push([id, thing]);
    }
    return { items, end: true };
  }

  /** Of the first id that is not below this one. */
  private placeOf(id: ChannelzId): number {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ids[middle] ?? id) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
