import type { Program } from '../admin/program.js';
import { createApp } from '../app.js';
import type { ServiceConfig } from '../config/service-config.js';
import type { Settings } from '../config/settings.js';
import { callShareWarnings, workersOf } from '../workers/share-settings.js';
import { createGroup, type GroupOptions } from './group.js';
import type { Ports } from './ports.js';
import type { AppEvents, FileContents, ServedApp } from './types.js';

export interface ServedOptions extends Omit<GroupOptions, 'workers'> {
  /** Cores that the process may use, for `--workers auto`. */
  readonly cores: number;
}

/** The proxy in one process, or in as many workers as `--workers` says and a primary. */
export function createServed(
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  ports: Ports,
  events: AppEvents,
  program: Program,
  { cores, ...options }: ServedOptions,
): ServedApp {
  const workers = workersOf(settings.workers, cores);
  if (workers === 1) return createApp(settings, config, files, ports, events, program);
  for (const words of callShareWarnings([...settings.backend, ...files.endpoints], workers))
    events.tell('warn', { event: 'workers' }, words);
  return createGroup({ ...options, workers }, settings, config, files, ports, events, program);
}
