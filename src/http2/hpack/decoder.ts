import type { HeaderField } from '../types.js';
import { DynamicTable, entrySize, initialTableSize } from './dynamic-table.js';
import { maxInteger } from './integer.js';
import { firstDynamicIndex, staticFields } from './static-table.js';
import { StringCache } from './string-cache.js';
import { readString } from './string-read.js';
import type { DecodeResult, HpackDecoder } from './types.js';

/** @param maxTableSize the SETTINGS_HEADER_TABLE_SIZE in force from the start (bytes); 4096 before any SETTINGS */
export function createHpackDecoder(maxTableSize: number): HpackDecoder {
  return new Decoder(maxTableSize);
}

const colon = 0x3a;

/** What `integer` and `string` return when they have set `fault`. */
const failed = -1;

/** What a decoder holds between blocks. */
const nothing = Buffer.alloc(0);

class Decoder implements HpackDecoder {
  private readonly table: DynamicTable;
  private readonly strings = new StringCache();
  private maxTableSize: number;
  /** The advertised size fell below the table's: the next block has to begin with an update to at most this, or -1. */
  private owedUpdate = -1;
  /** What was wrong with the bytes, in words, for good; empty while nothing is. */
  private fault = '';

  /** The block under way: its next byte and its end. */
  private block: Buffer = nothing;
  private at = 0;
  private end = 0;

  constructor(maxTableSize: number) {
    this.maxTableSize = maxTableSize;
    this.table = new DynamicTable(maxTableSize, Math.min(maxTableSize, initialTableSize));
  }

  get tableSize(): number {
    return this.table.size;
  }

  setMaxTableSize(bytes: number): void {
    this.maxTableSize = bytes;
    this.table.ensureCapacity(bytes);
    if (bytes < this.table.limit && (this.owedUpdate < 0 || bytes < this.owedUpdate)) this.owedUpdate = bytes;
  }

  decode(block: Uint8Array, start: number, end: number, maxListSize: number): DecodeResult {
    if (this.fault !== '') return { ok: false, detail: this.fault };
    this.block = block instanceof Buffer ? block : Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    this.at = start;
    this.end = end;
    const fields: HeaderField[] = [];
    let tooLarge = false;
    if (this.sizeUpdates()) {
      let listSize = 0;
      let keptSize = 0;
      while (this.at < end) {
        const field = this.field();
        if (field === null) break;
        const size = entrySize(field);
        listSize += size;
        if (listSize > maxListSize) {
          tooLarge = true;
          if (field.name.charCodeAt(0) !== colon || keptSize + size > 2 * maxListSize) continue;
        }
        keptSize += size;
        fields.push(field);
      }
    }
    // The chunk that the block stood in is not to be kept alive.
    this.block = nothing;
    return this.fault === '' ? { ok: true, fields, tooLarge } : { ok: false, detail: this.fault };
  }

  /** Those at the block's beginning (RFC 7541 4.2, 6.3). */
  private sizeUpdates(): boolean {
    // A block without a byte cannot owe anything to what follows it.
    if (this.at === this.end) return true;
    while (this.at < this.end && ((this.block[this.at] as number) & 0xe0) === 0x20) {
      const size = this.integer(5);
      if (size < 0) return false;
      if (size > this.maxTableSize)
        return this.fail(`a table size of ${size} bytes, over the ${this.maxTableSize} advertised (RFC 7541 6.3)`);
      if (this.owedUpdate >= 0) {
        if (size > this.owedUpdate)
          return this.fail(
            `a table size of ${size} bytes, over the ${this.owedUpdate} advertised since (RFC 7541 4.2)`,
          );
        this.owedUpdate = -1;
      }
      this.table.setLimit(size);
    }
    if (this.owedUpdate >= 0)
      return this.fail(`no table size update after the size was lowered to ${this.owedUpdate} bytes (RFC 9113 4.3.1)`);
    return true;
  }

  /** The next field, or null where `fault` has been set. */
  private field(): HeaderField | null {
    const first = this.block[this.at] as number;
    // RFC 7541 6.1, by far the most frequent.
    if (first >= 0x80) {
      if (first < 0xff) {
        this.at += 1;
        return this.indexed(first & 0x7f);
      }
      const index = this.integer(7);
      return index < 0 ? null : this.indexed(index);
    }
    // RFC 7541 6.2.1.
    if (first >= 0x40) {
      const field = this.literal(6, true, false);
      if (field !== null) this.table.insert(field);
      return field;
    }
    if (first >= 0x20) {
      this.fail('a table size update after a field (RFC 7541 4.2)');
      return null;
    }
    // RFC 7541 6.2.2 and 6.2.3.
    return this.literal(4, false, first >= 0x10);
  }

  private indexed(index: number): HeaderField | null {
    if (index >= firstDynamicIndex) {
      const field = this.table.at(index - firstDynamicIndex);
      if (field !== undefined) return field;
      const entries = staticFields.length + this.table.count;
      this.fail(`index ${index}, where the tables have ${entries} entries (RFC 7541 2.3.3)`);
      return null;
    }
    if (index > 0) return staticFields[index - 1] as HeaderField;
    this.fail('index 0 (RFC 7541 6.1)');
    return null;
  }

  private literal(prefixBits: number, indexing: boolean, neverIndexed: boolean): HeaderField | null {
    const index = this.integer(prefixBits);
    if (index < 0) return null;
    // An index 0 says that the name follows.
    const name = index === 0 ? this.string(true, true) : this.indexed(index)?.name;
    if (name === undefined) return null;
    // What must never be indexed is a secret: no copy of it is kept.
    const value = this.string(!neverIndexed, indexing);
    return value === undefined ? null : { name, value, neverIndexed };
  }

  /** RFC 7541 5.2; undefined where `fault` has been set. */
  private string(mayKeep: boolean, common: boolean): string | undefined {
    const { block } = this;
    if (this.at >= this.end) {
      this.fail('the block ends where a string should begin');
      return undefined;
    }
    const coded = (block[this.at] as number) >= 0x80;
    const length = this.integer(7);
    if (length < 0) return undefined;
    const start = this.at;
    if (length > this.end - start) {
      this.fail(`a string of ${length} bytes with ${this.end - start} bytes of the block left`);
      return undefined;
    }
    this.at = start + length;
    const text = mayKeep
      ? this.strings.get(block, start, this.at, coded, common)
      : readString(block, start, this.at, coded);
    if (text !== null) return text;
    this.fail('a Huffman-coded string with EOS in it or wrong padding (RFC 7541 5.2)');
    return undefined;
  }

  /** RFC 7541 5.1: the integer whose prefix is the low bits of the next byte, or `failed` where `fault` has been set. */
  private integer(prefixBits: number): number {
    const { block, end } = this;
    const prefix = (1 << prefixBits) - 1;
    let value = (block[this.at] as number) & prefix;
    this.at += 1;
    if (value < prefix) return value;
    for (let shift = 0; shift <= 28; shift += 7) {
      if (this.at >= end) return this.failInteger('the block ends inside an integer');
      const byte = block[this.at] as number;
      this.at += 1;
      // Not a shift: five times seven bits are more than a 32-bit number has.
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value <= maxInteger ? value : this.failInteger(`the integer ${value} (RFC 7541 5.1)`);
    }
    return this.failInteger('an integer of more than six bytes (RFC 7541 5.1)');
  }

  private failInteger(detail: string): number {
    this.fail(detail);
    return failed;
  }

  private fail(detail: string): false {
    this.fault = detail;
    return false;
  }
}
