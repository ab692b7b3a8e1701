import { splitHostPort } from './address.js';
import { didYouMean } from './nearest.js';
import type { Parsed } from './parsed.js';
import { quote } from './quote.js';
import { parseTarget, type Target } from './target.js';

/** One `--backend NAME=TARGET[,weight=N][,priority=N][,max-calls=N]`, or one entry of an endpoints file. */
export interface BackendSetting extends BackendOptions {
  /** `[a-z0-9][a-z0-9._-]*`, at most 256 bytes: longer ones could not be pinned; a group's at most 200, for its members. */
  readonly name: string;
  /** As written, without the options. */
  readonly target: string;
  /** Where that leads: to one backend NAME, or to a group whose members are NAME/ADDR. */
  readonly where: Target;
}

export interface BackendOptions {
  /** Its share beside the others', 1 to 1000. */
  readonly weight: number;
  /** 0 to 9; lower ones are used first. */
  readonly priority: number;
  /** Calls in flight there, at most; null: no limit. */
  readonly maxCalls: number | null;
}

const backendName = /^[a-z0-9][a-z0-9._-]{0,255}$/;

/** `/[IPV6%zone]:PORT` has room beside it in the 256 bytes of a pin. */
const longestGroupName = 200;

interface Option {
  readonly key: keyof BackendOptions;
  readonly min: number;
  readonly max: number;
}

/** By their names on the command line; the ranges hold in an endpoints file too. */
export const backendOptions = new Map<string, Option>([
  ['weight', { key: 'weight', min: 1, max: 1000 }],
  ['priority', { key: 'priority', min: 0, max: 9 }],
  ['max-calls', { key: 'maxCalls', min: 1, max: 1_000_000 }],
]) satisfies ReadonlyMap<string, Option>;

export const defaultOptions: BackendOptions = { weight: 1, priority: 0, maxCalls: null };

/** What is wrong with a backend's name; null where nothing is. */
export function nameProblem(name: string): string | null {
  if (backendName.test(name)) return null;
  return `${quote(name)} is not a backend name: a-z, 0-9, ".", "_" and "-", beginning with a letter or digit, at most 256`;
}

/** A name and a target, put together. */
export function joinBackend(name: string, target: string, options: BackendOptions): Parsed<BackendSetting> {
  const where = parseTarget(target);
  if (!where.ok) return where;
  if (where.value.kind !== 'one' && name.length > longestGroupName) {
    return {
      ok: false,
      problem: `the name of a group is at most ${longestGroupName} bytes: its members are NAME/ADDRESS`,
    };
  }
  return { ok: true, value: { name, target, where: where.value, ...options } };
}

/** Reads `NAME=TARGET[,weight=N][,priority=N][,max-calls=N]`. */
export function parseBackend(text: string): Parsed<BackendSetting> {
  const equals = text.indexOf('=');
  if (equals === -1) return { ok: false, problem: 'no name; write NAME=TARGET, like b1=127.0.0.1:50052' };
  const name = text.slice(0, equals);
  const badName = nameProblem(name);
  if (badName !== null) return { ok: false, problem: badName };
  const [first = '', ...rest] = text.slice(equals + 1).split(',');
  // A list of addresses is one target: its commas are not those of the options.
  const listed = /^ipv[46]:/i.test(first) ? rest.findIndex((part) => part.includes('=')) : 0;
  const addresses = listed === -1 ? rest : rest.slice(0, listed);
  const options = readOptions(rest.slice(addresses.length));
  // What is wrong is told from the left.
  const joined = joinBackend(name, [first, ...addresses].join(','), options.ok ? options.value : defaultOptions);
  return joined.ok && !options.ok ? options : joined;
}

/** As `--backend` takes it; options that are as by default are left out. */
export function showBackend(backend: BackendSetting): string {
  const options = [...backendOptions].flatMap(([name, { key }]) => {
    const value = backend[key];
    return value === null || value === defaultOptions[key] ? [] : [`,${name}=${value}`];
  });
  return `${backend.name}=${backend.target}${options.join('')}`;
}

function readOptions(texts: readonly string[]): Parsed<BackendOptions> {
  const options: { -readonly [K in keyof BackendOptions]: BackendOptions[K] } = { ...defaultOptions };
  const given = new Set<string>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    const option = backendOptions.get(name);
    if (option === undefined) return { ok: false, problem: unknownOption(text, name) };
    if (given.has(name)) return { ok: false, problem: `${name} is given twice` };
    given.add(name);
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < option.min || number > option.max) {
      const range = `an integer from ${option.min} to ${option.max}`;
      return { ok: false, problem: `${name} must be ${range}; got ${quote(value)}` };
    }
    options[option.key] = number;
  }
  return { ok: true, value: options };
}

function unknownOption(text: string, name: string): string {
  if (splitHostPort(text) !== null) {
    return 'one address a backend; give each address a --backend of its own, or list them as ipv4:A:PORT,B:PORT for a group';
  }
  const hint = didYouMean(name === '' ? text : name, backendOptions.keys());
  return `unknown option ${quote(text)}${hint || '; known are weight=N, priority=N and max-calls=N'}`;
}
