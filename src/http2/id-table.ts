/** Slots at first; a power of two, as always. */
const fewest = 16;
/**
 * So many stay though nothing is in them: streams come and go in batches, and no batch is to build the table anew. With 256,
 * 250 streams a connection spent 3 % of all CPU on that.
 */
const kept = 1024;
/** 2^32 over the golden ratio: ids that follow on each other, or have any stride, come to lie apart. */
const scatter = 0x9e3779b1;

/**
 * What a connection has by stream id: open addressing, without an object for each entry. A Map would do but for how V8 rebuilds
 * it: the old table points to the new one, so that once one of them has grown old each dead table keeps the next alive, with
 * all streams and calls in it, until a full collection. Half of what was allocated then survived each scavenge, at 17 µs a call
 * instead of 5.5.
 *
 * A peer that chooses ids of equal hash makes a look-up as long as its open streams are many, and no longer.
 */
export class IdTable<T extends object> {
  size = 0;
  /** Ids by slot; 0: none. Made with the first entry. */
  private ids = noIds;
  private values: (T | undefined)[] = [];
  private shift = 32;

  /** @param id from 1 to 2^31 − 1, as everywhere here */
  get(id: number): T | undefined {
    if (this.size === 0) return undefined;
    const { ids } = this;
    const mask = ids.length - 1;
    for (let slot = this.home(id); ids[slot] !== 0; slot = (slot + 1) & mask)
      if (ids[slot] === id) return this.values[slot];
    return undefined;
  }

  /** The id must not be there. */
  add(id: number, value: T): void {
    // Half of the slots stay empty: a search ends soon.
    if (2 * (this.size + 1) > this.ids.length) this.resize(Math.max(fewest, 2 * this.ids.length));
    this.put(id, value);
    this.size += 1;
  }

  /** Does nothing where there is none. */
  delete(id: number): void {
    if (this.size === 0) return;
    const { ids, values } = this;
    const mask = ids.length - 1;
    let gap = this.home(id);
    while (ids[gap] !== id) {
      if (ids[gap] === 0) return;
      gap = (gap + 1) & mask;
    }
    // What was put behind the gap because of it moves up; no tombstones are left.
    for (let slot = (gap + 1) & mask; ids[slot] !== 0; slot = (slot + 1) & mask) {
      const other = ids[slot] as number;
      if (((slot - this.home(other)) & mask) < ((slot - gap) & mask)) continue;
      ids[gap] = other;
      values[gap] = values[slot];
      gap = slot;
    }
    ids[gap] = 0;
    values[gap] = undefined;
    this.size -= 1;
    // After a crowd the table becomes small again, a good deal later than it grew.
    if (ids.length > kept && 16 * this.size < ids.length) this.resize(Math.max(kept, ids.length / 4));
  }

  /** All values, by no order. The table must not change meanwhile. */
  *all(): IterableIterator<T> {
    for (const value of this.values) if (value !== undefined) yield value;
  }

  private home(id: number): number {
    return Math.imul(id, scatter) >>> this.shift;
  }

  private put(id: number, value: T): void {
    const { ids } = this;
    const mask = ids.length - 1;
    let slot = this.home(id);
    while (ids[slot] !== 0) slot = (slot + 1) & mask;
    ids[slot] = id;
    this.values[slot] = value;
  }

  private resize(slots: number): void {
    const { ids, values } = this;
    this.ids = new Int32Array(slots);
    this.values = new Array<T | undefined>(slots).fill(undefined);
    this.shift = 32 - Math.log2(slots);
    for (let slot = 0; slot < ids.length; slot += 1) {
      const value = values[slot];
      if (value !== undefined) this.put(ids[slot] as number, value);
    }
  }
}

const noIds = new Int32Array(0);
