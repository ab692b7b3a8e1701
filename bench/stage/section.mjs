/**
 * What a row of the bench hands back.
 *
 * @typedef {object} Verdict one line of the summary
 * @property {string} measure
 * @property {string} must
 * @property {string} hope
 * @property {string} measured
 * @property {boolean | null} reached null: not measured
 *
 * @typedef {object} Section
 * @property {string} id names its picture
 * @property {string} title
 * @property {readonly string[]} notes
 * @property {readonly string[]} columns
 * @property {readonly (readonly string[])[]} rows
 * @property {import('../figures/picture.mjs').Picture | null} picture
 * @property {readonly Verdict[]} verdicts
 *
 * @typedef {{ id: string, what: string, run: (bench: import('./rounds.mjs').Bench) => Promise<Section[]> }} Row
 */
import { ratios } from '../figures/statistics.mjs';
import { figure, ranged, reaches } from '../figures/table.mjs';

/**
 * @param {string} measure @param {import('../figures/table.mjs').Bound} bound
 * @param {import('../figures/statistics.mjs').Spread | number} value
 * @param {{ hope?: string, unit?: string, absent?: string }} words `absent`: what is said where there is no figure
 * @returns {Verdict}
 */
export function verdict(measure, bound, value, { hope = '', unit = '', absent = 'not measured' } = {}) {
  const number = typeof value === 'number' ? value : value.median;
  const must = [
    ...(bound.atMost === undefined ? [] : [`≤ ${bounded(bound.atMost)}`]),
    ...(bound.atLeast === undefined ? [] : [`≥ ${bounded(bound.atLeast)}`]),
  ].join(', ');
  const text = typeof value === 'number' ? figure(value) : ranged(value);
  return {
    measure,
    must: must + unit,
    hope,
    measured: Number.isFinite(number) ? text + unit : absent,
    reached: reaches(number, bound),
  };
}

/** @param {number} value */
function bounded(value) {
  return String(Math.round(value * 1000) / 1000);
}

/**
 * Ours over theirs, as a verdict.
 * @template T @param {string} measure @param {import('../figures/table.mjs').Bound} bound
 * @param {Map<string, T[]>} results @param {{ ours: string, theirs: string }} names @param {(round: T) => number} of
 * @param {{ hope?: string }} words
 */
export function against(measure, bound, results, { ours, theirs }, of, words = {}) {
  const [a, b] = [ours, theirs].map((name) => (results.get(name) ?? []).map(of));
  return verdict(measure, bound, ratios(a ?? [], b ?? []), {
    ...words,
    absent: b?.length === 0 ? `${theirs} is not here` : 'no figure',
  });
}

/**
 * @param {string} title @param {string} unit @param {'less' | 'more'} better
 * @param {import('../figures/picture.mjs').Bar[]} bars @param {number} [bound]
 * @returns {import('../figures/picture.mjs').Picture}
 */
export function picture(title, unit, better, bars, bound) {
  return { title, unit, better, bars, ...(bound === undefined ? {} : { bound }) };
}
