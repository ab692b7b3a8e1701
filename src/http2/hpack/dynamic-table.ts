import type { HeaderField } from '../types.js';

/** SETTINGS_HEADER_TABLE_SIZE before any SETTINGS (RFC 9113 6.5.2), in bytes. */
export const initialTableSize = 4096;

/** Counted for each entry on top of its name and value (RFC 7541 4.1), in bytes. */
const entryOverhead = 32;

/** What one entry counts for (RFC 7541 4.1), in bytes. */
export function entrySize(field: HeaderField): number {
  return field.name.length + field.value.length + entryOverhead;
}

/**
 * The dynamic table of one direction (RFC 7541 2.3.2, 4): a ring, so that an entry comes and goes at the same small cost
 * however many there are. Entries have numbers, from 1 upwards as they come; the newest has the number `inserted`.
 */
export class DynamicTable {
  /** Entries ever put in. */
  inserted = 0;
  /** Entries there now: the numbers above `inserted - count`. */
  count = 0;
  /** RFC 7541 4.1, in bytes. */
  size = 0;
  /** The most that `size` may be, in bytes. */
  limit: number;
  /** Entry n stands in the slot `n & mask`. */
  slots: (HeaderField | undefined)[];
  mask: number;

  /** @param capacity the most that `limit` will ever be, in bytes; see `ensureCapacity` */
  constructor(capacity: number, limit: number) {
    this.limit = limit;
    this.slots = emptySlots(capacity);
    this.mask = this.slots.length - 1;
  }

  /** The entry `index` below the newest, from 0; undefined beyond the oldest. */
  at(index: number): HeaderField | undefined {
    return index < this.count ? this.slots[(this.inserted - index) & this.mask] : undefined;
  }

  /** Puts a field in front, making room first. One that is larger than the table empties it (RFC 7541 4.4). */
  insert(field: HeaderField): void {
    const size = entrySize(field);
    this.evictTo(this.limit - size);
    if (size > this.limit) return;
    this.inserted += 1;
    this.count += 1;
    this.size += size;
    this.slots[this.inserted & this.mask] = field;
  }

  /** RFC 7541 4.3. */
  setLimit(bytes: number): void {
    this.limit = bytes;
    this.evictTo(bytes);
  }

  /** Makes sure that a `limit` of so many bytes can be kept. */
  ensureCapacity(bytes: number): void {
    const wider = emptySlots(bytes);
    if (wider.length <= this.slots.length) return;
    const { slots, mask } = this;
    this.slots = wider;
    this.mask = wider.length - 1;
    for (let n = this.inserted - this.count + 1; n <= this.inserted; n += 1) wider[n & this.mask] = slots[n & mask];
  }

  private evictTo(bytes: number): void {
    while (this.size > bytes && this.count > 0) {
      const slot = (this.inserted - this.count + 1) & this.mask;
      this.size -= entrySize(this.slots[slot] as HeaderField);
      // The ring is not to keep alive what the table has let go.
      this.slots[slot] = undefined;
      this.count -= 1;
    }
  }
}

/** Slots for as many entries as `bytes` hold, a power of two. */
function emptySlots(bytes: number): (HeaderField | undefined)[] {
  let length = 1;
  while (length * entryOverhead < bytes) length *= 2;
  return Array.from({ length }, () => undefined);
}
