import type UPlot from 'uplot';
import { amount, briefly } from '../text/words.js';
import { byId, element, setText } from './dom.js';
import { type Point, timeRange } from './series.js';

// uPlot's own file puts its class there; a page without a bundler has no other way to a package by name.
declare global {
  interface Window {
    readonly uPlot: typeof UPlot;
  }
}

interface Line {
  readonly label: string;
  readonly of: (point: Point) => number | null;
  /** A variable of style.css. */
  readonly color: string;
  /** Dashed: what would be, or where a limit is. */
  readonly dashed?: true;
}

interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly words: (value: number) => string;
  /** The span that is always shown, at least. */
  readonly least: readonly [low: number, high: number];
}

const percentWords = (value: number): string => `${Number(value.toFixed(value > 99 && value < 100 ? 2 : 1))} %`;

const charts: readonly Chart[] = [
  {
    title: 'Calls per second',
    lines: [{ label: 'ended', of: (point) => point.callsPerSecond, color: '--line-1' }],
    words: amount,
    least: [0, 1],
  },
  {
    title: 'Success',
    lines: [
      { label: 'with policy', of: (point) => point.success, color: '--line-1' },
      { label: 'without', of: (point) => point.successWithout, color: '--line-2', dashed: true },
    ],
    words: percentWords,
    least: [95, 100],
  },
  {
    title: 'Latency',
    lines: [
      { label: 'p50', of: (point) => point.p50, color: '--line-3' },
      { label: 'p99', of: (point) => point.p99, color: '--line-1' },
      { label: 'p99 unhedged', of: (point) => point.p99Unhedged, color: '--line-2', dashed: true },
    ],
    words: briefly,
    least: [0, 10],
  },
  {
    title: 'Attempts per call',
    lines: [{ label: 'mean', of: (point) => point.attempts, color: '--line-1' }],
    words: (value) => value.toFixed(2),
    least: [1, 1.2],
  },
  {
    title: 'Retry tokens',
    lines: [
      { label: 'tokens', of: (point) => point.tokens, color: '--line-1' },
      { label: 'retries stop at', of: (point) => point.threshold, color: '--line-2', dashed: true },
    ],
    words: amount,
    least: [0, 1],
  },
  {
    title: 'Calls in flight',
    lines: [{ label: 'now', of: (point) => point.inFlight, color: '--line-1' }],
    words: amount,
    least: [0, 4],
  },
];

const height = 132;

/** One chart on the page. */
interface Drawn {
  readonly chart: Chart;
  readonly frame: HTMLElement;
  readonly values: readonly HTMLElement[];
  plot: UPlot | null;
}

/** The small charts, and the table that says the same to whoever cannot see them. */
export interface Charts {
  show(points: readonly Point[]): void;
  /** Draws all anew, in the colours that hold now. */
  repaint(): void;
}

