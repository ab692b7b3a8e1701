import path from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { LiveSnapshot, RecentCall } from '../../src/admin/live.js';
import { built } from '../support/build.js';
import { attempt, backendRow, call, hedgedCall, noCalls, snapshot, throttledCall } from '../unit/dashboard/live.js';
import { closePages, openPage } from './browser.js';
import { FakeProxy } from './fake-proxy.js';

let dist = '';
beforeAll(async () => {
  dist = path.dirname(await built());
});

const fakes: FakeProxy[] = [];

async function proxy(live: LiveSnapshot = snapshot(), ring: readonly RecentCall[] = three): Promise<FakeProxy> {
  const fake = new FakeProxy(dist, live, ring);
  await fake.start();
  fakes.push(fake);
  return fake;
}

afterEach(async () => {
  await closePages();
  for (const fake of fakes.splice(0)) await fake.stop();
});

const three = [throttledCall(), hedgedCall(), call()];

/** A second later. */
function later(rest: Partial<LiveSnapshot>): LiveSnapshot {
  const { at, uptime_ms } = snapshot();
  return snapshot({ at: at + 1000, uptime_ms: uptime_ms + 1000, ...rest });
}

describe('the filter', () => {
  test('by method, backend, reason and text, kept in the address', async () => {
    const { url } = await proxy();
    const page = await openPage(url);
    const cards = page.locator('.call');
    await cards.nth(2).waitFor();
    await page.selectOption('#filter-method', { label: 'Orders/FindOrder' });
    await expect.poll(() => cards.count()).toBe(1);
    expect(page.url()).toContain('#method=%2Fshop.v1.Orders%2FFindOrder');
    await page.click('#clear');
    await expect.poll(() => cards.count()).toBe(3);
    expect(page.url()).toBe(url);
    await page.selectOption('#filter-reason', 'throttled');
    await expect.poll(() => cards.count()).toBe(1);
    await page.selectOption('#filter-reason', '');
    await page.selectOption('#filter-backend', 'elm');
    await expect.poll(() => cards.count()).toBe(2);
    await page.fill('#filter-text', 'RESTARTING');
    await expect.poll(() => cards.count()).toBe(1);
    expect(await page.locator('#shown').textContent()).toBe('1 call of 3');
    await page.fill('#filter-text', 'nowhere to be found');
    await page.locator('#no-calls', { hasText: 'No call fits the filter.' }).waitFor();
  });

  test('of an address that somebody was sent holds from the start', async () => {
    const { url } = await proxy();
    const page = await openPage(`${url}#reason=throttled`);
    await page.locator('.call').waitFor();
    expect(await page.locator('.call').getAttribute('data-call')).toBe('run1-3');
    expect(await page.locator('#filter-reason').inputValue()).toBe('throttled');
  });

  test('plain calls are shown where they are asked for', async () => {
    const plain = call({ seq: 4, call: 'run1-4', retries: 0, attempts: [attempt()] });
    const { url } = await proxy(snapshot(), [plain, ...three]);
    const page = await openPage(url);
    const cards = page.locator('.call');
    await cards.nth(2).waitFor();
    expect(await cards.count()).toBe(3);
    await page.check('#filter-plain');
    await expect.poll(() => cards.count()).toBe(4);
  });
});

describe('a call’s details', () => {
  test('hold all its fields, and are copied as JSON', async () => {
    const { url } = await proxy();
    const page = await openPage(url, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.locator('[data-call=run1-3] .card-head').click();
    const dialog = page.locator('#detail');
    const text = await dialog.textContent();
    for (const words of [
      'run1-3',
      '/shop.v1.Orders/GetOrder',
      'restarting',
      'throttled',
      'hazel',
      '5 s after its start',
    ])
      expect(text).toContain(words);
    await dialog.getByRole('button', { name: 'Copy as JSON' }).click();
    await dialog.getByText('Copied.').waitFor();
    // What has nothing to say is absent, as everywhere in JSON.
    expect(JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))).toEqual(
      JSON.parse(JSON.stringify(throttledCall())),
    );
  });

  test('without a clipboard the text is laid out to be copied by hand', async () => {
    const { url } = await proxy();
    const page = await openPage(url);
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.locator('[data-call=run1-3] .card-head').click();
    await page.getByRole('button', { name: 'Copy as JSON' }).click();
    await page.getByText('Selected below: press Ctrl+C.').waitFor();
    const selected = await page.evaluate(() => String(getSelection()));
    expect(JSON.parse(selected)).toMatchObject({ call: 'run1-3' });
  });

  test('are reached, read and left with the keyboard alone', async () => {
    const { url } = await proxy();
    const page = await openPage(url);
    await page.locator('.call').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('skip');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate(() => document.activeElement?.parentElement?.dataset['call']);
    expect(await focused()).toBe('run1-3');
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Close');
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    expect(await focused()).toBe('run1-3');
  });
});

