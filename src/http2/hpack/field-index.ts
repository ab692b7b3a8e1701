import type { HeaderField } from '../types.js';
import { DynamicTable } from './dynamic-table.js';
import { firstDynamicIndex, staticFields, staticNameIndex } from './static-table.js';

/** A power of two. */
const buckets = 64;

/** Static fields of each hash: the first in `staticHead`, the others behind it; 0 ends a chain. */
const staticHead = new Uint8Array(buckets);
const staticNext = new Uint8Array(firstDynamicIndex);
for (let index = firstDynamicIndex - 1; index > 0; index -= 1) {
  const { name, value } = staticFields[index - 1] as HeaderField;
  const hash = fieldHash(name, value);
  staticNext[index] = staticHead[hash] as number;
  staticHead[hash] = index;
}

/**
 * An encoder's dynamic table, with the way from a field to its index. Two hash tables over the ring, by field and by name,
 * whose chains run from newer to older entries: a chain ends at the first entry that is no longer there, and so nothing has
 * to be taken out of it. The hashes look at a few characters only. Who makes fields of equal hash on purpose gets a chain
 * as long as the table, some hundred entries, and no further.
 */
export class FieldIndex {
  readonly table: DynamicTable;
  /** Numbers of entries; doubles, for they grow for as long as the connection lives. */
  private readonly fieldHead = new Float64Array(buckets);
  private readonly nameHead = new Float64Array(buckets);
  private readonly fieldNext: Float64Array;
  private readonly nameNext: Float64Array;
  /** By slot: the entry has been referred to since it was put in. */
  private readonly used: Uint8Array;

  /** @param capacity the most that the table may ever hold (bytes) */
  constructor(capacity: number, limit: number) {
    this.table = new DynamicTable(capacity, limit);
    const slots = this.table.mask + 1;
    this.fieldNext = new Float64Array(slots);
    this.nameNext = new Float64Array(slots);
    this.used = new Uint8Array(slots);
  }

  /** The index of this very name and value (RFC 7541 2.3.3), or 0. */
  findField(field: HeaderField): number {
    const { name, value } = field;
    const hash = fieldHash(name, value);
    const { table, fieldNext } = this;
    const { slots, mask, inserted } = table;
    const gone = inserted - table.count;
    for (let n = this.fieldHead[hash] as number; n > gone; n = fieldNext[n & mask] as number) {
      const entry = slots[n & mask] as HeaderField;
      // Most often it is the same object, from the same decoder.
      if (entry === field || (entry.value === value && entry.name === name)) {
        this.used[n & mask] = 1;
        return firstDynamicIndex + inserted - n;
      }
    }
    for (let index = staticHead[hash] as number; index > 0; index = staticNext[index] as number) {
      const entry = staticFields[index - 1] as HeaderField;
      if (entry === field || (entry.value === value && entry.name === name)) return index;
    }
    return 0;
  }

  /** An index with this name (RFC 7541 2.3.3), the lowest there is, or 0. */
  findName(name: string): number {
    const known = staticNameIndex.get(name);
    if (known !== undefined) return known;
    const { table, nameNext } = this;
    const { slots, mask, inserted } = table;
    const gone = inserted - table.count;
    for (let n = this.nameHead[nameHash(name)] as number; n > gone; n = nameNext[n & mask] as number)
      if ((slots[n & mask] as HeaderField).name === name) return firstDynamicIndex + inserted - n;
    return 0;
  }

  /** The field must fit the table. Returns its number. */
  insert(field: HeaderField): number {
    const { table } = this;
    table.insert(field);
    const n = table.inserted;
    const slot = n & table.mask;
    const byField = fieldHash(field.name, field.value);
    this.fieldNext[slot] = this.fieldHead[byField] as number;
    this.fieldHead[byField] = n;
    const byName = nameHash(field.name);
    this.nameNext[slot] = this.nameHead[byName] as number;
    this.nameHead[byName] = n;
    this.used[slot] = 0;
    return n;
  }

  /** Whether the entry of this number is still there and has been of use. */
  wasUsed(n: number): boolean {
    const { table } = this;
    return n > table.inserted - table.count && this.used[n & table.mask] === 1;
  }
}

function fieldHash(name: string, value: string): number {
  const { length } = value;
  let hash = name.length * 5 + length * 7;
  if (length > 0) hash += value.charCodeAt(length - 1) * 3 + value.charCodeAt(length >> 1);
  if (name.length > 0) hash += name.charCodeAt(name.length - 1) * 11;
  return hash & (buckets - 1);
}

function nameHash(name: string): number {
  const { length } = name;
  return length === 0
    ? 0
    : (length * 7 + name.charCodeAt(length - 1) * 5 + name.charCodeAt(length >> 1)) & (buckets - 1);
}
