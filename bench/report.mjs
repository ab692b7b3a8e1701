/** Sections as Markdown, with a picture each. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { barChart } from './figures/picture.mjs';
import { markdown } from './figures/table.mjs';

/** @typedef {import('./stage/section.mjs').Section} Section @typedef {import('./stage/section.mjs').Verdict} Verdict */

/** @param {Verdict} verdict */
function outcome({ reached }) {
  return reached === null ? '–' : reached ? 'yes' : '**no**';
}

/** @param {readonly Verdict[]} verdicts */
export function summary(verdicts) {
  const columns = ['measure', 'must reach', 'hope', 'measured', 'reached'];
  return markdown(
    columns,
    verdicts.map((one) => [one.measure, one.must, one.hope, one.measured, outcome(one)]),
  );
}

/**
 * @param {string} dir where RESULTS.md and its pictures go @param {readonly string[]} facts lines about the run
 * @param {readonly Section[]} sections
 */
export function writeReport(dir, facts, sections) {
  mkdirSync(path.join(dir, 'pictures'), { recursive: true });
  const parts = sections.map((section) => {
    const { id, title, notes, columns, rows, picture } = section;
    const image = picture === null ? [] : [`![${picture.title}](pictures/${id}.svg)`];
    if (picture !== null) writeFileSync(path.join(dir, 'pictures', `${id}.svg`), barChart(picture));
    const table = rows.length === 0 ? [] : [markdown(columns, rows)];
    return [`## ${title}`, ...notes.map((note) => note), ...table, ...image].join('\n\n');
  });
  const verdicts = sections.flatMap((section) => section.verdicts);
  const text = ['# Results', facts.join('\n'), summary(verdicts), ...parts].join('\n\n');
  writeFileSync(path.join(dir, 'RESULTS.md'), `${text}\n`);
}
