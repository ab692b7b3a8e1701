import { diffConfigs } from '../config/config-diff.js';
import type { Finding } from '../config/finding.js';
import { printable } from '../config/quote.js';
import type { ServiceConfig } from '../config/service-config.js';
import { fileProblem } from './file-problem.js';
import { countNames, judgeText, type LoadedConfig } from './load-service-config.js';

// Times are monotonic milliseconds, given.

/** A change is read when nothing has changed for so long: an editor may write in steps. Above the grain of file times. */
const quiet = 50;
/** A file that is never quiet is read so long after its first change all the same. */
const longestQuiet = 1000;
/**
 * Bad news are believed when a second read, so much later, brings the same: half of a file that is being written is broken,
 * and one that is being replaced may be missing. Good news need no second read: no part of a JSON object is one.
 */
const doubt = 250;
/** Lines of one kind that are told of one version. */
const mostLines = 20;

/** The text that was refused last. */
export interface RejectedConfig {
  readonly version: string;
  readonly findings: readonly Finding[];
  /** The first error with its place, and how many more there are. */
  readonly problem: string;
  /** When it was refused. */
  readonly at: number;
}

/** The file of the service config while the proxy runs: what of it is in force, and what is wrong with it. */
export interface ConfigSource {
  readonly path: string;
  readonly inForce: LoadedConfig;
  /** Since when it is. */
  readonly appliedAt: number;
  /** Stays when the file is well again; null where none was refused. */
  readonly rejected: RejectedConfig | null;
  /** Why the file is not what is in force, as it was told; null where it is. */
  readonly trouble: string | null;
  /** Bad news that a second read has yet to confirm. */
  readonly doubted: string | null;
  /** When the file is to be read; Infinity where nothing is due. */
  readonly readAt: number;
  /** `readAt` is put off no further than this. */
  readonly readBy: number;
  readonly reading: boolean;
  /** The read under way was asked for: its result is told, whatever it is. */
  readonly asked: boolean;
  /** Asked for while another read was under way, which may have begun before the change that is meant. */
  readonly askedAgain: boolean;
}

export type SourceEvent =
  /** The file may be another. */
  | { readonly type: 'changed' }
  /** SIGHUP: read it now. */
  | { readonly type: 'asked' }
  /** The time of `readAt` has come. */
  | { readonly type: 'woke' }
  | { readonly type: 'read'; readonly text: string }
  /** @param problem one sentence with the file's name */
  | { readonly type: 'readFailed'; readonly problem: string };

export type SourceDecision =
  /** To be answered by `read` or `readFailed`. At most one is under way. */
  | { readonly type: 'read' }
  | { readonly type: 'apply'; readonly config: ServiceConfig }
  | {
      readonly type: 'tell';
      readonly level: 'info' | 'warn';
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    };

export interface SourceStep {
  readonly source: ConfigSource;
  /** In order. */
  readonly decisions: readonly SourceDecision[];
}

/** After a start. @param path the file, also where it is not there yet */
export function startConfigSource(path: string, loaded: LoadedConfig, now: number): ConfigSource {
  return {
    path,
    inForce: loaded,
    appliedAt: now,
    rejected: null,
    // The ready line has told that.
    trouble: loaded.path === null ? missing(path) : null,
    doubted: null,
    readAt: Number.POSITIVE_INFINITY,
    readBy: Number.POSITIVE_INFINITY,
    reading: false,
    asked: false,
    askedAgain: false,
  };
}

/** Why the file is not what is in force, in a sentence; null where it is, and where it need not be there and is not. */
export function sourceProblem({ path, inForce, trouble, rejected }: ConfigSource): string | null {
  if (trouble === null || (inForce.path === null && trouble === missing(path))) return null;
  return trouble === rejected?.version ? rejected.problem : trouble;
}

function missing(path: string): string {
  return fileProblem(path, { code: 'ENOENT' });
}

/** When `woke` is due; null where nothing is. */
export function sourceWakeAt(source: ConfigSource): number | null {
  return source.reading || source.readAt === Number.POSITIVE_INFINITY ? null : source.readAt;
}

/** What an event makes of the source, and what is to be done. */
export function stepConfigSource(source: ConfigSource, event: SourceEvent, now: number): SourceStep {
  switch (event.type) {
    case 'changed': {
      const readBy = Math.min(source.readBy, now + longestQuiet);
      return { source: { ...source, readAt: Math.min(now + quiet, readBy), readBy }, decisions: [] };
    }
    case 'asked':
      if (source.reading) return { source: { ...source, askedAgain: true }, decisions: [] };
      // What is due after a change stays due: the change may not be through.
      return { source: { ...source, reading: true, asked: true }, decisions: [{ type: 'read' }] };
    case 'woke':
      if (source.reading || now < source.readAt) return { source, decisions: [] };
      return { source: { ...source, ...undue, reading: true }, decisions: [{ type: 'read' }] };
    case 'read':
      return next(onText({ ...source, reading: false }, event.text, now));
    case 'readFailed':
      return next(onFailure({ ...source, reading: false }, event.problem, now));
    default:
      return event satisfies never;
  }
}

