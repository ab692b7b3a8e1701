import type { HeaderField } from './types.js';

/** Characters of a field name: RFC 9110 5.1's token without upper case (RFC 9113 8.2.1). */
const nameCharacter = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
  nameCharacter[character.charCodeAt(0)] = 1;

const nul = 0x00;
const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;

/** A power of two. */
const provenSlots = 64;
/** The longest value that is remembered (bytes). */
const provenLength = 128;

/** Bits of `seen`. */
const Pseudo = { method: 1, scheme: 2, path: 4, authority: 8, status: 16 } as const;

/**
 * What makes a request, a response or trailers malformed (RFC 9113 8.1.1, 8.2, 8.3). One object serves a connection: its
 * fields hold the last verdict, so that the hot path allocates nothing.
 *
 * A value with spaces at its ends is malformed by RFC 9113 8.2.1, but gRPC's encoders make such (a `grpc-message` that ends
 * in a space) and its protocol permits to strip them: they are stripped.
 */
export class HeaderRules {
  /** What is wrong, in words; empty where nothing is. */
  fault = '';
  /** Of a content-length field, or -1. */
  contentLength = -1;
  /** Of a response. */
  status = 0;

  /**
   * Fields found well formed, by a hash. HPACK hands out the very same object for each use of a table entry, so that the
   * common fields of a connection are looked through once. Pseudo-header fields have slots of their own: what is right in
   * their place is wrong elsewhere.
   */
  private readonly proven = emptySlots();
  private readonly provenPseudo = emptySlots();
  private seen = 0;
  private method = '';
  private scheme = '';
  private path = '';

  /** RFC 9113 8.3.1. May replace a field of `fields` by a stripped one. */
  request(fields: HeaderField[]): boolean {
    this.begin();
    let i = 0;
    for (; i < fields.length; i += 1) {
      const field = fields[i] as HeaderField;
      if (field.name.charCodeAt(0) !== colon) break;
      if (!this.requestPseudo(field)) return false;
      const slot = slotOf(field);
      if (this.provenPseudo[slot] === field) continue;
      if (!this.value(fields, i, field)) return false;
      if (fields[i] === field && worthKeeping(field)) this.provenPseudo[slot] = field;
    }
    if (!this.regular(fields, i)) return false;
    const { seen } = this;
    if (this.method === 'CONNECT') {
      // RFC 9113 8.5.
      if (seen !== (Pseudo.method | Pseudo.authority))
        return this.malformed('CONNECT has other than :method and :authority');
      return true;
    }
    const needed = Pseudo.method | Pseudo.scheme | Pseudo.path;
    if ((seen & needed) !== needed) return this.malformed(`the request has no ${missing(seen)}`);
    if (this.path === '' && (this.scheme === 'http' || this.scheme === 'https'))
      return this.malformed(':path is empty');
    return true;
  }

  /** RFC 9113 8.3.2. May replace a field of `fields` by a stripped one. */
  response(fields: HeaderField[]): boolean {
    this.begin();
    let i = 0;
    for (; i < fields.length; i += 1) {
      const { name, value } = fields[i] as HeaderField;
      if (name.charCodeAt(0) !== colon) break;
      if (name !== ':status') return this.malformed(`a response with ${shown(name)}`);
      if (this.seen !== 0) return this.malformed('a second :status');
      this.seen = Pseudo.status;
      this.status = value.length === 3 ? digits(value) : -1;
      if (this.status < 100) return this.malformed(`:status is ${shown(value)}`);
    }
    if (this.seen === 0) return this.malformed('a response without :status');
    return this.regular(fields, i);
  }

  /** RFC 9113 8.1: no pseudo-header fields. May replace a field of `fields` by a stripped one. */
  trailers(fields: HeaderField[]): boolean {
    this.begin();
    return this.regular(fields, 0);
  }

  private begin(): void {
    this.fault = '';
    this.contentLength = -1;
    this.status = 0;
    this.seen = 0;
    this.method = '';
    this.scheme = '';
    this.path = '';
  }

  private malformed(fault: string): false {
    this.fault = fault;
    return false;
  }

