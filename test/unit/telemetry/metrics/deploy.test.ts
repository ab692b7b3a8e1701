import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { backendStates, clientRefusals, reloadOutcomes, resolutionOutcomes } from '../../../../src/proxy/meters.js';
import { catalogue } from '../../../../src/telemetry/metrics/catalogue.js';
import type { MetricDefinition } from '../../../../src/telemetry/metrics/definition.js';
import { callOutcomes, codeNames, commitCauses, connectionEvents } from '../../../../src/telemetry/metrics/labels.js';

const read = (path: string): string => readFileSync(new URL(`../../../../deploy/${path}`, import.meta.url), 'utf8');

/** What a scrape adds to every series, and what a histogram does to its buckets. */
const added = ['job', 'instance'];

/** Every series by name, with the labels that it has. */
const series = new Map<string, readonly string[]>([['up', added]]);
for (const { name, type, labels } of catalogue as readonly MetricDefinition[]) {
  const all = [...labels, ...added];
  if (type === 'histogram') {
    series.set(`${name}_bucket`, [...all, 'le']);
    series.set(`${name}_sum`, all);
    series.set(`${name}_count`, all);
  } else series.set(name, all);
}

/** The values that are asked for by name in the files. */
const values: Readonly<Record<string, readonly string[]>> = {
  code: codeNames,
  state: backendStates,
  outcome: [...callOutcomes, ...reloadOutcomes, ...resolutionOutcomes],
  cause: commitCauses,
  event: connectionEvents,
  reason: clientRefusals,
};

const dashboard: unknown = JSON.parse(read('grafana/hedgerow.json'));

function textsOf(value: unknown, key: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === key && typeof inner === 'string' ? [inner] : textsOf(inner, key),
  );
}

/** Of a YAML file whose expressions are a line, or a block after `|`. */
function expressionsOf(yaml: string): string[] {
  return [...yaml.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)$)/gm)].map(
    ([, block, line]) => block ?? line ?? '',
  );
}

/** What is wrong with an expression: series and labels that there are not. */
function problems(expression: string): string[] {
  const found: string[] = [];
  const named = [...expression.matchAll(/\b(?:grpc_client|hedgerow|process)_[a-z_]+|\bup(?=\{)/g)].map(
    ([name]) => name,
  );
  if (named.length === 0) found.push('names no series');
  for (const name of named) if (!series.has(name)) found.push(`no series ${name}`);
  for (const [, name = '', matchers = ''] of expression.matchAll(/\b([a-z_]+)\{([^}]*)\}/g)) {
    for (const [, label = '', value = ''] of matchers.matchAll(/(\w+)(?:=~|!=|!~|=)"([^"]*)"/g)) {
      if (!series.get(name)?.includes(label)) found.push(`${name} has no label ${label}`);
      const known = values[label];
      for (const one of known === undefined ? [] : value.split('|'))
        if (!known?.includes(one)) found.push(`${label} is never ${one}`);
    }
  }
  for (const [, labels = ''] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    const names = [...series.keys()].filter((name) => new RegExp(`\\b${name}\\b`).test(expression));
    for (const label of labels.split(', '))
      if (!names.some((name) => series.get(name)?.includes(label))) found.push(`nothing here has the label ${label}`);
  }
  return found;
}

describe('deploy/grafana/hedgerow.json', () => {
  const expressions = textsOf(dashboard, 'expr');
  test.each(expressions)('%s', (expression) => {
    expect(problems(expression)).toEqual([]);
  });

  test('legends name labels that their expression keeps', () => {
    const targets = JSON.stringify(dashboard).matchAll(/"expr":("(?:[^"\\]|\\.)*"),"legendFormat":"([^"]*)"/g);
    let seen = 0;
    for (const [, quoted = '""', legend = ''] of targets) {
      const expression = String(JSON.parse(quoted));
      const kept = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
      for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g))
        expect(kept.length === 0 ? added : kept, expression).toContain(label);
      seen += 1;
    }
    expect(seen).toBe(expressions.length);
  });

  test('no two panels lie on each other, and each has an id of its own', () => {
    const panels = (dashboard as { panels: { id: number; gridPos: { x: number; y: number; w: number; h: number } }[] })
      .panels;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

describe('deploy/alerts.yml', () => {
  const text = read('alerts.yml');
  const expressions = expressionsOf(text);
  test('every rule has an expression that is read here', () => {
    expect(expressions).toHaveLength(text.match(/- alert: /g)?.length ?? -1);
  });
  test.each(expressions)('%s', (expression) => {
    expect(problems(expression)).toEqual([]);
  });
});

test('what is wrong would be found', () => {
  expect(problems('rate(hedgerow_call_total[5m])')).toContain('no series hedgerow_call_total');
  expect(problems('rate(hedgerow_calls_total{backend="x"}[5m])')).toEqual([
    'hedgerow_calls_total has no label backend',
  ]);
  expect(problems('sum by (backend) (hedgerow_calls_total)')).toEqual(['nothing here has the label backend']);
  expect(problems('vector(1)')).toEqual(['names no series']);
  expect(problems('hedgerow_calls_total{code="NOPE"}')).toEqual(['code is never NOPE']);
  expect(problems('hedgerow_call_duration_seconds{job="x"}')).toContain('no series hedgerow_call_duration_seconds');
});
