import { didYouMean } from '../config/nearest.js';
import { quote } from '../config/quote.js';
import { readSettings, type SettingOrigins, settingsFile } from '../config/read-settings.js';
import type { Settings } from '../config/settings.js';
import { check } from './check.js';
import { type ExplainResult, explain } from './explain.js';
import { readExplainOptions } from './explain-options.js';
import { fileProblem } from './file-problem.js';
import { type Command, commands, help } from './help.js';
import { type DemoOptions, type Options, readCheckOptions, readDemoOptions } from './options.js';
import { simulate } from './simulate.js';
import { readSimulateOptions } from './simulate-options.js';
import { readTopOptions, type TopOptions } from './top-options.js';

/** The outside, as the command line sees it. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** UTF-8. Rejects as `node:fs/promises` does. */
  readonly readFile: (path: string) => Promise<string>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Of the terminal; null where there is none. */
  readonly columns: number | null;
  /** IP literals of this machine's interfaces. */
  readonly localAddresses: readonly string[];
  /** As in package.json. */
  readonly version: string;
}

/** The commands that run something. Each resolves to an exit code once all is over, and tells its own errors. */
export interface Runners {
  /** `notes` are lines worth a warning in the log. */
  serve(settings: Settings, origins: SettingOrigins, notes: readonly string[]): Promise<number>;
  demo(options: DemoOptions): Promise<number>;
  top(options: TopOptions): Promise<number>;
}

/** Wrong usage, as every command tells it. */
const usage = 2;

/** Runs what the arguments after the program's name ask for; resolves to the exit code. Usage errors are one line. */
export async function run(argv: readonly string[], io: Io, runners: Runners): Promise<number> {
  const width = Math.min(Math.max(io.columns ?? 100, 60), 110);
  const [first, ...rest] = argv;
  if (first === undefined) {
    io.stderr(help(null, width));
    return usage;
  }
  if (first === '--version') {
    io.stdout(`hedgerow ${io.version}\n`);
    return 0;
  }
  const asked = first === 'help' || isHelp(first) ? (rest[0] ?? null) : first;
  const command = commands.find((name) => name === asked) ?? null;
  if (asked === null || (command !== null && (asked !== first || asksHelp(rest)))) {
    io.stdout(help(command, width));
    return 0;
  }
  if (command === null) {
    const what = asked.startsWith('-') ? 'flag' : 'command';
    const hint = didYouMean(asked, what === 'flag' ? ['--help', '--version'] : commands);
    return fail(io, null, `unknown ${what} ${quote(asked)}${hint || `; commands are ${commands.join(', ')}`}`);
  }
  switch (command) {
    case 'serve':
      return runServe(rest, io, runners);
    case 'check':
      return runCheck(rest, io);
    case 'explain':
      return runOnFile(rest, io, command, readExplainOptions, explain);
    case 'simulate':
      return runOnFile(rest, io, command, readSimulateOptions, simulate);
    case 'demo': {
      const read = readDemoOptions(rest);
      return read.ok ? runners.demo(read.options) : fail(io, command, read.problem);
    }
    case 'top': {
      const read = readTopOptions(rest);
      return read.ok ? runners.top(read.options) : fail(io, command, read.problem);
    }
    default:
      return command satisfies never;
  }
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

/** `--help` anywhere before `--`, whatever else is wrong with the arguments. */
function asksHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).some(isHelp);
}

function fail(io: Io, command: Command | null, problem: string): number {
  io.stderr(`hedgerow${command === null ? '' : ` ${command}`}: ${problem}\n`);
  return usage;
}

async function runCheck(argv: readonly string[], io: Io): Promise<number> {
  const read = readCheckOptions(argv);
  if (!read.ok) return fail(io, 'check', read.problem);
  const { file, ...options } = read.options;
  let text: string;
  try {
    text = await io.readFile(file);
  } catch (error) {
    return fail(io, 'check', fileProblem(file, error));
  }
  const { stdout, summary, exitCode } = check(text, file, options);
  if (stdout !== '') io.stdout(stdout);
  if (summary !== '') io.stderr(summary);
  return exitCode;
}

/** A command that asks a question of a service config. */
async function runOnFile<Asked extends object>(
  argv: readonly string[],
  io: Io,
  command: Command,
  readOptions: (argv: readonly string[]) => Options<Asked & { readonly file: string }>,
  answer: (text: string, fileName: string, options: Asked) => ExplainResult,
): Promise<number> {
  const read = readOptions(argv);
  if (!read.ok) return fail(io, command, read.problem);
  const { file } = read.options;
  let text: string;
  try {
    text = await io.readFile(file);
  } catch (error) {
    return fail(io, command, fileProblem(file, error));
  }
  const result = answer(text, file, read.options);
  if (result.ok) {
    io.stdout(result.stdout);
    return 0;
  }
  fail(io, command, result.problem);
  return result.exitCode;
}

async function runServe(argv: readonly string[], io: Io, runners: Runners): Promise<number> {
  const path = settingsFile(argv, io.env);
  let file: { path: string; text: string } | null = null;
  try {
    if (path !== null) file = { path, text: await io.readFile(path) };
  } catch (error) {
    return fail(io, 'serve', fileProblem(path ?? '', error));
  }
  const read = readSettings({ flags: argv, env: io.env, file, localAddresses: io.localAddresses });
  return read.ok ? runners.serve(read.settings, read.origins, read.notes) : fail(io, 'serve', read.problem);
}
