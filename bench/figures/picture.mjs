/** Bar charts as SVG, from numbers alone; legible on light and dark pages. Pure. */
import { figure } from './table.mjs';

const width = 720;
/** Pixels that a letter takes at most, about. */
const letter = 7;
const values = 110;
const rowHeight = 24;
const top = 52;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .note { font-size: 12px; fill: #59636e; }
  .bar { fill: #8c959f; }
  .ours { fill: #1a7f37; }
  .range { stroke: #1f2328; stroke-width: 1.5; }
  .bound { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note { fill: #9198a1; }
    .bar { fill: #656c76; }
    .ours { fill: #3fb950; }
    .range { stroke: #e6edf3; }
    .bound { stroke: #ff7b72; }
  }`;

/** @param {string} text */
export function xmlText(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** @param {import('./picture.mjs').Picture} picture @returns {string} */
export function barChart({ title, unit, better, bars, bound }) {
  const drawn = bars.filter(({ spread }) => Number.isFinite(spread.median));
  const most = Math.max(...drawn.map(({ spread }) => spread.high), bound ?? 0, Number.MIN_VALUE);
  const labels = Math.min(width / 2, Math.max(...bars.map(({ label }) => label.length)) * letter + 16);
  const room = width - labels - values;
  const x = (/** @type {number} */ value) => labels + (Math.max(0, value) / most) * room;
  const height = top + rowHeight * bars.length + 12;
  const rows = bars.map((bar, i) => row(bar, labels, top + i * rowHeight, x));
  const mark = bound === undefined ? '' : `<line class="bound" ${line(x(bound), top - 6, x(bound), height - 8)}/>`;
  const note = `${unit}; ${better} is better${bound === undefined ? '' : `; dashed: ${figure(bound)}`}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${xmlText(title)}</title>
<style>${style}
</style>
<text class="title" x="8" y="20">${xmlText(title)}</text>
<text class="note" x="8" y="38">${xmlText(note)}</text>
${rows.join('\n')}
${mark}
</svg>
`;
}

/** @param {import('./picture.mjs').Bar} bar @param {number} labels @param {number} y @param {(value: number) => number} x */
function row({ label, spread, ours, missing }, labels, y, x) {
  const name = `<text x="${place(labels - 8)}" y="${y + 13}" text-anchor="end">${xmlText(label)}</text>`;
  if (!Number.isFinite(spread.median))
    return `${name}<text class="note" x="${place(labels + 4)}" y="${y + 13}">${xmlText(missing ?? 'no figure')}</text>`;
  const end = x(spread.median);
  const bar = `<rect class="${ours ? 'ours' : 'bar'}" x="${place(labels)}" y="${y}" width="${place(end - labels)}" height="18"/>`;
  const range =
    spread.rounds > 1
      ? `<line class="range" ${line(x(spread.low), y + 9, Math.max(x(spread.high), x(spread.low) + 1), y + 9)}/>`
      : '';
  const words = `<text x="${place(Math.max(end, x(spread.high)) + 6)}" y="${y + 13}">${figure(spread.median)}</text>`;
  return name + bar + range + words;
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(x1, y1, x2, y2) {
  return `x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}"`;
}

/** @param {number} value */
function place(value) {
  return String(Math.round(value * 10) / 10);
}
