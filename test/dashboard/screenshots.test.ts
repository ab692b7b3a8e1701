import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startBackends } from '../../src/demo/backends.js';
import { createDemoClient } from '../../src/demo/client.js';
import { loadProtocol } from '../../src/demo/protocol.js';
import type { Part, Stage } from '../../src/demo/stage.js';
import { hedgerow } from '../support/program.js';
import { openPage } from './browser.js';

const images = fileURLToPath(new URL('../../docs/images', import.meta.url));
/** None may be larger (bytes). */
const largest = 200 * 1024;

/** How backends behave: shares, 0 to 1. */
interface Weather {
  failing: number;
  slow: number;
}

function createWeather(weather: Weather): Stage {
  const failure = { code: 14, message: 'restarting', reason: 'RESTARTING', pushback: null };
  return {
    set() {},
    enter(): Part {
      const drawn = Math.random();
      if (drawn < weather.failing) return { pace: 4, failure };
      return {
        pace: drawn < weather.failing + weather.slow ? 180 + Math.random() * 500 : 4 + Math.random() * 14,
        failure: null,
      };
    },
    arrivals: [],
  };
}

async function shoot(page: Page, name: string): Promise<void> {
  // Of the page only what fits: nobody scrolls through a picture.
  const png = await page.screenshot({ animations: 'disabled' });
  await writeFile(path.join(images, `${name}.png`), png);
  expect((await stat(path.join(images, `${name}.png`))).size).toBeLessThanOrEqual(largest);
}

/** The pictures of the documents, of the built program under real calls. Needs some minutes. */
describe.skipIf(process.env['DASHBOARD_WRITE'] !== '1')('pictures', () => {
  test('of the main states are written to docs/images', { timeout: 400_000 }, async () => {
    const weather: Weather = { failing: 0.02, slow: 0.015 };
    const protocol = loadProtocol();
    const backends = await startBackends(protocol, createWeather(weather));
    const flags = backends.flatMap(({ name, port }) => ['--backend', `${name}=127.0.0.1:${port}`]);
    const config = await readFile(new URL('../../service-config.json', import.meta.url), 'utf8');
    const program = await hedgerow(['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', ...flags], {
      files: { 'service-config.json': config },
    });
    const client = createDemoClient(await program.port());
    const { GetOrder, FindOrder, ListOrders } = protocol.orders;
    const traffic = new AbortController();
    const calling = (async () => {
      for (let index = 0; !traffic.signal.aborted; index += 1) {
        void (index % 5 === 0
          ? client.unary(FindOrder, { item: 'twine' }, {})
          : index % 7 === 0
            ? client.serverStream(ListOrders, { firstId: 1000, count: 3 })
            : client.unary(GetOrder, { id: 1000 + index }, {}));
        await delay(25 + Math.random() * 20);
      }
    })();
    try {
      const url = `http://${await program.admin()}/`;
      const page = await openPage(url, { viewport: { width: 1280, height: 1180 } }, true);
      await delay(100_000);
      await shoot(page, 'healthy');
      await page.locator('#theme').click();
      await shoot(page, 'dark');
      await page.locator('#theme').click();
      await page.locator('#calls-title').evaluate((title) => title.scrollIntoView());
      await page.setViewportSize({ width: 1280, height: 820 });
      await shoot(page, 'calls');
      await page.setViewportSize({ width: 1280, height: 1180 });
      await page
        .locator('.call:has(.fill.cancelled)', { hasText: 'a hedge won' })
        .first()
        .locator('.card-head')
        .click();
      await shoot(page, 'detail');
      await page.keyboard.press('Escape');

      weather.failing = 0.6;
      await page.locator('html[data-level=bad]').waitFor({ timeout: 60_000 });
      await delay(25_000);
      await page.evaluate(() => window.scrollTo(0, 0));
      await shoot(page, 'trouble');

      program.signal('SIGKILL');
      await page.locator('[data-banner=lost]').waitFor();
      await shoot(page, 'disconnected');
    } finally {
      traffic.abort();
      await calling;
      client.close();
      for (const backend of backends) backend.stop();
    }
  });
});
