import type { LiveSnapshot } from '../admin/live.js';
import { headline, spanOf } from '../admin/live-math.js';
import { shortMethod, span } from '../text/words.js';
import { backendTable } from './backend-rows.js';
import { type Banner, bannersOf, type Link } from './banners.js';
import { createCallsView } from './calls-view.js';
import { createCharts } from './charts.js';
import { openDetail } from './detail-view.js';
import { byId, element, scrollable, setText } from './dom.js';
import { causesOf, endsOf, type Figure, feltOf, methodRows, periodWords } from './figures.js';
import { showRows } from './grid.js';
import { baseOf, type History, remember } from './history.js';
import { append, type Point, pointOf } from './series.js';
import { follow } from './stream.js';
import { currentTheme, onSystemTheme, toggleTheme } from './theme.js';

/* The page: what comes from the proxy is kept here, shown by the views. */

let history: History = [];
let points: readonly Point[] = [];
let link: Link = 'up';
let announced = '';
let shownBanners = '';

const charts = createCharts();
const calls = createCallsView(openDetail);

function last(): LiveSnapshot | null {
  return history.at(-1) ?? null;
}

function takeLive(snapshot: LiveSnapshot): void {
  if (last()?.instance !== snapshot.instance) {
    points = [];
    calls.clear();
  }
  history = remember(history, snapshot);
  const point = pointOf(history);
  if (point !== null) points = append(points, point);
  charts.show(points);
  showSnapshot(snapshot);
  showBanners();
}

function showSnapshot(snapshot: LiveSnapshot): void {
  const base = baseOf(history);
  const period = spanOf(snapshot, base);
  const { level, text } = headline(snapshot, base);
  setText(byId('health'), text);
  document.documentElement.dataset['level'] = level;
  setText(byId('health-mark'), { ok: '✓', warn: '!', bad: '✕' }[level]);
  setText(byId('period'), `Figures are ${periodWords(period, base === null)}.`);
  announce(level, text);
  const felt = feltOf(period);
  figure('success', felt.success);
  figure('success-without', felt.successWithout);
  figure('p99', felt.p99);
  figure('p99-without', felt.p99Without);
  const ends = period === null ? [] : endsOf(period, 5);
  const rows = ends.map(({ name, count }) =>
    tally(count, element('a', { text: name, attributes: { href: `troubleshooting#${name}` } })),
  );
  byId('ends').replaceChildren(
    ...orNone(rows, period === null || period.calls.ended === 0 ? 'No calls yet.' : 'Every call ended OK.'),
  );
  showBackends(snapshot);
  showMethods(snapshot, base);
  const { version, instance, uptime_ms, config } = snapshot;
  setText(byId('version'), version);
  setText(
    byId('run'),
    `${config.version === '' ? '' : `config ${config.version} · `}run ${instance} · up ${span(uptime_ms)}`,
  );
}

function figure(id: string, { value, note }: Figure): void {
  setText(byId(id), value);
  setText(byId(`${id}-note`), note);
}

function tally(count: number, ...what: readonly (Node | string)[]): HTMLElement {
  return element('li', { children: [element('b', { text: String(count) }), element('span', { children: what })] });
}

function orNone(rows: readonly HTMLElement[], words: string): readonly HTMLElement[] {
  return rows.length > 0 ? rows : [element('li', { class: 'quiet', text: words })];
}

function showCauses(): void {
  const rows = causesOf(calls.kept, 5).map(({ method, why, count }) =>
    tally(count, `${shortMethod(method)} `, element('span', { class: 'quiet', text: why })),
  );
  byId('causes').replaceChildren(...orNone(rows, 'None of the calls that are kept was tried again.'));
}

function showBackends(snapshot: LiveSnapshot): void {
  const { lines, more } = backendTable(snapshot, link);
  const rows = lines.map((line) => [
    { text: line.name, title: line.address },
    { text: line.state, class: `state ${line.tone}` },
    { text: line.why, class: 'long' },
    { text: line.since },
    { text: line.inFlight, class: 'number' },
    { text: line.failureRate, class: 'number' },
    { text: line.answersIn, class: 'number' },
    { text: line.next, class: 'number' },
  ]);
  showRows(byId('backends'), rows);
  setText(byId('backends-more'), more === 0 ? '' : `and ${more} more, none of them in a worse state`);
}

function showMethods(snapshot: LiveSnapshot, base: LiveSnapshot | null): void {
  const rows = methodRows(snapshot, base).map((row) => [
    { text: row.name, title: row.method },
    { text: row.calls, class: 'number' },
    { text: row.success, class: 'number' },
    { text: row.successWithout, class: 'number' },
    { text: row.retried, class: 'number' },
    { text: row.hedged, class: 'number' },
  ]);
  showRows(byId('methods'), rows);
}

function showBanners(): void {
  const banners = bannersOf(last(), link);
  const key = banners.map(({ id, text }) => id + text).join('\n');
  if (key === shownBanners) return;
  shownBanners = key;
  byId('banners').replaceChildren(...banners.map(drawBanner));
}

function drawBanner({ id, tone, text }: Banner): HTMLElement {
  return element('p', { class: `banner ${tone}`, text, attributes: { 'data-banner': id } });
}

/** A screen reader hears of changes of state alone: the figures change each second. */
function announce(state: string, text: string): void {
  if (state === announced) return;
  announced = state;
  setText(byId('announcer'), text);
}

const linkWords = { up: 'live', crowded: 'each 2 s', lost: 'connection lost' } as const;

function showLink(state: Link): void {
  link = state;
  document.documentElement.dataset['link'] = state;
  setText(byId('link'), linkWords[state]);
  if (state === 'lost') announce('lost', 'Connection to the proxy lost, trying again.');
  if (state === 'crowded') announce('crowded', 'Too many dashboards are open, asking now and then.');
  const snapshot = last();
  if (snapshot !== null) showBackends(snapshot);
  showBanners();
}

function showTheme(): void {
  setText(byId('theme'), currentTheme() === 'dark' ? 'Light' : 'Dark');
  byId('theme').setAttribute('aria-label', `Use the ${currentTheme() === 'dark' ? 'light' : 'dark'} theme`);
  charts.repaint();
}

byId('theme').addEventListener('click', () => {
  toggleTheme();
  showTheme();
});
onSystemTheme(showTheme);
document.querySelector('.skip')?.addEventListener('click', (event) => {
  // The hash is the filter's.
  event.preventDefault();
  byId('calls').focus();
});
for (const frame of document.querySelectorAll('.scroll')) scrollable(frame);
showTheme();
showCauses();
follow({
  onLive: takeLive,
  onCalls(fresh) {
    calls.add(fresh);
    showCauses();
  },
  onLink: showLink,
});
