import { showAddress } from './address.js';
import { showNode } from './fields.js';
import { type FlagShape, readFlags } from './flags.js';
import { type JsonNode, parseJson } from './json-tree.js';
import { didYouMean, nearest } from './nearest.js';
import { ownAddress } from './own-listener.js';
import type { Parsed } from './parsed.js';
import { createLocator } from './position.js';
import { printable, quote } from './quote.js';
import type { Setting } from './setting.js';
import { flagOf, type SettingKey, type Settings, settingKeys, settingTable, variableOf } from './settings.js';
import { addressesOf } from './target.js';

/** Where settings come from; the first that gives a setting gives all of it. */
export interface SettingSources {
  /** The arguments after the command. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What `--config` or `HEDGEROW_CONFIG` names, already read. */
  readonly file: { readonly path: string; readonly text: string } | null;
  /** IP literals of this machine's interfaces, to tell a backend that is ourselves. */
  readonly localAddresses?: readonly string[];
}

export type ReadSettings =
  | {
      readonly ok: true;
      readonly settings: Settings;
      /** Which source gave each of them. */
      readonly origins: SettingOrigins;
      /** Lines worth logging: variables that look like a misspelt setting. */
      readonly notes: readonly string[];
    }
  /** One line, with its place, that says what is allowed. */
  | { readonly ok: false; readonly problem: string };

/** Where a setting's value is from. */
export type SettingOrigin = 'flag' | 'environment' | 'file' | 'default';

export type SettingOrigins = Readonly<Record<SettingKey, SettingOrigin>>;

/** Thrown and caught within this file: the first problem ends the reading. */
class Problem extends Error {}

/** A setting as one source gives it, read once its type is known. Throws a Problem that names the place. */
type Given = <T>(setting: Setting<T>) => T | readonly T[];

interface Source {
  readonly origin: SettingOrigin;
  readonly given: ReadonlyMap<SettingKey, Given>;
  /** How this source calls a setting. */
  readonly nameOf: (key: SettingKey) => string;
}

const shapes: ReadonlyMap<string, FlagShape> = new Map(
  settingKeys.map((key) => {
    const { bare }: Setting['kind'] = settingTable[key].kind;
    const shape: FlagShape = { value: bare === null ? 'required' : 'optional', bare, words: ['on', 'off'] };
    return [flagOf(key).slice(2), shape];
  }),
);

/**
 * The settings file that flags or environment name, or null. To be read before `readSettings`, which gets its text;
 * wrong flags are left for it to tell.
 */
export function settingsFile(flags: readonly string[], env: SettingSources['env']): string | null {
  const read = readFlags(flags, shapes);
  const flag = read.ok ? read.flags.values.get('config')?.at(-1) : undefined;
  return flag || env[variableOf('config')] || null;
}

/** Reads all settings: flags beat environment, environment beats the file, the file beats defaults. Never throws. */
export function readSettings(sources: SettingSources): ReadSettings {
  try {
    const given: readonly Source[] = [
      { origin: 'flag', given: givenByFlags(sources.flags), nameOf: flagOf },
      { origin: 'environment', given: givenByEnv(sources.env), nameOf: variableOf },
      ...(sources.file === null ? [] : [givenByFile(sources.file)]),
    ];
    const values: Partial<Record<SettingKey, unknown>> = {};
    for (const key of settingKeys) {
      // Every source is read, also the beaten ones: a broken value is never silently passed over.
      const [first] = given.flatMap((source) => {
        const read = source.given.get(key);
        return read === undefined ? [] : [read<unknown>(settingTable[key])];
      });
      values[key] = first === undefined ? initialValue(settingTable[key]) : first;
    }
    const settings = values as Settings; // every key of the table was set, each by its own kind
    const sourceOf = (key: SettingKey): Source | undefined => given.find((source) => source.given.has(key));
    const nameOf = (key: SettingKey): string => (sourceOf(key)?.nameOf ?? flagOf)(key);
    judgeTogether(settings, sources.localAddresses ?? [], nameOf);
    const notes = [...strayVariables(sources.env), ...idleSettings(settings)];
    const origins = Object.fromEntries(settingKeys.map((key) => [key, sourceOf(key)?.origin ?? 'default']));
    // Of every key, as above.
    return { ok: true, settings: deepFreeze(settings), origins: origins as SettingOrigins, notes };
  } catch (error) {
    if (error instanceof Problem) return { ok: false, problem: error.message };
    throw error;
  }
}

