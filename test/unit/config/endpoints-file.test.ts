import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatEndpointsProblem, parseEndpoints } from '../../../src/config/endpoints-file.js';

function problems(text: string): readonly string[] {
  const parsed = parseEndpoints(text);
  return parsed.ok ? [] : parsed.problems.map((problem) => formatEndpointsProblem('f.json', problem));
}

/** The problems of one entry with these members besides, without file and line. */
function ofEntry(members: string): readonly string[] {
  return problems(`{"backends":[{${members}}]}`).map((line) => line.replace(/^f\.json:1:\d+: backends\[0\]\.?/, ''));
}

const whole = '"name":"b1","target":"10.0.0.7:1"';

describe('an endpoints file', () => {
  it('FND-20: holds backends with all that --backend takes', () => {
    const text = `\uFEFF{
      "backends": [
        {"name": "b1", "target": "10.0.0.7:50051", "weight": 3, "priority": 2, "maxCalls": 100},
        {"name": "orders", "target": "dns:///orders.internal:50051"},
        {"name": "b2", "target": "unix:/run/b.sock", "weight": null}
      ]
    }`;
    const plain = { weight: 1, priority: 0, maxCalls: null };
    expect(parseEndpoints(text)).toEqual({
      ok: true,
      backends: [
        {
          ...{ name: 'b1', target: '10.0.0.7:50051', weight: 3, priority: 2, maxCalls: 100 },
          where: { kind: 'one', endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50051 } },
        },
        {
          ...{ name: 'orders', target: 'dns:///orders.internal:50051', ...plain },
          where: { kind: 'name', host: 'orders.internal', port: 50051, authority: null },
        },
        {
          ...{ name: 'b2', target: 'unix:/run/b.sock', ...plain },
          where: { kind: 'one', endpoint: { kind: 'unix', path: '/run/b.sock' } },
        },
      ],
    });
  });

  it('may hold nobody', () => {
    expect(parseEndpoints('{"backends":[]}')).toEqual({ ok: true, backends: [] });
  });

  it('FND-21: all that is wrong is told, each with its place', () => {
    const text = [
      '{"backends": [',
      '  {"name": "B1", "target": "10.0.0.7:50051"},',
      '  {"name": "b2", "target": "10.0.0.7"},',
      '  {"name": "b3", "target": "10.0.0.7:1", "weight": 0},',
      '  {"name": "b3", "target": "10.0.0.8:1"}',
      ']}',
    ].join('\n');
    const rule = 'a-z, 0-9, ".", "_" and "-", beginning with a letter or digit, at most 256';
    expect(problems(text)).toEqual([
      `f.json:2:12: backends[0].name: "B1" is not a backend name: ${rule}`,
      expect.stringMatching(/^f\.json:3:28: backends\[1\]\.target: "10\.0\.0\.7" has no port; write HOST:PORT/),
      'f.json:4:52: backends[2].weight: must be an integer from 1 to 1000, without quotes; got 0',
      'f.json:5:12: backends[3].name: the name b3 is taken by backends[2]',
    ]);
  });

  it.each([
    ['', 'f.json:1:1: $: expected a value'],
    ['{"backends": [],}', 'JSON has no trailing commas'],
    ['[]', '$: must be an object, like {"backends": ['],
    ['null', 'must be an object'],
    ['{}', 'backends: missing; write {"backends": ['],
    ['{"backends": null}', 'backends: missing'],
    ['{"backends": {}}', 'backends: must be an array; got an object'],
    ['{"backends": [], "backends": []}', 'backends: the same key twice'],
    ['{"backend": []}', 'backend: unknown field; did you mean backends?'],
    ['{"backends": ["b1=10.0.0.7:1"]}', 'backends[0]: must be an object, like {"name": "b1"'],
  ])('FND-21: %s is refused', (text, problem) => {
    expect(problems(text)[0]).toContain(problem);
  });

  it.each([
    ['"target":"10.0.0.7:1"', 'name: missing; must be a string'],
    ['"name":"b1"', 'target: missing; must be a string'],
    ['"name":1,"target":"10.0.0.7:1"', 'name: must be a string; got 1'],
    ['"name":"b1","target":[]', 'target: must be a string; got an array'],
    ['"name":"b1","target":"http://10.0.0.7:1"', 'is a URL, not a gRPC target'],
    [`${whole},"weight":"3"`, 'weight: must be an integer from 1 to 1000, without quotes; got "3"'],
    [`${whole},"weight":1.5`, 'weight: must be an integer'],
    [`${whole},"weight":1001`, 'weight: must be an integer'],
    [`${whole},"priority":10`, 'priority: must be an integer from 0 to 9'],
    [`${whole},"maxCalls":0`, 'maxCalls: must be an integer from 1 to 1000000'],
    [`${whole},"max-calls":1`, '["max-calls"]: unknown field; did you mean maxCalls?'],
    [`${whole},"colour":1`, 'colour: unknown field; known are name, target, weight, priority, maxCalls'],
    [`${whole},"weight":1,"weight":2`, 'weight: the same key twice in one object'],
  ])('FND-21: an entry with %s is refused', (members, problem) => {
    expect(ofEntry(members)).toEqual([expect.stringContaining(problem)]);
  });

  it('holds at most 10 000 backends', () => {
    const entries = Array.from({ length: 10_001 }, (_, at) => ({ name: `b${at}`, target: `unix:/b${at}` }));
    expect(parseEndpoints(JSON.stringify({ backends: entries.slice(1) }))).toMatchObject({ ok: true });
    expect(problems(JSON.stringify({ backends: entries }))).toEqual([
      expect.stringContaining('more than 10000 backends'),
    ]);
  });

  it('whatever it holds, nothing is thrown and each problem is one line', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({ backends: fc.array(fc.dictionary(fc.constantFrom('name', 'target', 'weight', 'x'), fc.jsonValue())) })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        for (const line of problems(text)) expect(line).toMatch(/^f\.json:\d+:\d+: [^\n]+$/);
      }),
    );
  });
});
