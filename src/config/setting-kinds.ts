import { type Millis, millis } from '../grpc/millis.js';
import { type Address, isHostName, parseListenAddress, parsePort, showAddress, splitHostPort } from './address.js';
import { plainDecimal } from './decimal.js';
import { parseIp } from './ip.js';
import type { JsonNode } from './json-tree.js';
import { nearest } from './nearest.js';
import type { Parsed } from './parsed.js';
import { quote } from './quote.js';

/** How one type of setting is read and told. */
export interface Kind<T> {
  /** Stands for the value in the help: `DURATION`. */
  readonly metavar: string;
  /** The range in the help, or null where there is none to tell. */
  readonly range: string | null;
  /** A flag without a value means this text; null where a value is required. */
  readonly bare: string | null;
  /** What the file may hold: `a string`. */
  readonly json: string;
  /** From a flag, a variable or a string in the file. */
  fromText(text: string): Parsed<T>;
  /** From a value in the file other than a string; null where only strings will do. */
  readonly fromNode: ((node: JsonNode) => Parsed<T> | null) | null;
  /** A value as the file could give it. */
  show(value: T): SettingText;
}

/** What a settings file may give for one value. */
export type SettingText = string | number | boolean;

function textual<T>(
  metavar: string,
  range: string | null,
  fromText: (text: string) => Parsed<T>,
  show: (value: T) => SettingText,
): Kind<T> {
  return { metavar, range, bare: null, json: 'a string', fromText, fromNode: null, show };
}

const asIs = <Text extends SettingText>(value: Text): Text => value;

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

const durationUnits: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

function parseDuration(text: string): Millis | null {
  const [, amount, unit = ''] = /^(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(text) ?? [];
  return amount === undefined ? null : millis(Number(amount) * (durationUnits.get(unit) ?? 0));
}

/** In hours or minutes where they are whole, else in seconds, below one in milliseconds. */
function showDuration(value: Millis): string {
  for (const unit of ['h', 'm']) {
    const amount = value / (durationUnits.get(unit) ?? 1);
    if (value > 0 && Number.isInteger(amount)) return `${amount}${unit}`;
  }
  return value > 0 && value < 1000 ? `${plainDecimal(value)}ms` : `${plainDecimal(value / 1000)}s`;
}

/** `250ms`, `1.5s`, `2m`, `1h`, between two such bounds. */
export function duration(min: string, max: string): Kind<Millis> {
  const [low, high] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0];
  const fromText = (text: string): Parsed<Millis> => {
    const value = parseDuration(text);
    if (value === null) {
      const unit = /^\d+(\.\d+)?$/.test(text) ? 'a duration needs a unit' : 'not a duration';
      return wrong(`${unit}; write a number and ms, s, m or h, like 250ms, 1.5s or 2m`);
    }
    return value >= low && value <= high ? { ok: true, value } : wrong(`must be from ${min} to ${max}`);
  };
  return textual('DURATION', `${min} to ${max}`, fromText, showDuration);
}

/** A duration, or `off`, which is null. */
export function durationOrOff(min: string, max: string): Kind<Millis | null> {
  const timed = duration(min, max);
  return {
    ...timed,
    metavar: `${timed.metavar}|off`,
    fromText: (text) => (text === 'off' ? { ok: true, value: null } : timed.fromText(text)),
    show: (value) => (value === null ? 'off' : timed.show(value)),
  };
}

const sizeUnits: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
]);

function parseSize(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,15})(KiB|MiB|GiB|)$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (sizeUnits.get(unit) ?? 0);
}

/** In the largest unit of which it is a whole number; plain bytes where there is none. */
function showSize(value: number): string | number {
  for (const unit of ['GiB', 'MiB', 'KiB']) {
    const amount = value / (sizeUnits.get(unit) ?? 1);
    if (value > 0 && Number.isInteger(amount)) return `${amount}${unit}`;
  }
  return value;
}

/** Bytes: `65536`, `64KiB`, `1MiB`, `1GiB`, between two such bounds. A plain number in the file too. */
export function size(min: string, max: string): Kind<number> {
  const [low, high] = [parseSize(min) ?? 0, parseSize(max) ?? 0];
  const judge = (value: number | null): Parsed<number> => {
    if (value === null) return wrong('not a size; write bytes, or KiB, MiB or GiB, like 65536, 64KiB or 1MiB');
    return value >= low && value <= high ? { ok: true, value } : wrong(`must be from ${min} to ${max}`);
  };
  return {
    ...textual('SIZE', `${min} to ${max}`, (text) => judge(parseSize(text)), showSize),
    json: 'a number of bytes, or a string like "64KiB"',
    fromNode: (node) => (node.type === 'number' ? judge(Number.isInteger(node.value) ? node.value : null) : null),
  };
}

/** A size, or `off`, which is null. */
export function sizeOrOff(min: string, max: string): Kind<number | null> {
  const sized = size(min, max);
  return {
    ...sized,
    metavar: `${sized.metavar}|off`,
    json: 'a number of bytes, a string like "64KiB", or "off"',
    fromText: (text) => (text === 'off' ? { ok: true, value: null } : sized.fromText(text)),
    show: (value) => (value === null ? 'off' : sized.show(value)),
  };
}