test('news leaves the focus where it is, and the list where it is while it is paused', async () => {
  const fake = await proxy();
  const page = await openPage(fake.url);
  const cards = page.locator('.call');
  await page.locator('[data-call=run1-3] .card-head').focus();
  fake.calls([call({ seq: 4, call: 'run1-4' })]);
  await page.locator('[data-call=run1-4]').waitFor();
  expect(await cards.first().getAttribute('data-call')).toBe('run1-4');
  expect(await page.evaluate(() => document.activeElement?.parentElement?.dataset['call'])).toBe('run1-3');
  await page.getByRole('button', { name: 'Pause' }).click();
  fake.calls([call({ seq: 5, call: 'run1-5' })]);
  await page.locator('#shown', { hasText: 'paused, 1 new' }).waitFor();
  expect(await cards.count()).toBe(4);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('[data-call=run1-5]').waitFor();
});

test('after a reconnect no call is there twice; another run of the proxy begins from nothing', async () => {
  const fake = await proxy();
  const page = await openPage(fake.url, {}, true);
  const cards = page.locator('.call');
  await cards.nth(2).waitFor();
  await fake.stop();
  await page.locator('[data-banner=lost]').waitFor();
  await fake.start();
  await page.locator('html[data-link=up]').waitFor();
  fake.calls([call({ seq: 4, call: 'run1-4' })]);
  await page.locator('[data-call=run1-4]').waitFor();
  expect(await cards.count()).toBe(4);
  fake.live(snapshot({ instance: 'run2', uptime_ms: 1000 }));
  await cards.first().waitFor({ state: 'detached' });
  expect(await cards.count()).toBe(0);
});

test('one dashboard too many asks now and then, says so, and takes up the stream when there is room', async () => {
  const fake = await proxy();
  fake.full = true;
  const page = await openPage(fake.url, {}, true);
  await page.locator('[data-banner=crowded]').waitFor();
  expect(await page.locator('[data-banner=lost]').count()).toBe(0);
  const cards = page.locator('.call');
  await expect.poll(() => cards.count()).toBe(3);
  fake.calls([call({ seq: 4, call: 'run1-4' })]);
  fake.live(later({ draining: true }));
  await page.locator('[data-call=run1-4]').waitFor();
  await page.locator('[data-banner=draining]').waitFor();
  fake.full = false;
  await page.locator('html[data-link=up]').waitFor();
  expect(await page.locator('[data-banner=crowded]').count()).toBe(0);
  expect(await cards.count()).toBe(4);
});

test('a waterfall shows when each attempt was, what it waited for and whose answer the client got', async () => {
  const { url } = await proxy();
  const page = await openPage(url);
  const lanes = page.locator('[data-call=run1-1] .lane');
  await lanes.nth(1).waitFor();
  const track = await lanes.nth(1).locator('.track').boundingBox();
  const bar = await lanes.nth(1).locator('.fill').boundingBox();
  const gap = await lanes.nth(1).locator('.gap.backoff').boundingBox();
  if (track === null || bar === null || gap === null) throw new Error('something is not drawn');
  // Of 80 ms the first attempt took 10, the backoff 50, the second attempt 20.
  expect((bar.x - track.x) / track.width).toBeCloseTo(60 / 80, 2);
  expect(bar.width / track.width).toBeCloseTo(20 / 80, 2);
  expect((gap.x - track.x) / track.width).toBeCloseTo(10 / 80, 2);
  expect(gap.width / track.width).toBeCloseTo(50 / 80, 2);
  expect(await lanes.first().textContent()).toContain('UNAVAILABLE');
  expect(await lanes.nth(1).textContent()).toContain('◀');
  expect(await page.locator('[data-call=run1-2] .fill.cancelled').count()).toBe(2);
});

