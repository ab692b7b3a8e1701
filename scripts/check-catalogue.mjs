/**
 * Holds docs/semantics.md against the tests: each id has a passed test, each id that a test's name begins with is in the
 * catalogue or of a family that is cited freely.
 * `node scripts/check-catalogue.mjs REPORT... [--catalogue FILE]`; a REPORT is what vitest's JSON reporter wrote.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals: reports } = parseArgs({
  allowPositionals: true,
  options: { catalogue: { type: 'string', default: 'docs/semantics.md' } },
});
if (reports.length === 0) {
  process.stderr.write('usage: node scripts/check-catalogue.mjs REPORT... [--catalogue FILE]\n');
  process.exit(2);
}

/**
 * Families of ids that tests may begin with although they have no rows: what hedgerow settled for itself, and groups that
 * join the catalogue with their features. One that gains a row is held to its rows from then on.
 */
const cited = new Set(['BR', 'CON', 'DIS', 'HDG', 'PB', 'PRX', 'THR']);

/** @type {Set<string>} */
const catalogue = new Set();
/** @type {Set<string>} */
const problems = new Set();
for (const line of readFileSync(values.catalogue, 'utf8').split('\n')) {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  const id = cells[1] ?? '';
  if (!line.startsWith('|') || !/\d/.test(id) || id.includes(' ')) continue;
  if (!/^[A-Z]+-\d+$/.test(id)) problems.add(`${values.catalogue}: ${id} is not an id: it is written like SM-01`);
  if (catalogue.has(id)) problems.add(`${values.catalogue}: ${id} stands twice`);
  if (cells.length !== 5 || cells[2] === '' || cells[3] === '')
    problems.add(`${values.catalogue}: ${id}: a row is | id | situation | what hedgerow does |`);
  catalogue.add(id);
}
if (catalogue.size === 0) problems.add(`${values.catalogue} has no rows`);
const families = new Set([...catalogue].map(familyOf));

/** @param {string} id */
function familyOf(id) {
  return id.slice(0, id.indexOf('-'));
}

/**
 * The ids that a name claims to prove: `SM-01: …`, `SM-01, MD-02: …`. What follows the colon is only spoken of.
 * @param {string} name
 */
function claimed(name) {
  const head = /^(?:[A-Z]+-?\d+)(?:,\s*[A-Z]+-?\d+)*(?=:)/.exec(name)?.[0];
  if (head !== undefined) return head.split(/,\s*/).filter((id) => id.includes('-'));
  const first = /^([A-Z]+)[-_ ]?\d+/i.exec(name);
  if (first?.[1] !== undefined && families.has(first[1].toUpperCase()))
    problems.add(`the test «${name}» begins with ${first[0]}: write the id and a colon, as in SM-01, MD-02: …`);
  return [];
}

/** @type {Set<string>} */
const proven = new Set();
let tests = 0;
for (const report of reports) {
  /** @type {{ testResults: { assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  for (const { ancestorTitles, title, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    tests += 1;
    for (const name of [...ancestorTitles, title]) {
      for (const id of claimed(name)) {
        if (catalogue.has(id)) {
          if (status === 'passed') proven.add(id);
        } else if (families.has(familyOf(id)))
          problems.add(`the test «${name}» names ${id}, which is not in ${values.catalogue}`);
        else if (!cited.has(familyOf(id)))
          problems.add(`the test «${name}» names ${id}, of a family that nobody knows`);
      }
    }
  }
}
for (const id of catalogue) if (!proven.has(id)) problems.add(`${id} has no passed test`);

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${proven.size} of ${catalogue.size} situations proven by ${tests} tests\n`);
process.exitCode = problems.size === 0 ? 0 : 1;
