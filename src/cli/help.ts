import { type Setting, settingGroups } from '../config/setting.js';
import { flagOf, settingKeys, settingTable } from '../config/settings.js';
import { explainFlags } from './explain-options.js';
import { type CommandFlag, checkFlags, demoFlags } from './options.js';
import { simulateFlags } from './simulate-options.js';
import { topFlags } from './top-options.js';

export const commands = ['serve', 'top', 'check', 'explain', 'simulate', 'demo'] as const;
export type Command = (typeof commands)[number];

const about: Readonly<Record<Command, string>> = {
  serve: 'Run the proxy.',
  top: 'Watch a proxy that runs: calls, what retries and hedges do, backends, the latest failures.',
  check: 'Validate a gRPC service config.',
  explain: 'Tell what a gRPC service config does for one method, and why.',
  simulate: 'Tell what a policy would do to success, latency and load, before it is live.',
  demo: 'Watch retries and hedges work: backends with faults, the proxy and a client, all on this machine.',
};

/** Where the descriptions begin; a flag longer than that has a line of its own. */
const indent = 32;

/** Breaks a text at spaces into lines of at most `width` characters; a longer word has a line of its own. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function row(left: string, right: string, width: number): string {
  const [first = '', ...others] = wrap(right, Math.max(24, width - indent));
  const head = left.length > indent - 4 ? `  ${left}\n${' '.repeat(indent)}` : `  ${left}`.padEnd(indent);
  return [head + first, ...others.map((line) => ' '.repeat(indent) + line)].join('\n');
}

/** `[30s; 0s to 24h]`: the default, the range, and whether it may be given more than once. */
function notes(setting: Setting): string {
  const initial =
    setting.arity === 'optional'
      ? setting.shown
      : setting.arity === 'one'
        ? setting.initial
        : setting.initial.join(' ');
  const parts = [initial || null, setting.kind.range, setting.arity === 'many' ? 'repeatable' : null];
  const present = parts.filter((part) => part !== null);
  return present.length === 0 ? '' : ` [${present.join('; ')}]`;
}

function settingRows(width: number): string[] {
  return settingGroups.map((group) => {
    const rows = settingKeys.flatMap((key) => {
      const setting: Setting = settingTable[key];
      if (setting.group !== group) return [];
      const value = setting.kind.bare === null ? ` ${setting.kind.metavar}` : ` [${setting.kind.metavar}]`;
      return [row(flagOf(key) + value, setting.help + notes(setting), width)];
    });
    return [group, ...rows].join('\n');
  });
}

function commandRows(flags: readonly CommandFlag[], width: number): string {
  const rows = flags.map(({ name, metavar, help }) =>
    row(`--${name}${metavar === null ? '' : ` ${metavar}`}`, help, width),
  );
  return ['Flags', ...rows, row('--help', 'Print this.', width)].join('\n');
}

function paragraph(text: string, width: number): string {
  return wrap(text, width).join('\n');
}

/** Help for one command, or for all; lines of at most `width` columns where words allow. Ends with a line end. */
export function help(command: Command | null, width: number): string {
  return `${sections(command, width).join('\n\n')}\n`;
}

