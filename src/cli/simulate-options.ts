import { readFlags } from '../config/flags.js';
import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import { choice, decimal, duration, integer, size } from '../config/setting-kinds.js';
import { settingTable } from '../config/settings.js';
import type { BalancingKind } from '../grpc/balancing-config.js';
import type { Millis } from '../grpc/millis.js';
import { parseDistribution } from '../sim/distribution.js';
import { parseFailures, parseOutage, parseSlowness } from '../sim/faults.js';
import type { World } from '../sim/world.js';
import type { MethodPath } from './governing-entry.js';
import { readOperands } from './method-path.js';
import { attempts, type CommandFlag, type Options, readAttemptsLimit, shapesOf } from './options.js';

/** What a model was described by, as it was written. */
export interface WorldWords {
  readonly latency: string;
  readonly failures: string;
  readonly outages: readonly string[];
  readonly slownesses: readonly string[];
}

export interface SimulateOptions {
  readonly method: MethodPath;
  /** All but how calls are spread, which the service config may say. */
  readonly world: Omit<World, 'balancing'>;
  readonly words: WorldWords;
  /** Where the service config says nothing. */
  readonly loadBalancing: BalancingKind;
  /** The clients'; null: none. */
  readonly deadline: Millis | null;
  readonly json: boolean;
  readonly maxAttemptsLimit: number;
}

/** A flag that has a value where it is not given. */
interface Given extends CommandFlag {
  readonly initial: string;
}

const flags = {
  calls: { name: 'calls', metavar: 'N', initial: '10000', help: 'Calls to make. [10000; 1 to 1000000]' },
  rate: {
    name: 'rate',
    metavar: 'R',
    initial: '100',
    help: 'Calls a second, answered or not. [100; 0.01 to 100000]',
  },
  arrivals: {
    name: 'arrivals',
    metavar: 'poisson|even',
    initial: 'poisson',
    help: 'By chance, or one after each gap. [poisson]',
  },
  backends: { name: 'backends', metavar: 'N', initial: '3', help: 'They are b1, b2 and so on. [3; 1 to 100]' },
  latency: {
    name: 'latency',
    metavar: 'DISTRIBUTION',
    initial: 'lognormal(median=20ms,p99=200ms)',
    help: 'How long a backend works for an answer. [lognormal(median=20ms,p99=200ms)]',
  },
  failures: {
    name: 'failures',
    metavar: 'FAILURES',
    initial: '1%:UNAVAILABLE',
    help: 'Shares of the attempts that fail: 5%:UNAVAILABLE,0.1%:INTERNAL@2ms, or none. [1%:UNAVAILABLE]',
  },
  requestSize: {
    name: 'request-size',
    metavar: 'SIZE',
    initial: '1KiB',
    help: 'Bytes of a request, for the replay limits. [1KiB; 0 to 1GiB]',
  },
  cancelledWork: {
    name: 'cancelled-work',
    metavar: 'stops|goes-on',
    initial: 'stops',
    help: 'What a backend does about attempts that were cancelled: its other calls have their place, or wait. [stops]',
  },
  seed: {
    name: 'seed',
    metavar: 'N',
    initial: '1',
    help: 'The same seed and flags print the same. [1; 0 to 4294967295]',
  },
  loadBalancing: {
    name: 'load-balancing',
    metavar: 'POLICY',
    initial: settingTable.loadBalancing.initial,
    help: "As of serve; the service config's loadBalancingConfig wins. [round_robin]",
  },
  perCallBufferLimit: {
    name: 'per-call-buffer-limit',
    metavar: 'SIZE',
    initial: settingTable.perCallBufferLimit.initial,
    help: `As of serve: over it a call is not tried again. [${settingTable.perCallBufferLimit.initial}]`,
  },
} as const satisfies Record<string, Given>;

const outage: CommandFlag = {
  name: 'outage',
  metavar: 'OUTAGE',
  help: '10s-20s, and as needed :backend=b1 :rate=50% and :STATUS[@TIME], :silent or :down; repeatable.',
};
const slow: CommandFlag = {
  name: 'slow',
  metavar: 'SLOWNESS',
  help: '10s-20s:backend=b2:x10; without a backend all; repeatable.',
};
const pushback: CommandFlag = {
  name: 'pushback',
  metavar: 'MS',
  help: 'grpc-retry-pushback-ms in each failure; -1 is do not retry. [none; -1 to 86400000]',
};
const deadline: CommandFlag = {
  name: 'deadline',
  metavar: 'DURATION',
  help: "The clients' deadline; the method's timeout holds too. [none; 1ms to 24h]",
};
const capacity: CommandFlag = {
  name: 'capacity',
  metavar: 'N',
  help: 'Attempts that a backend works on at a time; more wait there. [no limit; 1 to 100000]',
};
const json: CommandFlag = { name: 'json', metavar: null, help: 'Print one JSON object.' };

