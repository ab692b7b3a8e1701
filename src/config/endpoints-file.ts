import {
  type BackendOptions,
  type BackendSetting,
  backendOptions,
  defaultOptions,
  joinBackend,
  nameProblem,
} from './backend.js';
import { showNode } from './fields.js';
import { type JsonMember, type JsonNode, type JsonObject, parseJson } from './json-tree.js';
import { didYouMean } from './nearest.js';
import { createLocator, type Position } from './position.js';
import { printable } from './quote.js';
import { itemPath, memberPath } from './report.js';

/** One thing that is wrong with an endpoints file. There are no warnings: it is ours, and says all of it or nothing. */
export interface EndpointsProblem extends Position {
  /** `backends[0].target`; `$` for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

export type ParsedEndpoints =
  /** Each name once. May be empty. */
  | { readonly ok: true; readonly backends: readonly BackendSetting[] }
  /** At least one problem, in file order. */
  | { readonly ok: false; readonly problems: readonly EndpointsProblem[] };

/** More backends than anybody balances over; a bound for what one file may cost. */
const mostBackends = 10_000;

const optionKeys: readonly string[] = [...backendOptions.values()].map(({ key }) => key);
const entryKeys: readonly string[] = ['name', 'target', ...optionKeys];
const example = '{"backends": [{"name": "b1", "target": "10.0.0.7:50051"}]}';

/** `FILE:LINE:COL: PATH: MESSAGE`, without a line end. */
export function formatEndpointsProblem(file: string, { line, column, path, message }: EndpointsProblem): string {
  return `${printable(file)}:${line}:${column}: ${path}: ${message}`;
}

/** Reads an endpoints file (docs/backends.md). Never throws. */
export function parseEndpoints(source: string): ParsedEndpoints {
  const text = source.replace(/^\uFEFF/, '');
  const reader = new Reader();
  const { root, problems } = parseJson(text);
  for (const { offset, message } of problems) reader.complain(offset, '', message);
  const backends = root === null ? [] : reader.document(root);
  if (reader.found.length === 0) return { ok: true, backends };
  const locate = createLocator(text);
  const ordered = reader.found.toSorted((a, b) => a.offset - b.offset);
  return { ok: false, problems: ordered.map(({ offset, path, message }) => ({ ...locate(offset), path, message })) };
}

type Fields = ReadonlyMap<string, JsonMember>;

/** Reads one document and keeps what is wrong with it. */
class Reader {
  readonly found: { readonly offset: number; readonly path: string; readonly message: string }[] = [];
  /** Names by the paths that took them. */
  private readonly taken = new Map<string, string>();

  complain(offset: number, path: string, message: string): void {
    this.found.push({ offset, path: path === '' ? '$' : path, message });
  }

  document(root: JsonNode): readonly BackendSetting[] {
    const object = this.object(root, '', example);
    if (object === null) return [];
    const list = this.fields(object, '', ['backends']).get('backends')?.value;
    if (list === undefined) {
      // A misspelt one has been told.
      if (this.found.length === 0) this.complain(object.offset, 'backends', `missing; write ${example}`);
      return [];
    }
    if (list.type !== 'array') {
      this.complain(list.offset, 'backends', `must be an array; got ${showNode(list)}`);
      return [];
    }
    const over = list.items[mostBackends];
    if (over !== undefined) {
      this.complain(over.offset, itemPath('backends', mostBackends), `more than ${mostBackends} backends`);
      return [];
    }
    return list.items.flatMap((item, index) => this.entry(item, itemPath('backends', index)));
  }

  private entry(node: JsonNode, path: string): readonly BackendSetting[] {
    const object = this.object(node, path, '{"name": "b1", "target": "10.0.0.7:50051"}');
    if (object === null) return [];
    const fields = this.fields(object, path, entryKeys);
    const name = this.name(object, fields, path);
    const target = this.text(object, fields, path, 'target');
    const options = this.options(fields, path);
    if (target === null) return [];
    const joined = joinBackend(name ?? '', target.value, options);
    if (joined.ok) return name === null ? [] : [joined.value];
    this.complain(target.offset, memberPath(path, 'target'), joined.problem);
    return [];
  }

  private name(object: JsonObject, fields: Fields, path: string): string | null {
    const node = this.text(object, fields, path, 'name');
    if (node === null) return null;
    const at = memberPath(path, 'name');
    const problem = nameProblem(node.value);
    const owner = this.taken.get(node.value);
    if (problem !== null) this.complain(node.offset, at, problem);
    else if (owner !== undefined) this.complain(node.offset, at, `the name ${node.value} is taken by ${owner}`);
    else this.taken.set(node.value, path);
    return problem === null && owner === undefined ? node.value : null;
  }

  private options(fields: Fields, path: string): BackendOptions {
    const options: { -readonly [K in keyof BackendOptions]: BackendOptions[K] } = { ...defaultOptions };
    for (const { key, min, max } of backendOptions.values()) {
      const node = fields.get(key)?.value;
      if (node === undefined) continue;
      if (node.type === 'number' && Number.isInteger(node.value) && node.value >= min && node.value <= max) {
        options[key] = node.value;
      } else {
        const message = `must be an integer from ${min} to ${max}, without quotes; got ${showNode(node)}`;
        this.complain(node.offset, memberPath(path, key), message);
      }
    }
    return options;
  }

  private text(
    object: JsonObject,
    fields: Fields,
    path: string,
    key: string,
  ): Extract<JsonNode, { type: 'string' }> | null {
    const node = fields.get(key)?.value;
    if (node?.type === 'string') return node;
    const at = memberPath(path, key);
    if (node === undefined) this.complain(object.offset, at, 'missing; must be a string');
    else this.complain(node.offset, at, `must be a string; got ${showNode(node)}`);
    return null;
  }

  private object(node: JsonNode, path: string, like: string): JsonObject | null {
    if (node.type === 'object') return node;
    this.complain(node.offset, path, `must be an object, like ${like}; got ${showNode(node)}`);
    return null;
  }

  /** By key; null is absent, as in a service config. */
  private fields(object: JsonObject, path: string, known: readonly string[]): Fields {
    const fields = new Map<string, JsonMember>();
    const seen = new Set<string>();
    for (const member of object.members) {
      const { key, keyOffset, value } = member;
      const at = memberPath(path, key);
      if (!known.includes(key)) {
        const hint = didYouMean(key, known) || `; known ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
        this.complain(keyOffset, at, `unknown field${hint}`);
      } else if (seen.has(key)) this.complain(keyOffset, at, 'the same key twice in one object');
      else if (value.type !== 'null') fields.set(key, member);
      seen.add(key);
    }
    return fields;
  }
}
