import type { HeaderField } from '../types.js';
import { entrySize, initialTableSize } from './dynamic-table.js';
import { FieldIndex } from './field-index.js';
import { IndexingPolicy, varyingNames } from './indexing-policy.js';
import { maxIntegerLength, writeInteger } from './integer.js';
import { staticNameIndex } from './static-table.js';
import { writeRawString, writeString } from './string-write.js';
import type { HpackEncoder } from './types.js';

/** @param maxTableSize the most that is used of the peer's table, whatever it permits (bytes) */
export function createHpackEncoder(maxTableSize: number): HpackEncoder {
  return new Encoder(maxTableSize);
}

/** Bytes that are always enough for the block of these fields, the two size updates of RFC 7541 4.2 included. */
export function maxEncodedSize(fields: readonly HeaderField[]): number {
  let sum = 2 * maxIntegerLength;
  for (const { name, value } of fields) sum += name.length + value.length + 3 * maxIntegerLength;
  return sum;
}

/** Names that are in no table ever, as they stand on the wire. */
const encodedNames: ReadonlyMap<string, Uint8Array> = new Map(
  varyingNames
    .filter((name) => !staticNameIndex.has(name))
    .map((name) => {
      const out = new Uint8Array(2 * maxIntegerLength + name.length);
      return [name, out.slice(0, writeString(out, 0, name))] as const;
    }),
);

/**
 * The longest string that is Huffman-coded though it is not put into the table and comes anew with each call (bytes). It
 * costs 2 ns a byte to save a quarter of it, which for tokens of a kilobyte is as much as the rest of the call's work.
 */
const longestCodedEachTime = 32;

class Encoder implements HpackEncoder {
  private readonly index: FieldIndex;
  private readonly policy = new IndexingPolicy();
  private readonly maxTableSize: number;
  /** The smallest limit since the last block, to be signalled with the present one; -1 where nothing changed. */
  private smallestLimit = -1;

  constructor(maxTableSize: number) {
    this.maxTableSize = maxTableSize;
    this.index = new FieldIndex(maxTableSize, Math.min(maxTableSize, initialTableSize));
    if (maxTableSize < initialTableSize) this.smallestLimit = maxTableSize;
  }

  get tableSize(): number {
    return this.index.table.size;
  }

  setPeerTableSize(bytes: number): void {
    const { table } = this.index;
    const limit = Math.min(bytes, this.maxTableSize);
    if (limit === table.limit) return;
    this.smallestLimit = this.smallestLimit < 0 ? limit : Math.min(this.smallestLimit, limit);
    table.setLimit(limit);
  }

  encode(fields: readonly HeaderField[], out: Uint8Array, at: number): number {
    // Looked at first: a block given up half-way would leave our table ahead of the peer's.
    if (out.length - at < maxEncodedSize(fields)) return -1;
    let next = this.smallestLimit < 0 ? at : this.sizeUpdates(out, at);
    for (let i = 0; i < fields.length; i += 1) {
      const field = fields[i] as HeaderField;
      const index = field.neverIndexed ? 0 : this.index.findField(field);
      if (index === 0) {
        next = this.literal(out, next, field);
      } else if (index < 0x7f) {
        out[next] = 0x80 | index;
        next += 1;
      } else {
        next = writeInteger(out, next, 0x80, 7, index);
      }
    }
    return next;
  }

  /** RFC 7541 4.2: the smallest size since the last block, then the one that holds. */
  private sizeUpdates(out: Uint8Array, at: number): number {
    const { limit } = this.index.table;
    let next = at;
    if (this.smallestLimit < limit) next = writeInteger(out, next, 0x20, 5, this.smallestLimit);
    this.smallestLimit = -1;
    return writeInteger(out, next, 0x20, 5, limit);
  }

  private literal(out: Uint8Array, at: number, field: HeaderField): number {
    const { name, value, neverIndexed } = field;
    const encodedName = encodedNames.get(name);
    if (encodedName !== undefined) {
      out[at] = neverIndexed ? 0x10 : 0x00;
      const start = at + 1;
      for (let i = 0; i < encodedName.length; i += 1) out[start + i] = encodedName[i] as number;
      return writeEachTime(out, start + encodedName.length, value);
    }
    const { index } = this;
    const nameIndex = index.findName(name);
    if (!neverIndexed && entrySize(field) <= index.table.limit && this.policy.admits(name, value, index)) {
      const next = writeInteger(out, at, 0x40, 6, nameIndex);
      index.insert(field);
      return writeString(out, nameIndex === 0 ? writeString(out, next, name) : next, value);
    }
    const next = writeInteger(out, at, neverIndexed ? 0x10 : 0x00, 4, nameIndex);
    return writeEachTime(out, nameIndex === 0 ? writeString(out, next, name) : next, value);
  }
}

function writeEachTime(out: Uint8Array, at: number, value: string): number {
  return value.length <= longestCodedEachTime ? writeString(out, at, value) : writeRawString(out, at, value);
}