function sections(command: Command | null, width: number): string[] {
  switch (command) {
    case null:
      return [
        paragraph(
          'hedgerow: a gRPC proxy that gives every client the retries and hedging its service owner wrote in a gRPC service config.',
          width,
        ),
        'Usage: hedgerow COMMAND [flags]',
        ['Commands', ...commands.map((name) => row(name, about[name], width))].join('\n'),
        [
          'Flags',
          row('--help', 'Print this; after a command, its help.', width),
          row('--version', 'Print the version.', width),
        ].join('\n'),
        [
          'Examples',
          '  hedgerow demo --calls 12',
          '  hedgerow check service-config.json',
          '  hedgerow explain service-config.json /pkg.Service/Method --script 14@10ms,0@20ms',
          '  hedgerow simulate service-config.json /shop.Cart/Add --outage 30s-60s',
          '  hedgerow serve --backend b1=127.0.0.1:50052 --backend b2=127.0.0.1:50053',
        ].join('\n'),
      ];
    case 'serve':
      return [
        about.serve,
        'Usage: hedgerow serve --backend NAME=TARGET [flags]',
        paragraph(
          'Every setting is a flag, an environment variable and a key of the settings file: --drain-timeout, ' +
            'HEDGEROW_DRAIN_TIMEOUT, drainTimeout. Flags beat the environment, the environment beats the file, the file ' +
            'beats the defaults. Repeatable ones are separated by white space in a variable and an array in the file. ' +
            'In brackets: the default; the range.',
          width,
        ),
        paragraph('DURATION: 250ms, 1.5s, 2m, 1h. SIZE: bytes, or 64KiB, 1MiB, 1GiB.', width),
        ...settingRows(width),
        [
          'Examples',
          '  hedgerow serve --backend b1=127.0.0.1:50052 --backend b2=unix:/run/b2.sock',
          '  hedgerow serve --config hedgerow.json --log-level debug',
          '  HEDGEROW_BACKEND="b1=10.0.0.7:50051 b2=10.0.0.8:50051" hedgerow serve --admin off',
        ].join('\n'),
      ];
    case 'top':
      return [
        about.top,
        'Usage: hedgerow top [--admin ADDR] [--interval DURATION] [--once] [--json]',
        paragraph(
          "Asks the proxy's admin listener. On a terminal it draws in place; elsewhere it prints a frame for each look. While " +
            'nothing answers it says so and tries again; with --once that is exit code 1.',
          width,
        ),
        commandRows(topFlags, width),
        [
          'Keys',
          row('q', 'Quit.', width),
          row('p', 'Pause, and go on.', width),
          row('j k, arrows, pages', 'Choose a call: below it is told why it ended so, and what helps.', width),
          row('/', 'Show only calls that hold a text: in method, backend, status, stop reason or id. Esc: all.', width),
          row('a', 'Show calls too that were answered at their first attempt.', width),
        ].join('\n'),
        [
          'Examples',
          '  hedgerow top',
          '  hedgerow top --admin 10.0.0.7:9901 --interval 5s',
          '  hedgerow top --once --json',
        ].join('\n'),
      ];
    case 'check':
      return [
        about.check,
        'Usage: hedgerow check FILE [--json] [--strict] [--max-attempts-limit N]',
        paragraph(
          'Prints every finding, one a line: FILE:LINE:COLUMN: error|warning: PATH: MESSAGE [rule]. Exit code 0: valid, ' +
            'warnings allowed; 1: invalid; 2: wrong usage, or the file cannot be read.',
          width,
        ),
        commandRows(checkFlags, width),
        [
          'Examples',
          '  hedgerow check service-config.json',
          '  hedgerow check --strict --json service-config.json',
        ].join('\n'),
      ];
    case 'explain':
      return [
        about.explain,
        'Usage: hedgerow explain FILE /pkg.Service/Method [flags]',
        paragraph(
          'With --script, the exact timeline that these outcomes would give, from the policy code that the proxy runs, on ' +
            'virtual time. Exit code 0: explained; 1: the config is invalid; 2: wrong usage, or the file cannot be read.',
          width,
        ),
        commandRows(explainFlags, width),
        [
          'Script: outcomes of attempts, in order of their starts, separated by commas',
          row('CODE@TIME', 'The attempt ends with this status, a name or a number, so long after its start.', width),
          row('refused@TIME', 'RST_STREAM(REFUSED_STREAM): no application saw it.', width),
          row('unsent@TIME', 'The connection was lost before the attempt was sent.', width),
          row('lost@TIME', 'The connection was lost after that.', width),
          row('unplaced@TIME', 'No backend could be reached.', width),
          row('silent', 'It never ends by itself.', width),
          row(':pushback=VALUE', 'grpc-retry-pushback-ms in its trailers, as it stands there: 50, -1, abc.', width),
          row(':headers=TIME', 'Response headers so long after its start: they commit the call.', width),
          row('cancel@TIME', 'Last: the client cancels, so long after the call began.', width),
          paragraph('TIME: 10ms, 1.5s, or 10 for milliseconds.', width),
        ].join('\n'),
        [
          'Examples',
          '  hedgerow explain service-config.json /shop.Cart/Add',
          '  hedgerow explain service-config.json /shop.Cart/Add --script 14@10ms,14@5ms:pushback=50,0@20ms',
          '  hedgerow explain service-config.json /shop.Cart/Add --script silent,0@20ms:headers=5ms --deadline 2s',
        ].join('\n'),
      ];
    case 'simulate':
      return [
        about.simulate,
        'Usage: hedgerow simulate FILE /pkg.Service/Method [flags]',
        paragraph(
          'Makes the same calls twice, with the policy and without, against a model of the backends. Retries, hedges, ' +
            'throttle, load balancing and health are the code that the proxy runs. In brackets: the default; the range. ' +
            'Exit code 0: simulated; 1: the config is invalid; 2: wrong usage, or the file cannot be read.',
          width,
        ),
        commandRows(simulateFlags, width),
        [
          'Distributions, alone or mixed: 99%:20ms,1%:1s',
          row('20ms, constant(20ms)', 'Always that.', width),
          row('uniform(10ms,30ms)', 'Even between two times.', width),
          row('exponential(mean=20ms)', 'Few long ones, many short ones.', width),
          row('lognormal(median=T,p99=T)', 'As most services have it.', width),
          row('percentiles(p50=T,p99=T,…)', 'Through what was measured; min= and max= bound it.', width),
        ].join('\n'),
        [
          'Examples',
          '  hedgerow simulate service-config.json /shop.Cart/Add',
          '  hedgerow simulate service-config.json /shop.Cart/Add --latency 99%:20ms,1%:1s --failures none',
          '  hedgerow simulate service-config.json /shop.Cart/Add --outage 30s-60s --capacity 20 --deadline 1s',
        ].join('\n'),
      ];
    case 'demo':
      return [
        about.demo,
        'Usage: hedgerow demo [--calls N] [--admin ADDR|off]',
        commandRows(demoFlags, width),
        ['Examples', '  hedgerow demo --calls 12'].join('\n'),
      ];
    default:
      return command satisfies never;
  }
}
