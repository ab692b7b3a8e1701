import { createHash } from 'node:crypto';
import { type AppEvents, createApp, type FileContents, type Ports } from '../app.js';
import { formatFinding } from '../config/finding.js';
import { compileMethods } from '../config/methods.js';
import { printable } from '../config/quote.js';
import { parseServiceConfig, type ServiceConfig } from '../config/service-config.js';
import { defaultServiceConfig, type Settings } from '../config/settings.js';
import { fileProblem } from './file-problem.js';
import { tlsProblem } from './tls-problem.js';

/** Where a run of the proxy tells what happens; telemetry implements it. */
export interface ServeLog extends AppEvents {
  /** The line that scripts wait for (contract). */
  ready(facts: ReadyFacts): void;
  warn(message: string): void;
  info(message: string): void;
}

export interface ReadyFacts {
  readonly listen: readonly string[];
  readonly admin: string | null;
  readonly backends: number;
  readonly config: { readonly path: string | null; readonly version: string; readonly methods: number };
}

/** The outside, as `hedgerow serve` sees it. */
export interface ServeIo {
  readonly readFile: (path: string) => Promise<string>;
  readonly stderr: (text: string) => void;
  readonly ports: Ports;
  readonly log: ServeLog;
  /** Resolves when the first SIGTERM or SIGINT comes, with its name. */
  readonly terminated: Promise<string>;
}

interface LoadedConfig {
  readonly path: string | null;
  readonly version: string;
  readonly config: ServiceConfig;
  readonly warnings: readonly string[];
}

/** One line for stderr that ends the process. */
class Refusal extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Runs the proxy until it is told to end. Resolves to the exit code; its own errors have been told by then. */
export async function serve(settings: Settings, notes: readonly string[], io: ServeIo): Promise<number> {
  try {
    const loaded = await loadServiceConfig(settings, io);
    const files = await loadFiles(settings, io);
    for (const note of [...notes, ...loaded.warnings]) io.log.warn(note);
    const methods = compileMethods(loaded.config);
    const app = createApp(settings, loaded.config, files, io.ports, io.log);
    try {
      await app.start();
    } catch (error) {
      // What a start rejects with is a sentence about an address (runtime/bind-server.ts).
      throw new Refusal(error instanceof Error ? error.message : String(error), 1);
    }
    io.log.ready({
      listen: app.listening,
      admin: app.adminAddress,
      backends: settings.backend.length,
      config: { path: loaded.path, version: loaded.version, methods: methods.names },
    });
    const signal = await io.terminated;
    io.log.info(`${signal}: draining, at most ${settings.drainTimeout} ms`);
    await app.drain();
    io.log.info('drained');
    return 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    io.stderr(`hedgerow serve: ${error.message}\n`);
    return error.exitCode;
  }
}

async function loadServiceConfig(settings: Settings, io: ServeIo): Promise<LoadedConfig> {
  const named = settings.serviceConfig;
  const path = named ?? defaultServiceConfig;
  let text: string;
  try {
    text = await io.readFile(path);
  } catch (error) {
    if (named !== null || !isMissing(error)) throw new Refusal(fileProblem(path, error), 2);
    return { path: null, version: versionOf('{}'), config: emptyConfig(settings), warnings: [] };
  }
  const { findings, config } = parseServiceConfig(text, { maxAttemptsLimit: settings.maxAttemptsLimit });
  const errors = findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (config === null || first !== undefined) {
    const more = errors.length > 1 ? `; ${errors.length - 1} more, all told by: hedgerow check ${printable(path)}` : '';
    throw new Refusal(`${first === undefined ? printable(path) : formatFinding(path, first)}${more}`, 1);
  }
  return { path, version: versionOf(text), config, warnings: findings.map((finding) => formatFinding(path, finding)) };
}

function emptyConfig({ maxAttemptsLimit }: Settings): ServiceConfig {
  return { methodConfig: [], throttling: null, maxAttemptsLimit };
}

function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function loadFiles(settings: Settings, io: ServeIo): Promise<FileContents> {
  const read = async (path: string | null): Promise<string | null> => {
    if (path === null) return null;
    try {
      return await io.readFile(path);
    } catch (error) {
      throw new Refusal(fileProblem(path, error), 2);
    }
  };
  const files: FileContents = {
    tlsCert: await read(settings.tlsCert),
    tlsKey: await read(settings.tlsKey),
    backendCa: await read(settings.backendCa),
    adminToken: (await read(settings.adminTokenFile))?.trim() ?? null,
  };
  const problem = tlsProblem(files, settings);
  if (problem !== null) throw new Refusal(problem, 2);
  return files;
}
