/** Numbers and tables as text. Pure. */

/** Three digits that count, no more: rounds differ by more than the fourth. @param {number} value */
export function figure(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1000) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ');
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 || size === 0 ? 2 : 3);
}

/** The median and, in brackets, the least and the most of the rounds. @param {import('./statistics.mjs').Spread} spread */
export function ranged({ median, low, high, rounds }) {
  if (rounds === 0) return '–';
  return rounds === 1 ? figure(median) : `${figure(median)} (${figure(low)}–${figure(high)})`;
}

/** @param {readonly string[]} columns @param {readonly (readonly string[])[]} rows */
export function markdown(columns, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(columns), `|${columns.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** @param {string} text */
function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|');
}

/**
 * Whether a measure reached its bound.
 * @param {number} value @param {{ atMost?: number, atLeast?: number }} bound
 * @returns {boolean | null} null: there is no figure
 */
export function reaches(value, { atMost, atLeast }) {
  if (!Number.isFinite(value)) return null;
  return (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);
}
