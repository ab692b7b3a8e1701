import { readFileSync, writeFileSync } from 'node:fs';
import type { End } from './client-attacks.js';
import type { Honest } from './rig.js';

/** One attack, measured. Times in milliseconds, `growth` in bytes. */
export interface Row {
  readonly name: string;
  readonly end: End;
  readonly closedAfter: number | null;
  readonly closed: number;
  readonly growth: number;
  readonly before: Honest;
  readonly during: Honest;
  readonly after: Honest;
  /** What the log said of it; null: nothing was to be said. */
  readonly words: string | null;
}

const head = [
  'attack',
  'its connection',
  'memory',
  'honest calls',
  'failed',
  'p99 alone',
  'p99 attacked',
  'past the proxy',
];
const page = new URL('../../docs/limits.md', import.meta.url);

function cells({ name, closedAfter, closed, growth, before, during, after }: Row): string[] {
  const times = closed > 1 ? `, ${closed} times` : '';
  return [
    name,
    closedAfter === null ? 'held' : `closed after ${Math.round(closedAfter)} ms${times}`,
    `${growth > 0 ? '+' : ''}${(growth / 1024 / 1024).toFixed(1)} MiB`,
    String(during.calls + after.calls),
    String(during.failed + after.failed),
    `${before.p99.toFixed(1)} ms`,
    `${during.p99.toFixed(1)} ms`,
    `${during.yardstick.toFixed(1)} ms`,
  ];
}

/** Prints both tables; with ATTACK_WRITE=1 docs/limits.md keeps them. */
export function showTable(rows: readonly Row[]): void {
  const table = lay([head, ...rows.map(cells)]);
  const told = rows.flatMap(({ name, words }) =>
    words === null ? [] : [[name, `\`${words.replaceAll(/(127\.0\.0\.1):\d+/g, '$1:PORT')}\``]],
  );
  const words = lay([['attack', 'the log says'], ...told]);
  process.stdout.write(`\n${table}\n\n${words}\n`);
  if (process.env['ATTACK_WRITE'] !== '1') return;
  const text = readFileSync(page, 'utf8');
  writeFileSync(page, put(put(text, 'attacks', table), 'attack lines', words));
}

function lay([first = [], ...rest]: readonly (readonly string[])[]): string {
  const rows = [first, first.map(() => '---'), ...rest];
  return rows
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n')
    .replaceAll(' --- ', '---');
}

function put(text: string, what: string, table: string): string {
  const [begin, finish] = [`<!-- ${what}: begin -->`, `<!-- ${what}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(finish)];
  if (from < 0 || to < from) throw new Error(`docs/limits.md has no ${begin} … ${finish}`);
  return `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`;
}
