import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { built } from '../support/build.js';
import { backendRow, call, hedgedCall, snapshot, throttledCall } from '../unit/dashboard/live.js';
import { openPage } from './browser.js';
import { FakeProxy } from './fake-proxy.js';

let axe = '';
let fake: FakeProxy | null = null;

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const parked = backendRow({ name: 'elm', state: 'parked', why: 'parked by hand', parked_for_ms: null });
  const recent = backendRow({ name: 'hazel', standing: 'recent', why: 'an attempt failed there a short while ago' });
  const down = backendRow({ name: 'ash', state: 'down', why: 'connection refused', next_connect_in_ms: 800 });
  const live = snapshot({ backends: [backendRow(), parked, recent, down], draining: true });
  fake = new FakeProxy(path.dirname(await built()), live, [throttledCall(), hedgedCall(), call()]);
  await fake.start();
});

afterAll(() => fake?.stop());

/** What axe finds against WCAG 2, A and AA, in a line each. */
async function violations(page: Page): Promise<string[]> {
  // Past the page's own policy, which lets no script in.
  await page.evaluate(axe);
  const results = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
    const runner = (window as unknown as { axe: { run(options: unknown): Promise<AxeResults> } }).axe;
    return runner.run({ runOnly: { type: 'tag', values: tags } });
  });
  expect(results.passes.length).toBeGreaterThan(20);
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

test.each([
  ['light', 1360],
  ['dark', 1360],
  ['light', 400],
] as const)('%s, %s px wide: nothing stands in anybody’s way', async (colorScheme, width) => {
  const page = await openPage(fake?.url ?? '', {
    ...{ colorScheme, viewport: { width, height: 1000 }, reducedMotion: 'reduce', bypassCSP: true },
  });
  await page.locator('.call').nth(2).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.locator('.card-head').first().click();
  await page.locator('dialog[open]').waitFor();
  expect(await violations(page)).toEqual([]);
});

test.each(['light', 'dark'] as const)('/troubleshooting, %s: nothing stands in anybody’s way', async (colorScheme) => {
  const page = await openPage(`${fake?.url}troubleshooting#throttled`, { colorScheme, bypassCSP: true });
  await page.locator('html[data-theme]').waitFor();
  expect(await page.locator(':target').textContent()).toBe('throttled');
  expect(await violations(page)).toEqual([]);
});
