import { describe, expect, it } from 'vitest';
import { compileMethods } from '../../../src/config/methods.js';
import { accepted, parse, retry, told, withRetry } from './config-text.js';

const entry = 'methodConfig[0]';

describe('group 1a: the document', () => {
  it.each(['{', '', '{"methodConfig":[],}', '{"a" 1}', "{'a':1}", '{} {}', '// {}', '{"a":01}', '{"a":"\u0001"}'])(
    'CFG-01: text that is not JSON is refused: %j',
    (text) => {
      const { config, findings } = parse(text);
      expect(config).toBeNull();
      expect(findings[0]).toMatchObject({ rule: 'json-syntax', severity: 'error', path: '$' });
    },
  );

  it('CFG-01: a trailing comma is told at the comma, and what else is wrong with it', () => {
    const text = '{\n  "methodConfig": [\n    {"name": [3]},\n  ]\n}';
    expect(parse(text).findings).toMatchObject([
      { line: 3, column: 15, rule: 'wrong-type', path: `${entry}.name[0]` },
      { line: 3, column: 18, rule: 'json-syntax', message: 'JSON has no trailing commas: remove it' },
    ]);
  });

  it.each(['[]', '"x"', '3', 'null', 'true'])('CFG-02: a top level of %s is refused', (text) => {
    expect(told(text)).toEqual(['wrong-type $']);
    expect(parse(text).config).toBeNull();
  });

  it('CFG-03: an empty object is a config without policies', () => {
    const config = accepted('{}');
    expect(config).toMatchObject({ methodConfig: [], throttling: null });
    expect(compileMethods(config).lookup('/a.B/C')).toEqual({
      plan: { kind: 'none' },
      timeout: null,
      waitForReady: false,
      maxRequestMessageBytes: null,
      maxResponseMessageBytes: null,
      named: false,
      entry: null,
    });
  });

  it('CFG-04: unknown fields at every level are accepted, each with a warning at its key', () => {
    const text = JSON.stringify({
      methodConfg: 1,
      methodConfig: [
        {
          name: [{ service: 'a', methd: 'b' }],
          retryPolcy: {},
          retryPolicy: { ...retry, initialBackof: '1s', zzz: null },
        },
      ],
    });
    expect(told(text)).toEqual([
      'unknown-field methodConfg',
      `unknown-field ${entry}.name[0].methd`,
      `unknown-field ${entry}.retryPolcy`,
      `unknown-field ${entry}.retryPolicy.initialBackof`,
      `unknown-field ${entry}.retryPolicy.zzz`,
    ]);
    expect(parse(text).findings[0]).toMatchObject({
      line: 1,
      column: 2,
      message: expect.stringContaining('did you mean methodConfig?'),
    });
    expect(accepted(text).methodConfig).toHaveLength(1);
  });

  it.each(['max_attempts', 'MaxAttempts'])('CFG-05: %s is not maxAttempts, which is missing', (key) => {
    const text = withRetry({ maxAttempts: undefined, [key]: 4 });
    const found = parse(text).findings;
    expect(found.map(({ rule }) => rule).toSorted()).toEqual(['required', 'unknown-field']);
    expect(found.find(({ rule }) => rule === 'unknown-field')?.message).toContain('did you mean maxAttempts?');
  });

  it('CFG-06: the same key twice in one object is refused, in unknown parts too', () => {
    const text = '{"methodConfig":[],\n"methodConfig":[],"x":{"a":1,"a":1}}';
    expect(parse(text).findings).toMatchObject([
      { line: 2, column: 1, rule: 'duplicate-key', path: 'methodConfig' },
      { rule: 'unknown-field', path: 'x' },
      { rule: 'duplicate-key', path: 'x.a' },
    ]);
  });

  it('CFG-07: null is the same as absent', () => {
    const nothing = { name: [{ service: 'S', method: null }], retryPolicy: null, hedgingPolicy: null, timeout: null };
    const config = accepted(JSON.stringify({ methodConfig: [nothing], retryThrottling: null }));
    expect(config.methodConfig[0]).toMatchObject({
      names: [{ kind: 'service', service: 'S' }],
      policy: { kind: 'none' },
      timeout: null,
    });
    expect(accepted('{"methodConfig":null}').methodConfig).toEqual([]);
    expect(told(withRetry({ maxAttempts: null }))).toEqual([`required ${entry}.retryPolicy.maxAttempts`]);
  });

  it('CFG-08, CFG-09: one broken entry makes the whole config invalid', () => {
    const text = JSON.stringify({
      methodConfig: [
        { name: [{ service: 'good' }], retryPolicy: retry },
        { name: [{ service: 'bad' }], retryPolicy: { ...retry, maxAttempts: 1 } },
      ],
    });
    expect(parse(text).config).toBeNull();
  });

  it('CFG-10: a plan that a call has captured is not touched by a later config', () => {
    const before = compileMethods(accepted(withRetry({ maxAttempts: 3 }))).lookup('/S/M');
    const after = compileMethods(accepted(withRetry({ maxAttempts: 2 }))).lookup('/S/M');
    expect([before.plan, after.plan]).toMatchObject([{ maxAttempts: 3 }, { maxAttempts: 2 }]);
  });

  it('CFG-11: with policies off by the cap, a broken policy is an error all the same, and a good one is not applied', () => {
    expect(parse(withRetry({ initialBackoff: 'x' }), 1).config).toBeNull();
    const text = withRetry({});
    expect(compileMethods(accepted(text, 1)).lookup('/S/M').plan).toEqual({ kind: 'none' });
    expect(parse(text, 1).findings).toMatchObject([
      { rule: 'attempts-over-cap', message: expect.stringContaining('no policy is applied') },
    ]);
  });

  it('CFG-12: what gRPC clients know and a proxy does not use is accepted with a warning', () => {
    const text = '{"healthCheckConfig":{"serviceName":"s"},"connectionScaling":{}}';
    expect(told(text)).toEqual(['ignored-field healthCheckConfig', 'ignored-field connectionScaling']);
    accepted(text);
  });

  it('a policy that stands at the top level is told to have no effect there (BR-20)', () => {
    const text = JSON.stringify({
      retryPolicy: retry,
      maxAttempts: 4,
      methodConfig: [{ name: [{}], retryThrottling: {} }],
    });
    expect(told(text)).toEqual([
      'misplaced-field retryPolicy',
      'misplaced-field maxAttempts',
      `misplaced-field ${entry}.retryThrottling`,
    ]);
    expect(parse(text).findings[0]?.message).toContain('NO EFFECT');
  });

  it('a byte order mark is ignored and does not move columns', () => {
    expect(parse('\uFEFF[]').findings).toMatchObject([{ line: 1, column: 1, rule: 'wrong-type' }]);
    accepted('\uFEFF{}');
  });

  it('nesting past any sense is refused before it can exhaust the stack', () => {
    expect(told(`{"x":${'['.repeat(200_000)}`)).toEqual(['json-syntax $']);
  });

  it('findings of one document come in file order, whatever order they were found in', () => {
    const found = parse('{"methodConfig":[{"retryPolicy":{"retryableStatusCodes":[0],"maxAttempts":1}}]}').findings;
    const places = found.map(({ line, column }) => [line, column]);
    expect(places).toEqual(places.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d));
    expect(found.length).toBeGreaterThan(4);
  });
});
