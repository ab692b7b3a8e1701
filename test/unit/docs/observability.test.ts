import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { stopReasons } from '../../../src/grpc/stop-reason.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/observability.md');

it('docs/observability.md tells of every alert, and of none that there is not', () => {
  const alerts = [...read('deploy/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const told = [...page.matchAll(/`(Hedgerow\w+)`/g)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(5);
  expect(told.sort()).toEqual(alerts.sort());
});

it('its pictures and pages are there', () => {
  const files = [...page.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(10);
  for (const file of files)
    if (!file.startsWith('http')) expect(existsSync(new URL(`docs/${file}`, root)), file).toBe(true);
});

it('its metrics are there', () => {
  const list = read('docs/metrics.md');
  for (const [metric] of page.matchAll(/\bhedgerow_[a-z_]+/g))
    expect(list).toContain(`\`${metric.replace(/_(bucket|sum|count)$/, '')}\``);
});

it('README.md leads from each stop reason to what docs/troubleshooting.md says of it', () => {
  const readme = read('README.md');
  for (const reason of stopReasons) {
    if (reason === 'ok' || reason === 'client_cancelled') continue;
    expect(readme).toContain(`[\`${reason}\`](docs/troubleshooting.md#${reason})`);
  }
});
