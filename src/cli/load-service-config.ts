import { createHash } from 'node:crypto';
import { type Finding, formatFinding } from '../config/finding.js';
import { printable } from '../config/quote.js';
import { parseServiceConfig, type ServiceConfig } from '../config/service-config.js';
import { defaultServiceConfig, type Settings } from '../config/settings.js';
import { fileProblem } from './file-problem.js';

/** A valid service config and where it is from. */
export interface LoadedConfig {
  /** The file; null where it was not named and is not there: `{}` (contract, --service-config). */
  readonly path: string | null;
  /** Twelve hexadecimal digits of the text's hash: the same text is the same version. */
  readonly version: string;
  readonly config: ServiceConfig;
  /** All of them warnings. */
  readonly findings: readonly Finding[];
  /** The same, each a line. */
  readonly warnings: readonly string[];
}

/** A text that is no valid service config. */
export interface BrokenConfig {
  readonly version: string;
  readonly findings: readonly Finding[];
  /** The first error with its place, and how many more there are. */
  readonly problem: string;
}

export type JudgedText =
  | ({ readonly ok: true } & LoadedConfig & { readonly path: string })
  | ({ readonly ok: false } & BrokenConfig);

/** What a start found. */
export type FirstLoad =
  | { readonly ok: true; readonly loaded: LoadedConfig }
  | { readonly ok: false; readonly problem: string; readonly exitCode: 1 | 2 };

/** The file that holds the service config, named or not. */
export function serviceConfigPath(settings: Pick<Settings, 'serviceConfig'>): string {
  return settings.serviceConfig ?? defaultServiceConfig;
}

/** Reads the service config for a start, which a broken one forbids, and a named one that cannot be read. */
export async function loadServiceConfig(
  settings: Pick<Settings, 'serviceConfig' | 'maxAttemptsLimit'>,
  readFile: (path: string) => Promise<string>,
): Promise<FirstLoad> {
  const path = serviceConfigPath(settings);
  const { maxAttemptsLimit } = settings;
  let text: string;
  try {
    text = await readFile(path);
  } catch (error) {
    if (settings.serviceConfig !== null || !isMissing(error)) {
      return { ok: false, problem: fileProblem(path, error), exitCode: 2 };
    }
    const config: ServiceConfig = { methodConfig: [], throttling: null, balancing: null, maxAttemptsLimit };
    return { ok: true, loaded: { path: null, version: versionOf('{}'), config, findings: [], warnings: [] } };
  }
  const judged = judgeText(path, text, maxAttemptsLimit);
  return judged.ok ? { ok: true, loaded: judged } : { ok: false, problem: judged.problem, exitCode: 1 };
}

/** What a text is worth as a service config. Never throws. @param path for the messages */
export function judgeText(path: string, text: string, maxAttemptsLimit: number): JudgedText {
  const version = versionOf(text);
  const { findings, config } = parseServiceConfig(text, { maxAttemptsLimit });
  const errors = findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (config === null || first !== undefined) {
    const more = errors.length > 1 ? `; ${errors.length - 1} more, all told by: hedgerow check ${printable(path)}` : '';
    const problem = `${first === undefined ? printable(path) : formatFinding(path, first)}${more}`;
    return { ok: false, version, findings, problem };
  }
  return {
    ok: true,
    path,
    version,
    config,
    findings,
    warnings: findings.map((finding) => formatFinding(path, finding)),
  };
}

/** Names in the config, the default of all methods included, as the ready line counts them. */
export function countNames({ methodConfig }: ServiceConfig): number {
  return methodConfig.reduce((sum, { names }) => sum + names.length, 0);
}

function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
