/**
 * Operations a second of small cases, interleaved, with the spread of the rounds.
 *
 * Plain scripts over the built files: a test runner's transform turns each imported binding into a getter, which alone costs
 * more than much of what is measured here.
 */
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { spread } from '../figures/statistics.mjs';
import { figure, markdown, ranged } from '../figures/table.mjs';

/** @typedef {{ name: string, run: (operations: number) => void }} Case */

const rounds = 9;
/** A round of a case is made about so long (ms). */
const target = 25;

/** A module of the built program; the script's first argument may name another build. @param {string} file */
export function fromBuild(file) {
  const dist = process.argv[2] ?? fileURLToPath(new URL('../../dist', import.meta.url));
  return import(pathToFileURL(path.resolve(dist, file)).href);
}

/** Milliseconds. @param {Case} one @param {number} operations */
function time({ run }, operations) {
  const begin = process.hrtime.bigint();
  run(operations);
  return Number(process.hrtime.bigint() - begin) / 1e6;
}

/** Prints a table. @param {string} title @param {readonly Case[]} cases */
export function measure(title, cases) {
  const sized = cases.map((one) => {
    let operations = 64;
    // Warms up, and finds how many fill a round.
    for (let took = time(one, operations); took < target; took = time(one, operations)) operations *= 2;
    return { one, operations, rates: [0].slice(1), times: [0].slice(1) };
  });
  for (let round = 0; round < rounds; round += 1) {
    for (const { one, operations, rates, times } of sized) {
      const took = time(one, operations);
      rates.push((operations * 1000) / took);
      times.push((took * 1e6) / operations);
    }
  }
  const rows = sized.map(({ one, rates, times }) => [one.name, ranged(spread(rates)), figure(spread(times).median)]);
  process.stdout.write(`\n${title}\n\n${markdown(['case', 'ops/s, median (least–most)', 'ns'], rows)}\n`);
}
