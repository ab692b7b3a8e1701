import { readdirSync, readFileSync } from 'node:fs';
import type { Case } from './case-format.js';

const home = new URL('cases/', import.meta.url);

/** Cases of one file. */
export interface CaseGroup {
  /** The file's name without its ending. */
  readonly name: string;
  readonly cases: readonly Case[];
}

/** The files of `cases/`, in the order of their names. */
export const groups: readonly CaseGroup[] = readdirSync(home)
  .filter((name) => name.endsWith('.json'))
  .sort()
  .map((name) => ({
    name: name.slice(0, -'.json'.length),
    cases: JSON.parse(readFileSync(new URL(name, home), 'utf8')) as Case[],
  }));

/** Every case of every group. */
export const cases: readonly Case[] = groups.flatMap((group) => group.cases);
