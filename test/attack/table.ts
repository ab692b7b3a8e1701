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
const begin = '<!-- attacks: begin -->';
const finish = '<!-- attacks: end -->';
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

/** Prints the table; with ATTACK_WRITE=1 docs/limits.md keeps it. */
export function showTable(rows: readonly Row[]): void {
  const lines = [head, head.map(() => '---'), ...rows.map(cells)].map((line) => `| ${line.join(' | ')} |`);
  const table = lines.join('\n').replace(/ --- /g, '---');
  process.stdout.write(`\n${table}\n`);
  if (process.env['ATTACK_WRITE'] !== '1') return;
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(finish)];
  if (from < 0 || to < from) throw new Error(`docs/limits.md has no ${begin} … ${finish}`);
  writeFileSync(page, `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`);
}
