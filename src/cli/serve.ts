import { type AppEvents, createApp, type FileContents, type Ports } from '../app.js';
import type { SettingOrigins } from '../config/read-settings.js';
import type { Settings } from '../config/settings.js';
import { fileProblem } from './file-problem.js';
import { followEndpoints, type LoadedEndpoints, loadEndpoints } from './follow-endpoints.js';
import { type FollowIo, followServiceConfig } from './follow-service-config.js';
import { followTls, tlsWarnings } from './follow-tls.js';
import { countNames, type LoadedConfig, loadServiceConfig, serviceConfigPath } from './load-service-config.js';
import { ServedProgram } from './program.js';
import { backendTlsProblem, clientTlsProblem } from './tls-problem.js';

/** Where a run of the proxy tells what happens; telemetry implements it. */
export interface ServeLog extends AppEvents {
  /** The line that scripts wait for (contract). */
  ready(facts: ReadyFacts): void;
  warn(message: string): void;
  info(message: string): void;
  /** A line with fields of its own, about a file that is followed. */
  tell(level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface ReadyFacts {
  readonly listen: readonly string[];
  readonly admin: string | null;
  readonly control: string | null;
  readonly backends: number;
  readonly config: { readonly path: string | null; readonly version: string; readonly methods: number };
}

/** The outside, as `hedgerow serve` sees it. */
export interface ServeIo extends Pick<FollowIo, 'readAgain' | 'watch'> {
  /** UTF-8. Rejects as `node:fs/promises` does. */
  readonly readFile: (path: string) => Promise<string>;
  readonly stderr: (text: string) => void;
  readonly ports: Ports;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly log: ServeLog;
  /** Resolves when the first SIGTERM or SIGINT comes, with its name. */
  readonly terminated: Promise<string>;
  /** Calls `listener` at each SIGHUP from now on. */
  readonly onHangup: (listener: () => void) => void;
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
export async function serve(
  settings: Settings,
  origins: SettingOrigins,
  notes: readonly string[],
  io: ServeIo,
): Promise<number> {
  try {
    const loaded = await loadConfig(settings, io);
    const endpoints = await loadBackends(settings, io);
    const files = { ...(await loadFiles(settings, io)), endpoints: endpoints?.backends ?? [] };
    for (const note of [...notes, ...loaded.warnings, ...tlsWarnings(settings, files)]) io.log.warn(note);
    const { readAgain, watch, ports, wallNow, log } = io;
    const program = new ServedProgram({ settings, origins, loaded, ports, wallNow, info: log.info });
    const app = createApp(settings, loaded.config, files, ports, log, program);
    try {
      await app.start();
    } catch (error) {
      // What a start rejects with is a sentence about an address (runtime/bind-server.ts).
      throw new Refusal(error instanceof Error ? error.message : String(error), 1);
    }
    io.log.ready({
      listen: app.listening,
      admin: app.adminAddress,
      control: app.controlAddress,
      backends: settings.backend.length + files.endpoints.length,
      config: { path: loaded.path, version: loaded.version, methods: countNames(loaded.config) },
    });
    const reloaded: FollowIo['reloaded'] = (what, outcome) => log.meters?.reloaded(what, outcome);
    const outside = { readAgain, watch, ports, tell: log.tell, reloaded };
    const tls = followTls(settings, files, app, outside);
    program.run(app, {
      serviceConfig: followServiceConfig(serviceConfigPath(settings), loaded, { ...outside, apply: app.configure }),
      endpoints: endpoints === null ? null : followEndpoints(endpoints, app.putEndpoints, outside),
      clientTls: tls.clients,
      backendTls: tls.backends,
    });
    io.onHangup(() => program.readAgain());
    await program.end(await io.terminated);
    return 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    io.stderr(`hedgerow serve: ${error.message}\n`);
    return error.exitCode;
  }
}

async function loadConfig(settings: Settings, io: ServeIo): Promise<LoadedConfig> {
  const first = await loadServiceConfig(settings, io.readFile);
  if (!first.ok) throw new Refusal(first.problem, first.exitCode);
  return first.loaded;
}

/** Null: no endpoints file. */
async function loadBackends({ endpoints }: Settings, io: ServeIo): Promise<LoadedEndpoints | null> {
  if (endpoints === null) return null;
  const first = await loadEndpoints(endpoints, io.readFile);
  if (!first.ok) throw new Refusal(first.problem, first.exitCode);
  return first.loaded;
}

async function loadFiles(settings: Settings, io: ServeIo): Promise<Omit<FileContents, 'endpoints'>> {
  const read = async (path: string | null): Promise<string | null> => {
    if (path === null) return null;
    try {
      return await io.readFile(path);
    } catch (error) {
      throw new Refusal(fileProblem(path, error), 2);
    }
  };
  const files = {
    tlsCert: await read(settings.tlsCert),
    tlsKey: await read(settings.tlsKey),
    tlsClientCa: await read(settings.tlsClientCa),
    backendCa: await read(settings.backendCa),
    backendCert: await read(settings.backendCert),
    backendKey: await read(settings.backendKey),
    adminToken: (await read(settings.adminTokenFile))?.trim() ?? null,
  };
  const problem = clientTlsProblem(files, settings) ?? backendTlsProblem(files, settings);
  if (problem !== null) throw new Refusal(problem, 2);
  return files;
}
