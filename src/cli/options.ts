import { type FlagShape, readFlags } from '../config/flags.js';
import { quote } from '../config/quote.js';
import { integer } from '../config/setting-kinds.js';
import { settingTable } from '../config/settings.js';
import type { CheckOptions } from './check.js';

/** A flag that one command alone has: neither a key of the settings file nor a variable. */
export interface CommandFlag {
  readonly name: string;
  readonly metavar: string | null;
  readonly help: string;
}

const json: CommandFlag = { name: 'json', metavar: null, help: 'Print the findings as a JSON array.' };
const strict: CommandFlag = { name: 'strict', metavar: null, help: 'Fail on warnings too.' };
export const attempts: CommandFlag = {
  name: 'max-attempts-limit',
  metavar: 'N',
  help: `The cap on maxAttempts that the proxy will run with. [${settingTable.maxAttemptsLimit.initial}; 1 to 1000]`,
};
const calls: CommandFlag = { name: 'calls', metavar: 'N', help: 'Make so many calls and end. [no end; 1 to 1000000]' };

const admin: CommandFlag = {
  name: 'admin',
  metavar: 'ADDR|off',
  help: 'Where the dashboard is served. [127.0.0.1:9901, or another port where that is taken]',
};

export const checkFlags: readonly CommandFlag[] = [json, strict, attempts];
export const demoFlags: readonly CommandFlag[] = [calls, admin];

export interface DemoOptions {
  /** Null: until interrupted. */
  readonly calls: number | null;
  /** An address to listen at, or `off`; null: wherever there is room. */
  readonly admin: string | null;
}

export type Options<T> = { readonly ok: true; readonly options: T } | { readonly ok: false; readonly problem: string };

export function shapesOf(flags: readonly CommandFlag[]): ReadonlyMap<string, FlagShape> {
  return new Map(
    flags.map(({ name, metavar }) => [name, { value: metavar === null ? 'none' : 'required', bare: null, words: [] }]),
  );
}

/** --max-attempts-limit of a command that reads a service config as `serve` would. @param text null: not given */
export function readAttemptsLimit(text: string | null): Options<number> {
  const { initial, kind } = settingTable.maxAttemptsLimit;
  const limit = kind.fromText(text ?? initial);
  if (!limit.ok) return { ok: false, problem: `--${attempts.name} ${quote(text ?? initial)}: ${limit.problem}` };
  return { ok: true, options: limit.value };
}

/** `check FILE [--json] [--strict] [--max-attempts-limit N]` */
export function readCheckOptions(argv: readonly string[]): Options<CheckOptions & { readonly file: string }> {
  const read = readFlags(argv, shapesOf(checkFlags));
  if (!read.ok) return read;
  const { values, positionals } = read.flags;
  const [file, second] = positionals;
  if (file === undefined || file === '') return { ok: false, problem: 'no file; write hedgerow check FILE' };
  if (second !== undefined) return { ok: false, problem: `one file at a time; ${quote(second)} is a second one` };
  const limit = readAttemptsLimit(values.get(attempts.name)?.at(-1) ?? null);
  if (!limit.ok) return limit;
  const maxAttemptsLimit = limit.options;
  const options = { file, json: values.has(json.name), strict: values.has(strict.name), maxAttemptsLimit };
  return { ok: true, options };
}

/** `demo [--calls N] [--admin ADDR|off]` */
export function readDemoOptions(argv: readonly string[]): Options<DemoOptions> {
  const read = readFlags(argv, shapesOf(demoFlags));
  if (!read.ok) return read;
  const [stray] = read.flags.positionals;
  if (stray !== undefined) return { ok: false, problem: `unexpected argument ${quote(stray)}` };
  const text = read.flags.values.get(calls.name)?.at(-1);
  const address = read.flags.values.get(admin.name)?.at(-1) ?? null;
  const where = address === null ? null : settingTable.admin.kind.fromText(address);
  if (address !== null && where?.ok === false)
    return { ok: false, problem: `--${admin.name} ${quote(address)}: ${where.problem}` };
  if (text === undefined) return { ok: true, options: { calls: null, admin: address } };
  const count = integer(1, 1_000_000).fromText(text);
  if (!count.ok) return { ok: false, problem: `--${calls.name} ${quote(text)}: ${count.problem}` };
  return { ok: true, options: { calls: count.value, admin: address } };
}
