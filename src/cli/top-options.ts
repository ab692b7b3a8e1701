import { type Address, parseListenAddress } from '../config/address.js';
import { readFlags } from '../config/flags.js';
import { quote } from '../config/quote.js';
import { duration } from '../config/setting-kinds.js';
import { type CommandFlag, type Options, shapesOf } from './options.js';

const admin: CommandFlag = {
  name: 'admin',
  metavar: 'ADDR',
  help: "The proxy's --admin address: HOST:PORT or unix:PATH. [127.0.0.1:9901]",
};
const interval: CommandFlag = {
  name: 'interval',
  metavar: 'DURATION',
  help: 'Look so often. [1s; 100ms to 1h]',
};
const once: CommandFlag = { name: 'once', metavar: null, help: 'Show one interval and end.' };
const json: CommandFlag = { name: 'json', metavar: null, help: 'Print a line of JSON for each look.' };

export const topFlags: readonly CommandFlag[] = [admin, interval, once, json];

export interface TopOptions {
  readonly admin: Address;
  /** Milliseconds. */
  readonly interval: number;
  readonly once: boolean;
  readonly json: boolean;
}

/** `top [--admin ADDR] [--interval DURATION] [--once] [--json]` */
export function readTopOptions(argv: readonly string[]): Options<TopOptions> {
  const read = readFlags(argv, shapesOf(topFlags));
  if (!read.ok) return read;
  const { values, positionals } = read.flags;
  const [stray] = positionals;
  if (stray !== undefined)
    return { ok: false, problem: `unexpected argument ${quote(stray)}; an address is given by --admin` };
  const adminText = values.get(admin.name)?.at(-1) ?? '127.0.0.1:9901';
  const address = parseListenAddress(adminText);
  if (!address.ok) return { ok: false, problem: `--${admin.name} ${quote(adminText)}: ${address.problem}` };
  if (address.value.kind === 'tcp' && address.value.port === 0)
    return {
      ok: false,
      problem: `--${admin.name} ${quote(adminText)}: port 0 is none to ask; the line "ready" of the log has the port`,
    };
  const intervalText = values.get(interval.name)?.at(-1) ?? '1s';
  const length = duration('100ms', '1h').fromText(intervalText);
  if (!length.ok) return { ok: false, problem: `--${interval.name} ${quote(intervalText)}: ${length.problem}` };
  return {
    ok: true,
    options: { admin: address.value, interval: length.value, once: values.has(once.name), json: values.has(json.name) },
  };
}