  private requestPseudo({ name, value }: HeaderField): boolean {
    let bit: number;
    switch (name) {
      case ':method':
        bit = Pseudo.method;
        this.method = value;
        break;
      case ':scheme':
        bit = Pseudo.scheme;
        this.scheme = value;
        break;
      case ':path':
        bit = Pseudo.path;
        this.path = value;
        break;
      case ':authority':
        bit = Pseudo.authority;
        break;
      default:
        return this.malformed(`a request with ${shown(name)}`);
    }
    if ((this.seen & bit) !== 0) return this.malformed(`a second ${name}`);
    this.seen |= bit;
    return true;
  }

  private regular(fields: HeaderField[], from: number): boolean {
    for (let i = from; i < fields.length; i += 1) {
      const field = fields[i] as HeaderField;
      const slot = slotOf(field);
      if (this.proven[slot] === field) continue;
      if (!this.name(field) || !this.value(fields, i, field)) return false;
      // A stripped field and a content-length have something to do each time.
      if (fields[i] === field && field.name !== 'content-length' && worthKeeping(field)) this.proven[slot] = field;
    }
    return true;
  }

  private name({ name, value }: HeaderField): boolean {
    const { length } = name;
    if (length === 0) return this.malformed('a field with an empty name');
    for (let i = 0; i < length; i += 1) {
      if (nameCharacter[name.charCodeAt(i)] !== 1)
        return this.malformed(
          name.charCodeAt(0) === colon
            ? `${shown(name)} after or outside the pseudo-header fields' place`
            : `a field name with a character that is not permitted: ${shown(name)}`,
        );
    }
    // RFC 9113 8.2.2. By length first: nearly every name is past at once.
    switch (length) {
      case 2:
        if (name === 'te' && value.trim().toLowerCase() !== 'trailers') return this.malformed(`te: ${shown(value)}`);
        return true;
      case 7:
        return name === 'upgrade' ? this.connectionSpecific(name) : true;
      case 10:
        return name === 'connection' || name === 'keep-alive' ? this.connectionSpecific(name) : true;
      case 14:
        return name === 'content-length' ? this.length(value) : true;
      case 16:
        return name === 'proxy-connection' ? this.connectionSpecific(name) : true;
      case 17:
        return name === 'transfer-encoding' ? this.connectionSpecific(name) : true;
      default:
        return true;
    }
  }

  private connectionSpecific(name: string): false {
    return this.malformed(`the connection-specific field ${name}`);
  }

  private length(value: string): boolean {
    const length = digits(value.trim());
    if (length < 0) return this.malformed(`content-length is ${shown(value)}`);
    if (this.contentLength >= 0 && this.contentLength !== length)
      return this.malformed('content-length twice, not the same');
    this.contentLength = length;
    return true;
  }

  private value(fields: HeaderField[], at: number, field: HeaderField): boolean {
    const { value } = field;
    const { length } = value;
    if (length === 0) return true;
    for (let i = 0; i < length; i += 1) {
      const code = value.charCodeAt(i);
      if (code <= carriageReturn && (code === carriageReturn || code === lineFeed || code === nul))
        return this.malformed(`a value with a character that is not permitted, in ${shown(field.name)}`);
    }
    if (blank(value.charCodeAt(0)) || blank(value.charCodeAt(length - 1))) {
      let start = 0;
      let end = length;
      while (start < end && blank(value.charCodeAt(start))) start += 1;
      while (end > start && blank(value.charCodeAt(end - 1))) end -= 1;
      fields[at] = { name: field.name, value: value.slice(start, end), neverIndexed: field.neverIndexed };
    }
    return true;
  }
}

/** Long values rarely come twice, and secrets are not to be kept alive. */
function worthKeeping({ value, neverIndexed }: HeaderField): boolean {
  return !neverIndexed && value.length <= provenLength;
}

function emptySlots(): (HeaderField | null)[] {
  return Array.from({ length: provenSlots }, () => null);
}

function slotOf({ name, value }: HeaderField): number {
  return (name.length * 7 + value.length) & (provenSlots - 1);
}

function blank(code: number): boolean {
  return code === space || code === tab;
}

/** A decimal number of at most 15 digits, or -1. */
function digits(text: string): number {
  const { length } = text;
  if (length === 0 || length > 15) return -1;
  let sum = 0;
  for (let i = 0; i < length; i += 1) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    sum = sum * 10 + digit;
  }
  return sum;
}

function missing(seen: number): string {
  if ((seen & Pseudo.method) === 0) return ':method';
  return (seen & Pseudo.scheme) === 0 ? ':scheme' : ':path';
}

/** A peer's text for a log line: quoted, escaped, cut. */
function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
