/**
 * Holds docs/semantics.md against the tests: each id has a passed test, each id in a test's name is in the catalogue.
 * `node scripts/check-catalogue.mjs REPORT [CATALOGUE]`; REPORT is what vitest's JSON reporter wrote.
 */
import { readFileSync } from 'node:fs';

const [reportPath, cataloguePath = 'docs/semantics.md'] = process.argv.slice(2);
if (reportPath === undefined) {
  process.stderr.write('usage: node scripts/check-catalogue.mjs REPORT [CATALOGUE]\n');
  process.exit(2);
}

/** Families whose ids stand in the catalogue; others, such as BR- and PRX-, may be cited freely. */
const families = ['CFG', 'SM', 'BUF', 'MD', 'CAN', 'STR'];
const anyId = new RegExp(`\\b(?:${families.join('|')})-\\d+[a-z]?\\b`, 'g');
/** `SM-01: …` or `SM-01, MD-02: …`: what a test proves; ids further on are only spoken of. */
const leading = /^((?:[A-Z]+-?\d+[a-z]?(?:,\s*)?)+):/;

/** @type {Map<string, string>} id → line of the catalogue */
const catalogue = new Map();
const problems = [];
for (const line of readFileSync(cataloguePath, 'utf8').split('\n')) {
  const id = /^\| ([A-Z]+-\d+) \|/.exec(line)?.[1];
  if (id === undefined) continue;
  if (catalogue.has(id)) problems.push(`${cataloguePath}: ${id} stands twice`);
  if (line.split('|').length < 5)
    problems.push(`${cataloguePath}: ${id}: a row is | id | situation | what hedgerow does |`);
  catalogue.set(id, line);
}

/**
 * @typedef {{ ancestorTitles: string[], title: string, status: string }} Assertion
 * @type {{ testResults: { assertionResults: Assertion[] }[] }}
 */
const report = JSON.parse(readFileSync(reportPath, 'utf8'));
/** @type {Set<string>} */
const proven = new Set();
let tests = 0;
for (const { assertionResults } of report.testResults) {
  for (const { ancestorTitles, title, status } of assertionResults) {
    tests += 1;
    for (const name of [...ancestorTitles, title]) {
      const head = leading.exec(name)?.[1] ?? '';
      for (const id of head.match(anyId) ?? []) {
        if (!catalogue.has(id)) problems.push(`the test «${name}» names ${id}, which is not in ${cataloguePath}`);
        else if (status === 'passed') proven.add(id);
      }
    }
  }
}
for (const id of catalogue.keys()) if (!proven.has(id)) problems.push(`${id} has no passed test`);
if (catalogue.size === 0) problems.push(`${cataloguePath} has no rows`);

for (const problem of [...new Set(problems)]) process.stderr.write(`${problem}\n`);
process.stdout.write(`${proven.size} of ${catalogue.size} situations proven by ${tests} tests\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
