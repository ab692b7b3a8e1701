import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { catalogue } from '../../../../src/telemetry/metrics/catalogue.js';
import type { MetricDefinition } from '../../../../src/telemetry/metrics/definition.js';
import { createMeters, printed } from './rig.js';

const file = new URL('../../../../docs/metrics.md', import.meta.url);
const [begin, end] = ['<!-- list -->\n', '<!-- /list -->\n'];

function row({ name, type, labels, help }: MetricDefinition): string {
  const cell = labels.map((label) => `\`${label}\``).join(', ');
  return `| \`${name}\` | ${type} | ${cell === '' ? '–' : cell} | ${help} |`;
}

const table = ['| metric | type | labels | what it is |', '|---|---|---|---|', ...catalogue.map(row), ''].join('\n');

test('docs/metrics.md lists every metric as the program has it; METRICS_WRITE=1 writes it', () => {
  const text = readFileSync(file, 'utf8');
  const [before = '', rest = ''] = text.split(begin);
  const after = rest.split(end)[1] ?? '';
  const whole = `${before}${begin}${table}${end}${after}`;
  if (process.env['METRICS_WRITE'] === '1') writeFileSync(file, whole);
  expect(readFileSync(file, 'utf8')).toBe(whole);
});

test('every metric is told with its help and its type, in the catalogue’s order, and nothing else', () => {
  const lines = printed(createMeters()).split('\n');
  const told = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.slice('# TYPE '.length));
  expect(told).toEqual(catalogue.map(({ name, type }) => `${name} ${type}`));
  const helped = lines.filter((line) => line.startsWith('# HELP ')).map((line) => line.slice('# HELP '.length));
  expect(helped).toEqual(catalogue.map(({ name, help }) => `${name} ${help}`));
});

test('names follow Prometheus: counters end in _total, units stand before it', () => {
  for (const { name, type, unit } of catalogue as readonly MetricDefinition[]) {
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (unit !== '') expect(name.replace(/_total$/, '').endsWith(`_${unit}`)).toBe(true);
    expect(name).toMatch(/^(grpc_client|hedgerow|process)_[a-z_]+$/);
  }
  expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length);
});

test('the buckets of histograms ascend', () => {
  for (const definition of catalogue as readonly MetricDefinition[]) {
    expect(definition.buckets !== undefined).toBe(definition.type === 'histogram');
    const { buckets = [] } = definition;
    expect([...buckets].sort((a, b) => a - b)).toEqual(buckets);
  }
});
