import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, expect } from 'vitest';

/** Debian's, which test/dashboard/install-browser.sh installs. */
const executablePath = '/usr/bin/chromium';

let running: Browser | null = null;

interface Opened {
  readonly page: Page;
  /** What no page may do: errors, and requests to other hosts than its own. */
  readonly faults: string[];
}

const opened: Opened[] = [];

/**
 * A page of its own, with a browser's state of its own. After the test it must have had no error and asked nobody else.
 *
 * @param lonely the proxy goes away meanwhile, or turns the page away: the browser's own lines about that are no faults
 */
export async function openPage(url: string, options: BrowserContextOptions = {}, lonely = false): Promise<Page> {
  running ??= await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await running.newContext({ viewport: { width: 1360, height: 1000 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  const { host } = new URL(url);
  page.on('pageerror', ({ message }) => faults.push(`error: ${message}`));
  page.on('console', (line) => {
    const text = line.text();
    if (lonely && /net::ERR_|status of 503/.test(text)) return;
    if (line.type() === 'error' || line.type() === 'warning') faults.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).host !== host) faults.push(`a request to ${request.url()}`);
  });
  opened.push({ page, faults });
  await page.goto(url);
  return page;
}

/** Closes what is open: for a test that stops what a page looks at. */
export async function closePages(): Promise<void> {
  const pages = opened.splice(0);
  for (const { page } of pages) await page.context().close();
  expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
}

afterEach(closePages);

afterAll(async () => {
  await running?.close();
  running = null;
});
