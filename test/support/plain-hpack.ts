/*
 * HPACK for tests, from RFC 7541 alone: plain, slow, and sharing nothing with the engine, so that it can judge it. Strings
 * are latin-1: one character a byte.
 */

/** One decoded line, with how it was written: `neverIndexed` is the literal of RFC 7541 6.2.3. */
export interface PlainField {
  readonly name: string;
  readonly value: string;
  readonly written: 'indexed' | 'incremental' | 'plain' | 'neverIndexed';
}

/** RFC 7541 Appendix A, from index 1. */
const staticTable: readonly (readonly [string, string])[] = `
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', ...value] = line.split(' ');
    return [name, value.join(' ')] as const;
  });

/**
 * Code lengths of RFC 7541 Appendix B, symbols 0 to 256 (EOS), in base 36, a digit a symbol. The code is canonical: in order
 * of length, then of symbol, each code is the one before it plus one. So the lengths say all.
 */
const codeLengths = [
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca',
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds',
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn',
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq',
  'u',
].join('');

const endOfString = 256;

/** Codes as strings of 0 and 1. */
const symbolOf: ReadonlyMap<string, number> = new Map(canonicalCodes());

function* canonicalCodes(): Generator<[code: string, symbol: number]> {
  let next = 0;
  for (let length = 1; length <= 30; length += 1) {
    for (let symbol = 0; symbol <= endOfString; symbol += 1) {
      if (Number.parseInt(codeLengths.charAt(symbol), 36) !== length) continue;
      yield [next.toString(2).padStart(length, '0'), symbol];
      next += 1;
    }
    next *= 2;
  }
}

function bitsOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
}

/** RFC 7541 5.2. */
function decodeHuffman(bytes: Uint8Array): string {
  const out: number[] = [];
  let code = '';
  for (const bit of bitsOf(bytes)) {
    code += bit;
    const symbol = symbolOf.get(code);
    if (symbol === undefined) continue;
    if (symbol === endOfString) throw new Error('HPACK: EOS inside a string');
    out.push(symbol);
    code = '';
  }
  if (code.length > 7 || code.includes('0')) throw new Error(`HPACK: bad Huffman padding ${code}`);
  return Buffer.from(out).toString('latin1');
}

/** Decodes the blocks of one connection in order; keeps their dynamic table. Throws on whatever RFC 7541 forbids. */
export class PlainDecoder {
  /** Newest first (RFC 7541 2.3.2). */
  private table: (readonly [string, string])[] = [];
  private limit: number;
  private readonly ceiling: number;

  /** @param ceiling SETTINGS_HEADER_TABLE_SIZE that this side has announced */
  constructor(ceiling = 4096) {
    this.ceiling = ceiling;
    this.limit = ceiling;
  }

  decode(block: Uint8Array): PlainField[] {
    const fields: PlainField[] = [];
    const bytes = new Reading(block);
    while (!bytes.done) {
      const first = bytes.peek();
      if (first >= 0x80) {
        const [name, value] = this.at(bytes.integer(7));
        fields.push({ name, value, written: 'indexed' });
      } else if (first >= 0x40) {
        const [name, value] = this.literal(bytes, 6);
        this.insert(name, value);
        fields.push({ name, value, written: 'incremental' });
      } else if (first >= 0x20) {
        if (fields.length > 0) throw new Error('HPACK: a table size update after a field (RFC 7541 4.2)');
        const size = bytes.integer(5);
        if (size > this.ceiling) throw new Error(`HPACK: table size ${size} is over ${this.ceiling}`);
        this.limit = size;
        this.evict();
      } else {
        const [name, value] = this.literal(bytes, 4);
        fields.push({ name, value, written: first >= 0x10 ? 'neverIndexed' : 'plain' });
      }
    }
    return fields;
  }

  private literal(bytes: Reading, prefix: number): readonly [string, string] {
    const index = bytes.integer(prefix);
    const name = index === 0 ? bytes.string() : this.at(index)[0];
    return [name, bytes.string()];
  }

  private at(index: number): readonly [string, string] {
    const entry = index <= staticTable.length ? staticTable[index - 1] : this.table[index - staticTable.length - 1];
    if (entry === undefined) throw new Error(`HPACK: no entry ${index}`);
    return entry;
  }

  private insert(name: string, value: string): void {
    this.table.unshift([name, value]);
    this.evict();
  }

  /** RFC 7541 4.1, 4.4. An entry over the whole limit empties the table. */
  private evict(): void {
    const size = (): number => this.table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (size() > this.limit) this.table.pop();
  }
}

/** A block being read. */
class Reading {
  private at = 0;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  peek(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new Error('HPACK: the block ends in the middle of a field');
    return byte;
  }

  private byte(): number {
    const byte = this.peek();
    this.at += 1;
    return byte;
  }

  /** RFC 7541 5.1. */
  integer(prefix: number): number {
    const mask = 2 ** prefix - 1;
    let value = this.byte() % (mask + 1);
    if (value < mask) return value;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.byte();
      value += (byte % 128) * shift;
      if (value > 2 ** 31) throw new Error('HPACK: an integer over 2^31');
      if (byte < 128) return value;
    }
  }

  /** RFC 7541 5.2. */
  string(): string {
    const huffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const raw = this.bytes.subarray(this.at, this.at + length);
    if (raw.length < length) throw new Error('HPACK: a string ends past its block');
    this.at += length;
    return huffman ? decodeHuffman(raw) : Buffer.from(raw).toString('latin1');
  }
}

/** How a line is to be written: without indexing by default; never indexed (RFC 7541 6.2.3) where marked. */
export interface PlainLine {
  readonly name: string;
  readonly value: string;
  readonly neverIndexed: boolean;
}

/**
 * A header block: an indexed field where the static table has the very line, else a literal without indexing, without
 * Huffman, its name by index where the static table has it. Touches no dynamic table, so every decoder reads it.
 */
export function encodeBlock(lines: readonly PlainLine[]): Buffer {
  return Buffer.concat(
    lines.map(({ name, value, neverIndexed }) => {
      const whole = staticTable.findIndex((entry) => entry[0] === name && entry[1] === value) + 1;
      if (whole > 0 && value !== '' && !neverIndexed) return integer(0x80, 7, whole);
      const named = staticTable.findIndex((entry) => entry[0] === name) + 1;
      const head = integer(neverIndexed ? 0x10 : 0x00, 4, named);
      return Buffer.concat(named > 0 ? [head, string(value)] : [head, string(name), string(value)]);
    }),
  );
}

function integer(pattern: number, prefix: number, value: number): Buffer {
  const mask = 2 ** prefix - 1;
  if (value < mask) return Buffer.of(pattern + value);
  const bytes = [pattern + mask];
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(0x00, 7, bytes.length), bytes]);
}