function initialValue(setting: Setting): unknown {
  if (setting.arity === 'optional') return null;
  const read = (text: string) => value(setting.kind.fromText(text), 'default', text);
  return setting.arity === 'one' ? read(setting.initial) : setting.initial.map(read);
}

/** The value, or the one line that ends the reading. */
function value<T>(parsed: Parsed<T>, place: string, shown: string): T {
  if (parsed.ok) return parsed.value;
  throw new Problem(`${place} ${shown}: ${parsed.problem}`);
}

function fromTexts<T>(setting: Setting<T>, texts: readonly string[], place: string): T | readonly T[] {
  const read = (text: string) => value(setting.kind.fromText(text), place, printable(text.slice(0, 200)) || '""');
  if (setting.arity === 'many') return texts.map(read);
  // The last of several flags counts: wrappers add theirs at the end.
  return read(texts.at(-1) ?? '');
}

function givenByFlags(argv: readonly string[]): Map<SettingKey, Given> {
  const read = readFlags(argv, shapes);
  if (!read.ok) throw new Problem(read.problem);
  const [stray] = read.flags.positionals;
  if (stray !== undefined)
    throw new Problem(`unexpected argument ${quote(stray)}; settings are flags, like --listen ADDR`);
  const given = new Map<SettingKey, Given>();
  for (const key of settingKeys) {
    const place = flagOf(key);
    const texts = read.flags.values.get(place.slice(2));
    if (texts !== undefined) given.set(key, (setting) => fromTexts(setting, texts, place));
  }
  return given;
}

/** A variable that is set and empty counts as not set: that is how compose files and shells leave one out. */
function givenByEnv(env: SettingSources['env']): Map<SettingKey, Given> {
  const given = new Map<SettingKey, Given>();
  for (const key of settingKeys) {
    const name = variableOf(key);
    const text = env[name];
    if (text === undefined || text.trim() === '') continue;
    const texts = settingTable[key].arity === 'many' ? text.trim().split(/\s+/) : [text];
    given.set(key, (setting) => fromTexts(setting, texts, `${name}:`));
  }
  return given;
}

function givenByFile(file: { readonly path: string; readonly text: string }): Source {
  const text = file.text.replace(/^\uFEFF/, '');
  const locate = createLocator(text);
  const placeAt = (offset: number): string => {
    const { line, column } = locate(offset);
    return `${printable(file.path)}:${line}:${column}`;
  };
  const { root, problems } = parseJson(text);
  const [broken] = problems;
  if (broken !== undefined) throw new Problem(`${placeAt(broken.offset)}: ${broken.message}`);
  if (root?.type !== 'object') {
    throw new Problem(`${placeAt(root?.offset ?? 0)}: must be one JSON object with settings by their camelCase keys`);
  }
  const given = new Map<SettingKey, Given>();
  for (const { key, keyOffset, value: node } of root.members) {
    const place = placeAt(keyOffset);
    const known = settingKeys.find((candidate) => candidate === key);
    if (known === undefined)
      throw new Problem(`${place}: unknown setting ${quote(key)}${didYouMean(key, settingKeys)}`);
    if (known === 'config') throw new Problem(`${place}: config cannot be set in the settings file itself`);
    if (given.has(known)) throw new Problem(`${place}: ${known} is given twice`);
    given.set(known, (setting) => fromNode(setting, node, (at) => `${placeAt(at.offset)}: ${known}:`));
  }
  return { origin: 'file', given, nameOf: (key) => `${printable(file.path)}: ${key}` };
}