describe('what is said above everything else', () => {
  test.each([
    ['draining', { draining: true }, 'The proxy is draining: 2 calls left.'],
    [
      'rejected',
      { config: { path: 'service-config.json', version: '4c7d', rejected: true } },
      'service-config.json has changed and was not taken: it is not valid. Version 4c7d stays in force; /config tells what is wrong.',
    ],
    [
      'parked',
      {
        backends: [
          backendRow({ name: 'elm', state: 'parked', why: '3 attempts in a row failed there', parked_for_ms: 21_000 }),
        ],
      },
      'Parked: elm for 21 s (3 attempts in a row failed there).',
    ],
  ] as const)('%s', async (id, rest, text) => {
    const fake = await proxy(snapshot(rest));
    const page = await openPage(fake.url);
    const banner = page.locator(`[data-banner=${id}]`);
    await banner.waitFor();
    expect(await banner.textContent()).toBe(text);
    fake.live(later({}));
    await banner.waitFor({ state: 'detached' });
  });

  test('a screen reader hears of changes of state alone', async () => {
    const fake = await proxy();
    const page = await openPage(fake.url);
    await page.locator('html[data-level=ok]').waitFor();
    await page.evaluate(() => {
      const heard: string[] = [];
      Object.assign(window, { heard });
      const live = document.querySelector('[aria-live]');
      if (live !== null)
        new MutationObserver(() => heard.push(live.textContent ?? '')).observe(live, { childList: true });
    });
    // The sentence is another one each time, and all is well still.
    fake.live(later({ calls: { ...noCalls, ended: 100, ok: 100, saved: 1 } }));
    fake.live(later({ calls: { ...noCalls, ended: 200, ok: 200, saved: 9 }, uptime_ms: 62_000 }));
    await page.locator('h1', { hasText: 'retries saved 4.5 %' }).waitFor();
    fake.live(later({ draining: true, uptime_ms: 63_000 }));
    await page.locator('html[data-level=warn]').waitFor();
    const heard = await page.evaluate(() => (window as unknown as { heard: string[] }).heard);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatch(/draining/i);
    expect(await page.locator('[aria-live], [role=status], [role=alert]').count()).toBe(1);
  });
});

describe('light and dark', () => {
  test('as the system has it, until somebody chooses, and from then on', async () => {
    const { url } = await proxy();
    const page = await openPage(url, { colorScheme: 'dark' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.locator('html[data-theme=dark]').waitFor();
    const dark = await ground();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.locator('html[data-theme=light]').waitFor();
    expect(await ground()).not.toBe(dark);
    await page.getByRole('button', { name: 'Use the dark theme' }).click();
    expect(await ground()).toBe(dark);
    await page.reload();
    await page.locator('html[data-theme=dark]').waitFor();
    expect(await ground()).toBe(dark);
  });
});

test('what comes from outside is text, never markup', async () => {
  const evil = '<img src=x onerror=alert(1)>';
  const nasty = throttledCall({ method: `/${evil}/x`, message: evil, why: evil, remedy: evil });
  const { url } = await proxy(snapshot({ backends: [backendRow({ name: evil, why: evil })] }), [nasty]);
  const page = await openPage(url);
  await page.locator('.card-head').click();
  await page.locator('dialog[open]').waitFor();
  expect(await page.locator('#calls img, #backends img, #detail img').count()).toBe(0);
  expect(await page.locator('#detail').textContent()).toContain(evil);
});

test.each([360, 768])('%s px wide nothing is cut off sideways', async (width) => {
  const { url } = await proxy();
  const page = await openPage(url, { viewport: { width, height: 800 } });
  await page.locator('.call').first().waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
});

test('the charts say the same in a table', async () => {
  const fake = await proxy(snapshot({ uptime_ms: 5000, calls: { ...snapshot().calls, ended: 100, ok: 99, saved: 4 } }));
  const page = await openPage(fake.url);
  const row = (name: string) => page.locator('#charts-table tr', { hasText: name }).locator('td').textContent();
  await expect.poll(() => row('Success, with policy')).toBe('99 %');
  expect(await row('Success, without')).toBe('95 %');
  expect(await row('Calls per second')).toBe('20');
  expect(await row('Retry tokens, retries stop at')).toBe('5');
});