const undue = { readAt: Number.POSITIVE_INFINITY, readBy: Number.POSITIVE_INFINITY } as const;

/** A read is over: one that was asked for meanwhile begins. */
function next({ source, decisions }: SourceStep): SourceStep {
  if (!source.askedAgain) return { source: { ...source, asked: false }, decisions };
  return {
    source: { ...source, reading: true, asked: true, askedAgain: false },
    decisions: [...decisions, { type: 'read' }],
  };
}

function onText(source: ConfigSource, text: string, now: number): SourceStep {
  const { path, inForce } = source;
  const judged = judgeText(path, text, inForce.config.maxAttemptsLimit);
  if (!judged.ok) {
    const { version, findings, problem } = judged;
    const step = onBadNews(source, version, now, {
      fields: { rejected: version, errors: findings.filter(({ severity }) => severity === 'error').length },
      message: `service config rejected, version ${inForce.version} stays in force: ${problem}`,
    });
    const told = step.decisions.length > 0;
    return told ? { ...step, source: { ...step.source, rejected: { version, findings, problem, at: now } } } : step;
  }
  const well = { ...source, trouble: null, doubted: null };
  // Before a file was there `{}` was in force, and the file that says so is a file taken up.
  if (judged.version === inForce.version && inForce.path !== null) return unchanged(source, well);
  const changes = diffConfigs(inForce.config, judged.config);
  const what = changes.length === 0 ? 'no method changed' : counted(changes.length, 'change');
  const previous = inForce.path === null ? null : inForce.version;
  return {
    source: { ...well, inForce: judged, appliedAt: now },
    decisions: [
      { type: 'apply', config: judged.config },
      ...bounded(judged.warnings).map((message) => tell('warn', {}, message)),
      tell(
        'info',
        {
          config: { path, version: judged.version, methods: countNames(judged.config) },
          previous,
          changes: bounded(changes),
        },
        `service config ${printable(path)}: version ${judged.version} in force, ${was(previous)}; ${what}`,
      ),
    ],
  };
}

function was(previous: string | null): string {
  return previous === null ? 'there was none before' : `${previous} before`;
}

/** The text is the one in force. */
function unchanged(source: ConfigSource, well: ConfigSource): SourceStep {
  const { path, asked, trouble, inForce } = source;
  if (!asked && trouble === null) return { source: well, decisions: [] };
  const what = trouble === null ? ': unchanged' : ' is again the one in force';
  const message = `service config ${printable(path)}${what}, version ${inForce.version}`;
  return { source: well, decisions: [tell('info', {}, message)] };
}

function onFailure(source: ConfigSource, problem: string, now: number): SourceStep {
  const { path, inForce, asked } = source;
  // Not named, never there: as at the start.
  if (asked && inForce.path === null && problem === missing(path)) {
    const told = tell('info', {}, `service config ${problem}; {} stays in force`);
    return { source: { ...source, trouble: problem, doubted: null }, decisions: [told] };
  }
  const message = `service config cannot be read, version ${inForce.version} stays in force: ${problem}`;
  return onBadNews(source, problem, now, { fields: {}, message });
}

/** What is wrong is told once, and again to whoever asks. @param trouble tells one wrong from another */
function onBadNews(
  source: ConfigSource,
  trouble: string,
  now: number,
  line: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string },
): SourceStep {
  const known = source.trouble === trouble;
  const changedSince = source.readAt !== Number.POSITIVE_INFINITY;
  if (!known && !source.asked && (source.doubted !== trouble || changedSince)) {
    const due = { readAt: now + doubt, readBy: now + longestQuiet };
    return { source: { ...source, ...due, doubted: trouble }, decisions: [] };
  }
  const told = { ...source, trouble, doubted: null };
  if (known && !source.asked) return { source: told, decisions: [] };
  return { source: told, decisions: [tell('warn', line.fields, line.message)] };
}

function tell(level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string): SourceDecision {
  return { type: 'tell', level, fields, message };
}

function bounded(lines: readonly string[]): readonly string[] {
  const rest = lines.length - mostLines;
  return rest <= 0 ? lines : [...lines.slice(0, mostLines), `and ${rest} more`];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