function fromNode<T>(setting: Setting<T>, node: JsonNode, placeOf: (node: JsonNode) => string): T | readonly T[] {
  const read = (item: JsonNode): T => {
    const { kind } = setting;
    const parsed = item.type === 'string' ? kind.fromText(item.value) : (kind.fromNode?.(item) ?? null);
    if (parsed === null) throw new Problem(`${placeOf(item)} ${showNode(item)}: must be ${kind.json}`);
    return value(parsed, placeOf(item), showNode(item));
  };
  if (setting.arity !== 'many') return read(node);
  if (node.type !== 'array') throw new Problem(`${placeOf(node)} ${showNode(node)}: must be an array of strings`);
  return node.items.map(read);
}

/** What no setting alone can tell. `nameOf` calls a setting as its source does. */
function judgeTogether(
  settings: Settings,
  localAddresses: readonly string[],
  nameOf: (key: SettingKey) => string,
): void {
  if (settings.backend.length === 0 && settings.endpoints === null && settings.control === null) {
    throw new Problem(
      'no backend: give at least one, like --backend b1=127.0.0.1:50052, or --endpoints FILE, or --control ADDR for backends that register',
    );
  }
  if (settings.listen.length === 0) throw new Problem(`${nameOf('listen')}: at least one address is needed`);
  judgeListeners(settings, nameOf('listen'));
  judgeBackends(settings, localAddresses, nameOf('backend'));
  judgeTls(settings, nameOf);
}

function judgeTls(settings: Settings, nameOf: (key: SettingKey) => string): void {
  for (const [cert, key] of [
    ['tlsCert', 'tlsKey'],
    ['backendCert', 'backendKey'],
  ] as const) {
    if ((settings[cert] === null) === (settings[key] === null)) continue;
    const [has, lacks] = settings[cert] === null ? [key, cert] : [cert, key];
    throw new Problem(`${nameOf(has)} needs ${flagOf(lacks)} beside it`);
  }
  if (settings.tlsClientCa !== null && settings.tlsCert === null) {
    throw new Problem(`${nameOf('tlsClientCa')} needs --tls-cert and --tls-key beside it`);
  }
  // Cleartext where someone took the trouble to name a CA would be the worst reading.
  for (const key of ['backendCa', 'backendCert', 'backendServerName'] as const) {
    if (settings[key] !== null && !settings.backendTls) throw new Problem(`${nameOf(key)} needs --backend-tls on`);
  }
}

/** Settings that have no effect beside the others: no error, as what is asked for is kept. */
function idleSettings({ forwarded, tlsClientCa, trustForwarded }: Settings): readonly string[] {
  const idle: string[] = [];
  if (forwarded === 'certificate' && tlsClientCa === null) {
    idle.push('--forwarded certificate tells no certificate without --tls-client-ca: clients show none');
  }
  if (trustForwarded && forwarded === 'off') {
    idle.push('--trust-forwarded has no effect without --forwarded: what clients send in those keys passes as it came');
  }
  return idle;
}

function judgeListeners({ listen }: Settings, name: string): void {
  const listening = new Set<string>();
  for (const address of listen) {
    const shown = showAddress(address);
    const picked = address.kind === 'tcp' && address.port === 0;
    if (listening.has(shown) && !picked) throw new Problem(`${name} ${shown}: given twice`);
    listening.add(shown);
  }
}

function judgeBackends(settings: Settings, localAddresses: readonly string[], setting: string): void {
  const names = new Set<string>();
  for (const { name, target, where } of settings.backend) {
    const place = `${setting} ${name}=${printable(target)}`;
    if (names.has(name)) throw new Problem(`${place}: the name ${name} is used twice`);
    names.add(name);
    const own = ownAddress(addressesOf(where), settings, localAddresses);
    if (own !== null) throw new Problem(`${place}: ${own}`);
  }
}

/** Orchestrators inject variables after a service's name, so unknown ones are no error; near misses are told. */
function strayVariables(env: SettingSources['env']): readonly string[] {
  const known = settingKeys.map(variableOf);
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('HEDGEROW_') || known.includes(name)) return [];
    const meant = nearest(
      name.slice('HEDGEROW_'.length),
      known.map((variable) => variable.slice('HEDGEROW_'.length)),
    );
    return meant === null
      ? []
      : [`${printable(name)} is not a setting and has no effect; did you mean HEDGEROW_${meant}?`];
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) deepFreeze(part);
    Object.freeze(value);
  }
  return value;
}
