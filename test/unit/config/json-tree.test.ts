import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonNode, parseJson } from '../../../src/config/json-tree.js';
import { createLocator } from '../../../src/config/position.js';

/** The plain value, repeated keys taking the last, as JSON.parse does. */
function plain(node: JsonNode): unknown {
  if (node.type === 'object') {
    const entries = node.members.map(({ key, value }): [string, unknown] => [key, plain(value)]);
    return Object.fromEntries(entries);
  }
  if (node.type === 'array') return node.items.map(plain);
  return node.type === 'null' ? null : node.value;
}

function parsesAsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const jsonish = fc.string({
  unit: fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    'u',
    '0',
    '1',
    '-',
    '.',
    'e',
    '+',
    'true',
    'null',
    '"a"',
    ' ',
    '\n',
    '/',
    '*',
    '\t',
    '\u0001',
    'é',
  ),
  maxLength: 24,
});

describe('parseJson', () => {
  it('accepts exactly what JSON.parse accepts', () => {
    fc.assert(
      fc.property(jsonish, (text) => {
        expect(parseJson(text).problems.length === 0).toBe(parsesAsJson(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it('reads the values that JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        const { root, problems } = parseJson(text);
        expect(problems).toEqual([]);
        expect(root === null ? undefined : plain(root)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('a comment is told, and the value is read all the same', () => {
    const { root, problems } = parseJson('{"a": 1 /* why */}');
    expect(problems).toEqual([{ offset: 8, message: 'JSON has no comments' }]);
    expect(root && plain(root)).toEqual({ a: 1 });
  });

  it('a text whose structure is in doubt has no value', () => {
    expect(parseJson('{"a": 1 "b": 2}').root).toBeNull();
    expect(parseJson('{"a": {').root).toBeNull();
  });

  it('one problem a line is told', () => {
    expect(parseJson('[tru fals\nnul]').problems.map(({ offset }) => offset)).toEqual([1, 10]);
  });
});

describe('createLocator', () => {
  it('counts lines that end with LF, CR LF and CR', () => {
    const locate = createLocator('a\nb\r\nc\rd');
    expect([0, 1, 2, 5, 7, 99].map(locate)).toEqual([
      { line: 1, column: 1 },
      { line: 1, column: 2 },
      { line: 2, column: 1 },
      { line: 3, column: 1 },
      { line: 4, column: 1 },
      { line: 4, column: 2 },
    ]);
  });
});