export const simulateFlags: readonly CommandFlag[] = [
  flags.calls,
  flags.rate,
  flags.arrivals,
  flags.backends,
  flags.latency,
  flags.failures,
  outage,
  slow,
  pushback,
  deadline,
  capacity,
  flags.cancelledWork,
  flags.requestSize,
  flags.seed,
  json,
  attempts,
  flags.loadBalancing,
  flags.perCallBufferLimit,
];

const defaultBufferLimit = settingTable.bufferLimit.kind.fromText(settingTable.bufferLimit.initial);

/** A usage error on its way to its one line. */
class Misuse extends Error {}

/** `simulate FILE /pkg.Service/Method [flags]` */
export function readSimulateOptions(argv: readonly string[]): Options<SimulateOptions & { readonly file: string }> {
  const read = readFlags(argv, shapesOf(simulateFlags));
  if (!read.ok) return read;
  const { values, positionals } = read.flags;
  const operands = readOperands(positionals, 'simulate');
  if (!operands.ok) return operands;
  const limit = readAttemptsLimit(values.get(attempts.name)?.at(-1) ?? null);
  if (!limit.ok) return limit;

  const texts = (flag: CommandFlag): readonly string[] => values.get(flag.name) ?? [];
  const textOf = (flag: Given): string => texts(flag).at(-1) ?? flag.initial;
  const take = <T>(flag: CommandFlag, text: string, parse: (text: string) => Parsed<T>): T => {
    const parsed = parse(text);
    if (!parsed.ok) throw new Misuse(`--${flag.name} ${quote(text)}: ${parsed.problem}`);
    return parsed.value;
  };
  const value = <T>(flag: Given, kind: { fromText(text: string): Parsed<T> }): T =>
    take(flag, textOf(flag), (text) => kind.fromText(text));
  const optional = <T>(flag: CommandFlag, kind: { fromText(text: string): Parsed<T> }): T | null => {
    const text = texts(flag).at(-1);
    return text === undefined ? null : take(flag, text, (given) => kind.fromText(given));
  };

  try {
    const backends = value(flags.backends, integer(1, 100));
    const delay = optional(pushback, integer(-1, 86_400_000));
    const world: SimulateOptions['world'] = {
      calls: value(flags.calls, integer(1, 1_000_000)),
      rate: value(flags.rate, decimal(0.01, 100_000)),
      arrivals: value(flags.arrivals, choice(['poisson', 'even'])),
      backends,
      latency: take(flags.latency, textOf(flags.latency), parseDistribution),
      failures: take(flags.failures, textOf(flags.failures), parseFailures),
      outages: texts(outage).map((text) => take(outage, text, (each) => parseOutage(each, backends))),
      slownesses: texts(slow).map((text) => take(slow, text, (each) => parseSlowness(each, backends))),
      pushback: delay === null ? null : String(delay),
      capacity: optional(capacity, integer(1, 100_000)),
      cancelledWork: value(flags.cancelledWork, choice(['stops', 'goes-on'])) === 'stops' ? 'stops' : 'goes on',
      requestBytes: value(flags.requestSize, size('0', '1GiB')),
      perCallBufferLimit: value(flags.perCallBufferLimit, settingTable.perCallBufferLimit.kind),
      bufferLimit: defaultBufferLimit.ok ? defaultBufferLimit.value : Number.POSITIVE_INFINITY,
      seed: value(flags.seed, integer(0, 2 ** 32 - 1)),
    };
    const options: SimulateOptions & { readonly file: string } = {
      ...operands.value,
      world,
      words: {
        latency: textOf(flags.latency),
        failures: textOf(flags.failures),
        outages: texts(outage),
        slownesses: texts(slow),
      },
      loadBalancing: value(flags.loadBalancing, settingTable.loadBalancing.kind),
      deadline: optional(deadline, duration('1ms', '24h')),
      json: values.has(json.name),
      maxAttemptsLimit: limit.options,
    };
    return { ok: true, options };
  } catch (error) {
    if (error instanceof Misuse) return { ok: false, problem: error.message };
    throw error;
  }
}
