import { readFields, showNode } from './fields.js';
import type { JsonNode } from './json-tree.js';
import { quote } from './quote.js';
import { itemPath, memberPath, type Report } from './report.js';
import { asArray, asObject } from './value-grammar.js';

/** What one name of a methodConfig entry covers (CFG-16 to CFG-18). */
export type MethodName =
  | { readonly kind: 'method'; readonly service: string; readonly method: string }
  | { readonly kind: 'service'; readonly service: string }
  | { readonly kind: 'all' };

/** Names taken so far in the document, by what they cover, with the path of who took them. */
export type TakenNames = Map<string, string>;

/** The names of one entry; those in error are left out and reported. Null and absent are an empty list. */
export function readNames(
  node: JsonNode | null,
  path: string,
  taken: TakenNames,
  report: Report,
): readonly MethodName[] {
  if (node === null) return [];
  const items = asArray(node, path, 'an array of names', report) ?? [];
  return items.flatMap((item, index) => {
    const at = itemPath(path, index);
    const name = readName(item, at, report);
    if (name === null) return [];
    const covered = describe(name);
    const owner = taken.get(covered);
    if (owner !== undefined) {
      report.add('duplicate-name', item.offset, at, `${covered} is already named by ${owner}; a name may be used once`);
      return [];
    }
    taken.set(covered, at);
    return [name];
  });
}

/** In words; equal names have equal words, however they are spelled (CFG-23, CFG-24). */
function describe(name: MethodName): string {
  switch (name.kind) {
    case 'all':
      return 'the default of all methods';
    case 'service':
      return `the default of service ${JSON.stringify(name.service)}`;
    case 'method':
      return `method ${JSON.stringify(name.method)} of service ${JSON.stringify(name.service)}`;
    default:
      return name satisfies never;
  }
}

function readName(node: JsonNode, path: string, report: Report): MethodName | null {
  const object = asObject(node, path, report);
  if (object === null) return null;
  const fields = readFields(object, 'name', path, report);
  const service = readPart(fields.get('service')?.value, memberPath(path, 'service'), report);
  const method = readPart(fields.get('method')?.value, memberPath(path, 'method'), report);
  if (service === null || method === null) return null;
  if (service === '') {
    if (method === '') return { kind: 'all' };
    const message = `names method ${quote(method)} without its service: add "service", with its package`;
    report.add('method-without-service', object.offset, path, message);
    return null;
  }
  return method === '' ? { kind: 'service', service } : { kind: 'method', service, method };
}

/** The string; `''` where absent; null where of a wrong type. Warns of what no path can match (CFG-26). */
function readPart(node: JsonNode | undefined, path: string, report: Report): string | null {
  if (node === undefined) return '';
  if (node.type !== 'string') {
    report.add('wrong-type', node.offset, path, `must be a string; got ${showNode(node)}`);
    return null;
  }
  const why = neverMatches(node.value, path.endsWith('.method'));
  if (why !== null) report.add('name-never-matches', node.offset, path, `${showNode(node)} matches no call: ${why}`);
  return node.value;
}

function neverMatches(part: string, isMethod: boolean): string | null {
  if (part.includes('*')) return 'names are compared byte by byte, there are no wildcards; leave "method" out for all';
  if (isMethod && part.includes('/')) return 'a method is what follows the last "/" of the path';
  if (part.startsWith('/') || part.endsWith('/')) return 'a service is written without leading or trailing "/"';
  if (/\s/.test(part)) return 'it holds white space';
  // RFC 9110 5.5 keeps control characters out of field values; half a surrogate pair has no bytes.
  if (/[\p{Cc}\p{Cs}]/u.test(part)) return 'it holds a control character, or half of one that takes two';
  return null;
}
