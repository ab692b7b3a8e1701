import { beforeAll, describe, expect, test } from 'vitest';
import { stopReasons } from '../../src/grpc/stop-reason.js';
import { built } from '../support/build.js';
import { hedgerow, type Program } from '../support/program.js';
import { closePages, openPage } from './browser.js';

beforeAll(async () => void (await built()));

/** The demo as `npm start` runs it, at a port of its own. */
async function demo(): Promise<{ readonly program: Program; readonly url: string }> {
  const program = await hedgerow(['demo', '--admin', '127.0.0.1:0']);
  await program.said('dashboard: ');
  await program.said('█ answered');
  return { program, url: /^dashboard: (\S+)$/m.exec(program.out)?.[1] ?? 'nowhere' };
}

/** The proxy alone, with a backend that is not there. */
async function proxy(admin: string): Promise<Program> {
  const program = await hedgerow(['serve', '--listen', '127.0.0.1:0', '--admin', admin, '--backend', 'b1=127.0.0.1:1']);
  await program.admin();
  return program;
}

describe('the dashboard of the demo', () => {
  test('shows a retried and a hedged call within 10 s of the start', async () => {
    // The browser is there already, as that of somebody who is told the address is.
    const first = await demo();
    await openPage(first.url);
    await closePages();
    first.program.signal('SIGINT');
    await first.program.exited();
    const begin = performance.now();
    const { url } = await demo();
    const page = await openPage(url);
    const within = { timeout: 10_000 };
    await page.locator('.call', { hasText: '1 retry' }).first().waitFor(within);
    await page.locator('.call', { hasText: 'a hedge won' }).first().waitFor(within);
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  test('says how it is in a sentence, and its numbers go on', async () => {
    const { url } = await demo();
    const page = await openPage(url);
    await page.locator('html[data-level]').waitFor();
    expect(await page.locator('h1').textContent()).toMatch(/^[A-Z0-9].*\.$/);
    await page.locator('#success', { hasText: '%' }).waitFor();
    await page.locator('#success-without', { hasText: '%' }).waitFor();
    await page.locator('#backends tr').nth(2).waitFor();
    expect(await page.locator('#backends th').allTextContents()).toEqual(['oak', 'elm', 'hazel']);
    await page.locator('.uplot').nth(5).waitFor();
    const calls = page.locator('#methods tr', { hasText: 'Orders/GetOrder' }).locator('td').first();
    await calls.waitFor();
    const before = Number(await calls.textContent());
    await page.waitForFunction((least) => {
      const row = [...document.querySelectorAll('#methods tr')].find((one) => one.textContent?.includes('GetOrder'));
      return Number(row?.querySelector('td')?.textContent) > least;
    }, before);
  });

  test('leads from a stop reason to what helps', async () => {
    const { url } = await demo();
    const page = await openPage(url);
    const card = page.locator('.call[data-reason=pushback]').first();
    await card.waitFor();
    const link = card.locator('.why a');
    expect(await link.getAttribute('href')).toBe('troubleshooting#pushback');
    expect(await card.locator('.why').textContent()).toContain('the backend said not to try again');
  });
});

test('the page outlives the proxy: it says so, and goes on by itself with the next one, from the beginning', async () => {
  const first = await proxy('127.0.0.1:0');
  const admin = await first.admin();
  const page = await openPage(`http://${admin}/`, {}, true);
  await page.locator('html[data-link=up]').waitFor();
  const run = await page.locator('#run').textContent();
  expect(await page.locator('h1').textContent()).toContain('No backend can be reached');

  first.signal('SIGKILL');
  await first.exited();
  const banner = page.locator('[data-banner=lost]');
  await banner.waitFor();
  expect(await banner.textContent()).toBe('Connection lost, trying again. What you see is how it was.');
  expect(await page.locator('#announcer').textContent()).toBe('Connection to the proxy lost, trying again.');

  await proxy(admin);
  await page.locator('html[data-link=up]').waitFor();
  await banner.waitFor({ state: 'detached' });
  await page.waitForFunction((before) => document.querySelector('#run')?.textContent !== before, run);
  expect(await page.locator('#announcer').textContent()).toContain('No backend can be reached');
});

test('/troubleshooting has a place for every stop reason, and leads nowhere that is not there', async () => {
  const program = await proxy('127.0.0.1:0');
  const page = await openPage(`http://${await program.admin()}/troubleshooting`);
  expect(await page.title()).toContain('hedgerow');
  await page.locator('html[data-theme]').waitFor();
  const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id));
  for (const reason of stopReasons) if (reason !== 'ok') expect(ids).toContain(reason);
  const links = await page.locator('main a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  expect(links.length).toBeGreaterThan(10);
  for (const link of links) {
    if (link.startsWith('#')) expect(ids).toContain(decodeURIComponent(link.slice(1)));
    else expect((await fetch(new URL(link, page.url()))).status).toBe(200);
  }
});