export function createCharts(): Charts {
  const body = byId('charts-table').querySelector('tbody');
  let points: readonly Point[] = [];
  const cells: HTMLElement[] = [];
  const drawn = charts.map((chart): Drawn => {
    const values = chart.lines.map(() => element('output', { class: 'value', text: '–' }));
    const keys = chart.lines.map(({ label, color, dashed }, index) => {
      const swatch = element('i', { class: `key${dashed ? ' dashed' : ''}` });
      swatch.style.setProperty('border-top-color', `var(${color})`);
      return element('span', { class: 'series', children: [swatch, `${label} `, values[index] ?? ''] });
    });
    const frame = element('div', { class: 'plot', attributes: { 'aria-hidden': 'true' } });
    const head = element('div', { class: 'series-row', attributes: { 'aria-hidden': 'true' }, children: keys });
    byId('charts').append(element('figure', { class: 'chart', children: [caption(chart), head, frame] }));
    for (const { label } of chart.lines) {
      const cell = element('td', { text: '–' });
      cells.push(cell);
      const name = element('th', { text: `${chart.title}, ${label}`, attributes: { scope: 'row' } });
      body?.append(element('tr', { children: [name, cell] }));
    }
    return { chart, frame, values, plot: null };
  });

  function values(at: number | null): void {
    const point = at === null ? points.at(-1) : points[at];
    for (const { chart, values: outputs } of drawn) {
      for (const [index, { of }] of chart.lines.entries()) {
        const output = outputs[index];
        if (output !== undefined) setText(output, wordsOf(chart, point === undefined ? null : of(point)));
      }
    }
  }

  const times = (): [number, number] => timeRange(points, Date.now() / 1000);

  function draw(one: Drawn): void {
    const data = dataOf(one.chart, points);
    if (one.plot === null) one.plot = new window.uPlot(optionsOf(one.chart, one.frame, times, values), data, one.frame);
    else one.plot.setData(data);
  }

  const resized = new ResizeObserver(() => {
    for (const { plot, frame } of drawn) plot?.setSize({ width: frame.clientWidth, height });
  });
  for (const { frame } of drawn) resized.observe(frame);

  return {
    show(next) {
      points = next;
      for (const one of drawn) draw(one);
      const pointed = drawn.some(({ plot }) => typeof plot?.cursor.idx === 'number');
      if (!pointed) values(null);
      const last = points.at(-1);
      const texts = drawn.flatMap(({ chart }) =>
        chart.lines.map(({ of }) => wordsOf(chart, last === undefined ? null : of(last))),
      );
      for (const [index, cell] of cells.entries()) setText(cell, texts[index] ?? '–');
    },
    repaint() {
      for (const one of drawn) {
        one.plot?.destroy();
        one.plot = null;
        draw(one);
      }
    },
  };
}

function caption({ title }: Chart): HTMLElement {
  return element('figcaption', { text: title });
}

function wordsOf({ words }: Chart, value: number | null): string {
  return value === null ? '–' : words(value);
}

function dataOf({ lines }: Chart, points: readonly Point[]): UPlot.AlignedData {
  return [points.map(({ at }) => at), ...lines.map(({ of }) => points.map(of))];
}

function optionsOf(
  chart: Chart,
  frame: HTMLElement,
  times: () => [number, number],
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: color('--quiet'), grid: { stroke: color('--grid'), width: 1 }, ticks: { show: false } };
  const font = '11px system-ui, sans-serif';
  return {
    width: frame.clientWidth,
    height,
    legend: { show: false },
    padding: [8, 22, 0, 0],
    cursor: { sync: { key: 'hedgerow' }, drag: { x: false, y: false }, points: { size: 7 } },
    hooks: { setCursor: [({ cursor }) => onPoint(typeof cursor.idx === 'number' ? cursor.idx : null)] },
    scales: {
      // uPlot's own makes a day of a single point.
      x: { range: times },
      y: { range: (_plot, low, high) => rangeOf(chart, low, high) },
    },
    axes: [
      { ...axis, font, size: 24, space: 74, values: (_plot, splits) => splits.map(timeOfDay) },
      { ...axis, font, size: 54, space: 28, values: (_plot, splits) => splits.map((value) => chart.words(value)) },
    ],
    series: [
      {},
      ...chart.lines.map((line): UPlot.Series => {
        const stroke = color(line.color);
        const look = { label: line.label, stroke, width: 1.75, spanGaps: false, points: { show: false } };
        return line.dashed ? { ...look, dash: [5, 4] } : look;
      }),
    ],
  };
}

/** `12:03`, and with seconds where it is no full minute. @param at seconds since 1970 */
function timeOfDay(at: number): string {
  const text = new Date(at * 1000).toTimeString().slice(0, 8);
  return text.endsWith(':00') ? text.slice(0, 5) : text;
}

/** Room above what is drawn; shares end at 100, and none of these is under 0. */
function rangeOf({ least: [low, high] }: Chart, from: number | null, to: number | null): [number, number] {
  const bottom = Math.min(low, from ?? low);
  const top = Math.max(high, to ?? high);
  return [bottom, high === 100 ? 100 : top + (top - bottom) * 0.06];
}