/** A whole number between two bounds; in the file a number. */
export function integer(min: number, max: number): Kind<number> {
  const judge = (value: number): Parsed<number> =>
    Number.isInteger(value) && value >= min && value <= max
      ? { ok: true, value }
      : wrong(`must be an integer from ${min} to ${max}`);
  return {
    ...textual(
      'N',
      `${min} to ${max}`,
      (text) => judge(/^[+-]?\d{1,15}$/.test(text) ? Number(text) : Number.NaN),
      asIs,
    ),
    json: 'a number',
    fromNode: (node) => (node.type === 'number' ? judge(node.value) : null),
  };
}

/** A decimal number between two bounds; in the file a number. */
export function decimal(min: number, max: number): Kind<number> {
  const judge = (value: number): Parsed<number> =>
    value >= min && value <= max ? { ok: true, value } : wrong(`must be a number from ${min} to ${max}`);
  return {
    ...textual(
      'X',
      `${min} to ${max}`,
      (text) => judge(/^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN),
      asIs,
    ),
    json: 'a number',
    fromNode: (node) => (node.type === 'number' ? judge(node.value) : null),
  };
}

/** `/package.Service/Method`, or `/package.Service/*`. */
export const methodPattern: Kind<string> = textual(
  'PATTERN',
  null,
  (text) =>
    /^\/[^/\s]+\/[^/\s]+$/.test(text)
      ? { ok: true, value: text }
      : wrong('must be /package.Service/Method, or /package.Service/* for all methods of a service'),
  asIs,
);

/** The name of a service that a health check asks for, or `off`, which is null. */
export const healthService: Kind<string | null> = textual<string | null>(
  'SERVICE|off',
  null,
  (text) => {
    if (text === 'off') return { ok: true, value: null };
    return /^[\w.-]{0,256}$/.test(text) ? { ok: true, value: text } : wrong('must be the name of a service, or off');
  },
  (value) => value ?? 'off',
);

/** One of a few words. */
export function choice<const Word extends string>(words: readonly Word[]): Kind<Word> {
  const fromText = (text: string): Parsed<Word> => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return { ok: true, value: found };
    const near = nearest(text, words);
    return wrong(
      `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}${near === null ? '' : `; did you mean ${near}?`}`,
    );
  };
  return textual(words.join('|'), null, fromText, asIs);
}

/** `on` or `off`; the bare flag is `on`, and the file may say true or false. */
export const onOff: Kind<boolean> = {
  metavar: 'on|off',
  range: null,
  bare: 'on',
  json: 'true, false, "on" or "off"',
  fromText: (text) =>
    text === 'on' || text === 'off' ? { ok: true, value: text === 'on' } : wrong('must be on or off'),
  fromNode: (node) => (node.type === 'boolean' ? { ok: true, value: node.value } : null),
  show: asIs,
};

export const path: Kind<string> = textual(
  'FILE',
  null,
  (text) => (text === '' || text.includes('\0') ? wrong('not a path') : { ok: true, value: text }),
  asIs,
);

export const listenAddress: Kind<Address> = textual('ADDR', null, parseListenAddress, showAddress);

/** An address to listen on, or `off`, which is null. */
export const listenAddressOrOff: Kind<Address | null> = textual<Address | null>(
  'ADDR|off',
  null,
  (text) => (text === 'off' ? { ok: true, value: null } : parseListenAddress(text)),
  (value) => (value === null ? 'off' : showAddress(value)),
);

/** A host name, in lower case, as Host headers and TLS certificates carry it. */
export const host: Kind<string> = textual(
  'NAME',
  null,
  (text) =>
    isHostName(text) || parseIp(text) !== null
      ? { ok: true, value: text.toLowerCase() }
      : wrong('not a host name, like proxy.example.com, without a port'),
  asIs,
);

export type AuthoritySetting =
  | { readonly kind: 'client' }
  | { readonly kind: 'target' }
  | { readonly kind: 'fixed'; readonly value: string };

/** `client`, `target`, or a fixed `HOST[:PORT]`. */
export const authority: Kind<AuthoritySetting> = textual<AuthoritySetting>(
  'client|target|HOST[:PORT]',
  null,
  (text) => {
    if (text === 'client' || text === 'target') return { ok: true, value: { kind: text } };
    const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
    const lone = isHostName(text) || (parseIp(bare) !== null && (bare !== text || !bare.includes(':')));
    const parts = splitHostPort(text);
    const whole =
      parts !== null && (isHostName(parts.host) || parseIp(parts.host) !== null) && parsePort(parts.port, 1).ok;
    return lone || whole
      ? { ok: true, value: { kind: 'fixed', value: text } }
      : wrong('must be client, target, or HOST[:PORT], like orders.internal:443');
  },
  (value) => (value.kind === 'fixed' ? value.value : value.kind),
);

/** The keys' prefix, without its dash. */
export const metadataPrefix: Kind<string> = textual(
  'PREFIX',
  null,
  (text) => {
    if (text.startsWith('grpc')) return wrong('must not begin with grpc, which gRPC keeps for itself');
    return /^[a-z][a-z0-9-]{0,31}$/.test(text)
      ? { ok: true, value: text }
      : wrong(`${quote(text)} is not a prefix: a-z, 0-9 and "-", beginning with a letter, at most 32`);
  },
  asIs,
);
