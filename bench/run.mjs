/**
 * `npm run bench`: hedgerow and what one could run instead, in one run, on one machine, behind the same client and in front of
 * the same backend. Rounds are interleaved, figures are medians with the least and the most beside them. A whole run writes
 * bench/RESULTS.md and bench/pictures; any other writes bench/out.
 *
 *   --only ROW,…   --rounds N (5)   --seconds S (2.2, a round, at least)   --peers KEY,…   --smoke   --list
 *
 * `--smoke` is short and asserts nothing but that each row runs.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contenders } from './contenders.mjs';
import { figure, markdown } from './figures/table.mjs';
import { summary, writeReport } from './report.mjs';
import { headers, tls } from './rows/cpu-against.mjs';
import { hedging } from './rows/hedging.mjs';
import { large } from './rows/large.mjs';
import { many, memory } from './rows/memory.mjs';
import { open } from './rows/open.mjs';
import { scale } from './rows/scale.mjs';
import { single } from './rows/single.mjs';
import { start } from './rows/start.mjs';
import { telemetry } from './rows/telemetry.mjs';
import { unary } from './rows/unary.mjs';
import { workers } from './rows/workers.mjs';
import { h2loadVersion, machine } from './stage/accounts.mjs';
import { endAll } from './stage/processes.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
/** In the order of their run: `open` goes by what `unary` found. */
const rows = [unary, telemetry, single, open, large, headers, tls, memory, many, workers, start, scale, hedging];

/** Wrong usage: one line, exit code 2. */
class Usage extends Error {}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string' },
        peers: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        smoke: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string | undefined} text @param {readonly string[]} known @param {string} what */
function chosen(text, known, what) {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  for (const name of names)
    if (!known.includes(name)) throw new Usage(`no ${what} is called ${name}; there are ${known.join(', ')}`);
  return known.filter((name) => names.includes(name));
}

/** @param {string | undefined} text @param {number} otherwise @param {string} flag */
function positive(text, otherwise, flag) {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0)) throw new Usage(`${flag} takes a number above 0, not ${text}`);
  return value;
}

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

async function main() {
  const options = readOptions();
  if (options.list) {
    for (const { id, what } of rows) say(`${id.padEnd(10)} ${what}`);
    return 0;
  }
  const all = contenders();
  const keys = chosen(
    options.peers,
    all.map(({ key }) => key),
    'peer',
  );
  const wanted = chosen(
    options.only,
    rows.map(({ id }) => id),
    'row',
  );
  const { smoke } = options;
  /** @type {import('./stage/rounds.mjs').Bench} */
  const bench = {
    smoke,
    rounds: Math.ceil(positive(options.rounds, smoke ? 1 : 5, '--rounds')),
    seconds: positive(options.seconds, smoke ? 0 : 2.2, '--seconds'),
    contenders: all.filter(({ key }) => keys.includes(key)),
    raw: {},
    haproxyRate: null,
  };
  const begun = new Date();
  const given = process.argv.slice(2);
  const command = given.length === 0 ? 'npm run bench' : `npm run bench -- ${given.join(' ')}`;
  const facts = [
    `Machine: ${machine()}.  `,
    `Begun ${begun.toISOString().slice(0, 16).replace('T', ' ')} UTC by \`${command}\`: medians of ${bench.rounds} interleaved rounds (least–most).  `,
    `Client: ${h2loadVersion === null ? 'our own, h2load is not installed' : `h2load ${h2loadVersion}`}. ${versions(bench.contenders)}.  `,
    'CPU is the kernel’s account of the proxy’s process, all threads. Client and backend stand on the same machine: compare within one run only.',
  ];
  if (smoke) facts.push('', 'A smoke run, of a few calls a row: its figures mean nothing.');
  for (const fact of facts) say(fact.trim());

  /** @type {import('./stage/section.mjs').Section[]} */
  const sections = [];
  /** @type {string[]} */
  const failed = [];
  for (const { id, run } of rows.filter((row) => wanted.includes(row.id))) {
    const from = performance.now();
    try {
      const found = await run(bench);
      sections.push(...found);
      for (const section of found) {
        say(`\n## ${section.title}\n${section.notes.join('\n')}`);
        if (section.rows.length > 0) say(markdown(section.columns, section.rows));
      }
    } catch (error) {
      failed.push(id);
      say(`\n## ${id}: failed: ${error instanceof Error ? error.message : error}`);
    }
    endAll();
    say(`(${id}: ${figure((performance.now() - from) / 1000)} s)`);
  }
  say(`\n${summary(sections.flatMap(({ verdicts }) => verdicts))}`);

  const out = path.join(here, 'out');
  const whole = !smoke && failed.length === 0 && wanted.length === rows.length && keys.length === all.length;
  const dir = whole ? here : out;
  mkdirSync(out, { recursive: true });
  writeFileSync(path.join(out, 'results.json'), JSON.stringify({ facts, raw: bench.raw }, null, 1));
  writeReport(dir, facts, sections);
  say(
    `\n${path.relative(process.cwd(), path.join(dir, 'RESULTS.md'))}, after ${figure((Date.now() - begun.getTime()) / 1000)} s`,
  );
  if (failed.length > 0) process.stderr.write(`bench: failed: ${failed.join(', ')}\n`);
  return failed.length === 0 ? 0 : 1;
}

/** @param {readonly import('./stage/contender.mjs').Contender[]} list */
function versions(list) {
  return list.map(({ name, version, missing }) => `${name}: ${version ?? missing}`).join('; ');
}

main().then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
    process.exit(error instanceof Usage ? 2 : 1);
  },
);
