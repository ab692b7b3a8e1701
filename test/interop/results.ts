import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Case } from '../differences/case-format.js';
import type { PeerKind } from './peer.js';
import { type Standing, standing } from './standing.js';

/** `test/differences/results/IMPLEMENTATION.json`. */
export interface Results {
  readonly name: PeerKind['name'];
  readonly version: string;
  /** By case, in the order of the data. */
  readonly cases: Readonly<Record<string, Standing>>;
}

const root = path.resolve(import.meta.dirname, '../..');
const page = path.join(root, 'docs/interop.md');
const begin = '<!-- begin: npm run test:interop writes this -->';
const end = '<!-- end -->';

export function resultsOf(name: PeerKind['name'], version: string, cases: readonly Case[]): Results {
  return { name, version, cases: Object.fromEntries(cases.map((script) => [script.id, standing(script, name)])) };
}

function fileOf(name: string): string {
  return path.join(root, 'test/differences/results', `${name}.json`);
}

/** What the repository holds; null: nothing yet. */
export function keptResults(name: PeerKind['name']): unknown {
  try {
    return JSON.parse(readFileSync(fileOf(name), 'utf8'));
  } catch {
    return null;
  }
}

export function keptTable(): string {
  const text = readFileSync(page, 'utf8');
  return text.slice(text.indexOf(begin) + begin.length, text.indexOf(end)).trim();
}

/** Writes what `keptResults` and `keptTable` then read. */
export function keep(all: readonly Results[], cases: readonly Case[]): void {
  for (const results of all) writeFileSync(fileOf(results.name), `${JSON.stringify(results, undefined, 2)}\n`);
  const text = readFileSync(page, 'utf8');
  const table = `${begin}\n\n${tableOf(all, cases)}\n\n`;
  writeFileSync(page, text.slice(0, text.indexOf(begin)) + table + text.slice(text.indexOf(end)));
}

/** Counts, the reasons of n/a, then a row for each case where an implementation differs. */
export function tableOf(all: readonly Results[], cases: readonly Case[]): string {
  const counts = all.map((results) => {
    const found = Object.values(results.cases);
    const skips = found.filter((it) => 'skipped' in it).length;
    const agree = found.filter((it) => 'agrees' in it && it.agrees).length;
    return `| ${results.name} | ${results.version} | ${found.length} | ${agree} | ${found.length - agree - skips} | ${skips} |`;
  });
  const rows = cases.flatMap(({ id, clause }) => {
    const cells = all.map((results) => cell(results.cases[id]));
    return all.some((results) => isDifferent(results.cases[id]))
      ? [`| ${id} | ${clause} | ${cells.join(' | ')} |`]
      : [];
  });
  const names = all.map(({ name }) => name);
  return [
    '| channel | version | cases | agree | differ | n/a |',
    '|---|---|---|---|---|---|',
    ...counts,
    '',
    ...all.flatMap(reasons),
    '',
    `| case | clause | ${names.join(' | ')} |`,
    `|---|---|${names.map(() => '---|').join('')}`,
    ...rows,
  ].join('\n');
}

function isDifferent(standing: Standing | undefined): boolean {
  return standing !== undefined && 'agrees' in standing && !standing.agrees;
}

/** Why cases are n/a, each reason with its count. */
function reasons({ name, cases }: Results): string[] {
  const counts = new Map<string, number>();
  for (const standing of Object.values(cases))
    if ('skipped' in standing) counts.set(standing.skipped, (counts.get(standing.skipped) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `- ${name}, ${count} n/a: ${reason}.`);
}

function cell(standing: Standing | undefined): string {
  if (standing === undefined) return '';
  if ('skipped' in standing) return 'n/a';
  return (standing.agrees ? 'agrees' : standing.says).replaceAll('|', '\\|');
}
