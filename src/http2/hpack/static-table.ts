import type { HeaderField } from '../types.js';

/** RFC 7541 Appendix A, from index 1. Shared with everyone who decodes one: never mutate. */
export const staticFields: readonly HeaderField[] = [
  field(':authority', ''),
  field(':method', 'GET'),
  field(':method', 'POST'),
  field(':path', '/'),
  field(':path', '/index.html'),
  field(':scheme', 'http'),
  field(':scheme', 'https'),
  field(':status', '200'),
  field(':status', '204'),
  field(':status', '206'),
  field(':status', '304'),
  field(':status', '400'),
  field(':status', '404'),
  field(':status', '500'),
  field('accept-charset', ''),
  field('accept-encoding', 'gzip, deflate'),
  field('accept-language', ''),
  field('accept-ranges', ''),
  field('accept', ''),
  field('access-control-allow-origin', ''),
  field('age', ''),
  field('allow', ''),
  field('authorization', ''),
  field('cache-control', ''),
  field('content-disposition', ''),
  field('content-encoding', ''),
  field('content-language', ''),
  field('content-length', ''),
  field('content-location', ''),
  field('content-range', ''),
  field('content-type', ''),
  field('cookie', ''),
  field('date', ''),
  field('etag', ''),
  field('expect', ''),
  field('expires', ''),
  field('from', ''),
  field('host', ''),
  field('if-match', ''),
  field('if-modified-since', ''),
  field('if-none-match', ''),
  field('if-range', ''),
  field('if-unmodified-since', ''),
  field('last-modified', ''),
  field('link', ''),
  field('location', ''),
  field('max-forwards', ''),
  field('proxy-authenticate', ''),
  field('proxy-authorization', ''),
  field('range', ''),
  field('referer', ''),
  field('refresh', ''),
  field('retry-after', ''),
  field('server', ''),
  field('set-cookie', ''),
  field('strict-transport-security', ''),
  field('transfer-encoding', ''),
  field('user-agent', ''),
  field('vary', ''),
  field('via', ''),
  field('www-authenticate', ''),
];

/** Index of the first dynamic entry (RFC 7541 2.3.3). */
export const firstDynamicIndex: number = staticFields.length + 1;

/** The first entry of each name, by name. */
export const staticNameIndex: ReadonlyMap<string, number> = new Map(
  staticFields.map(({ name }, i) => [name, i + 1] as const).reverse(),
);

function field(name: string, value: string): HeaderField {
  return { name, value, neverIndexed: false };
}
