import { createScanner, type Node, type ParseError, parseTree } from 'jsonc-parser';

/** A JSON value that knows where in the text it stands. */
export type JsonNode = { readonly offset: number } & (
  | { readonly type: 'object'; readonly members: readonly JsonMember[] }
  | { readonly type: 'array'; readonly items: readonly JsonNode[] }
  | { readonly type: 'string'; readonly value: string }
  /** `text` is the number as written, for exact decimals. */
  | { readonly type: 'number'; readonly value: number; readonly text: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'null' }
);

export type JsonObject = Extract<JsonNode, { type: 'object' }>;

/** In file order; the same key may come twice. */
export interface JsonMember {
  readonly key: string;
  readonly keyOffset: number;
  readonly value: JsonNode;
}

export interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

export interface JsonText {
  /** The value; null where the text is too broken to be sure of its structure. */
  readonly root: JsonNode | null;
  /** Every departure from RFC 8259, in file order. A comment or trailing comma leaves `root` usable. */
  readonly problems: readonly SyntaxProblem[];
}

/** Deeper than any config; keeps the recursive parser off the end of the stack. */
const maxDepth = 100;

// jsonc-parser names its tokens and errors by ambient const enums, which isolated modules cannot read: hence the numbers.
const openings: ReadonlySet<number> = new Set([1, 3]);
const closings: ReadonlySet<number> = new Set([2, 4]);
const endOfFile = 17;
const commentError = 10;

const complaints: Readonly<Record<number, string>> = {
  1: 'not a JSON value',
  2: 'not a JSON number',
  3: 'expected a key in double quotes',
  4: 'expected a value',
  5: 'expected ":"',
  6: 'expected ","',
  7: 'expected "}"',
  8: 'expected "]"',
  9: 'something follows the end of the JSON value',
  10: 'JSON has no comments',
  11: 'the comment never ends',
  12: 'the string never ends',
  13: 'the number never ends',
  14: 'not a \\uXXXX escape',
  15: 'not an escape that JSON knows',
  16: 'a control character in a string must be escaped',
};

/** Where the text nests too deep, or null. */
function tooDeepAt(text: string): number | null {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== endOfFile; token = scanner.scan()) {
    if (openings.has(token)) depth++;
    else if (closings.has(token)) depth--;
    if (depth > maxDepth) return scanner.getTokenOffset();
  }
  return null;
}

function fromNode(node: Node, text: string): JsonNode {
  const { offset } = node;
  switch (node.type) {
    case 'object':
      return { type: 'object', offset, members: (node.children ?? []).flatMap((child) => memberOf(child, text)) };
    case 'array':
      return { type: 'array', offset, items: (node.children ?? []).map((child) => fromNode(child, text)) };
    case 'string':
      return { type: 'string', offset, value: String(node.value) };
    case 'number':
      return { type: 'number', offset, value: Number(node.value), text: text.slice(offset, offset + node.length) };
    case 'boolean':
      return { type: 'boolean', offset, value: node.value === true };
    case 'null':
    case 'property': // only ever a child of an object, which takes it apart in memberOf
      return { type: 'null', offset };
    default:
      return node.type satisfies never;
  }
}

function memberOf(property: Node, text: string): JsonMember[] {
  const [key, value] = property.children ?? [];
  if (key === undefined || value === undefined) return [];
  return [{ key: String(key.value), keyOffset: key.offset, value: fromNode(value, text) }];
}

/** The offset of the comma that stands before the closing bracket at `offset`, or null. */
function trailingComma(text: string, offset: number): number | null {
  const closing = text[offset];
  if (closing !== '}' && closing !== ']') return null;
  let before = offset - 1;
  while (before >= 0 && ' \t\r\n'.includes(text[before] ?? '')) before--;
  return text[before] === ',' ? before : null;
}

/**
 * Reads strict JSON (RFC 8259), keeping places and repeated keys. Never throws. A byte order mark must be gone already.
 * One problem a line: what follows the first on a line is mostly its echo.
 */
export function parseJson(text: string): JsonText {
  const deep = tooDeepAt(text);
  if (deep !== null) {
    return { root: null, problems: [{ offset: deep, message: `nested deeper than ${maxDepth} levels` }] };
  }
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false });
  let sound = true;
  let lastLineEnd = -1;
  const problems: SyntaxProblem[] = [];
  for (const { error, offset } of errors.toSorted((a, b) => a.offset - b.offset)) {
    const comma = trailingComma(text, offset);
    if (comma === null && error !== commentError) sound = false;
    if (offset <= lastLineEnd) continue;
    const message = comma === null ? (complaints[error] ?? 'not JSON') : 'JSON has no trailing commas: remove it';
    problems.push({ offset: comma ?? offset, message });
    const lineEnd = text.slice(offset).search(/[\r\n]/);
    lastLineEnd = lineEnd === -1 ? text.length : offset + lineEnd;
  }
  return { root: sound && tree !== undefined ? fromNode(tree, text) : null, problems };
}
