import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Setting, settingGroups } from '../../../src/config/setting.js';
import { flagOf, settingKeys, settingTable } from '../../../src/config/settings.js';

const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');

/** The tables under `## hedgerow serve`: the heading of each and the rows below the two of its head. */
const documented = (/^## hedgerow serve$([\s\S]*?)^## /m.exec(page)?.[1] ?? '')
  .split(/^### /m)
  .slice(1)
  .map((part) => part.split('\n'))
  .flatMap(([group = '', ...lines]) => lines.filter((line) => line.startsWith('| `--')).map((row) => ({ group, row })));

function rowOf(key: (typeof settingKeys)[number]): { group: string; row: string } {
  const setting: Setting = settingTable[key];
  const { metavar, bare, range } = setting.kind;
  const value = (bare === null ? metavar : `[${metavar}]`).replaceAll('|', '\\|');
  const flag = `\`${flagOf(key)} ${value}\`${setting.arity === 'many' ? ', repeatable' : ''}`;
  return { group: setting.group, row: `| ${flag} | ${initialOf(setting)} | ${range ?? ''} | ${setting.help} |` };
}

function initialOf(setting: Setting): string {
  switch (setting.arity) {
    case 'one':
      return `\`${setting.initial}\``;
    case 'many':
      return setting.initial.map((text) => `\`${text}\``).join(' ');
    case 'optional':
      return setting.shown === null || setting.shown.includes(' ') ? (setting.shown ?? '') : `\`${setting.shown}\``;
    default:
      return setting satisfies never;
  }
}

describe('docs/command-line.md', () => {
  it('has every setting under its group, with its default, its range and its help, in the order of the help', () => {
    const expected = settingGroups.flatMap((group) => settingKeys.map(rowOf).filter((row) => row.group === group));
    expect(documented).toEqual(expected);
  });
});

describe('docs/limits.md', () => {
  it('has a row for every setting of the group Limits', () => {
    const limits = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8');
    const flags = settingKeys.filter((key) => settingTable[key].group === 'Limits').map(flagOf);
    expect(flags.filter((flag) => !limits.includes(`| \`${flag}\` |`))).toEqual([]);
  });
});
