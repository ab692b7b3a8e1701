/**
 * One header line as it stood on the wire. `value` holds one character per byte (latin-1), so that every byte passes
 * unchanged; `neverIndexed` is the literal's mark of RFC 7541 6.2.3, which must survive each hop.
 * Fields are shared between calls and connections: never mutate one.
 */
export interface MetadataField {
  readonly name: string;
  readonly value: string;
  readonly neverIndexed: boolean;
}
