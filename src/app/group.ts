import type { Program } from '../admin/program.js';
import { type Admin, createAdmin } from '../admin/server.js';
import type { ServiceConfig } from '../config/service-config.js';
import type { Settings } from '../config/settings.js';
import { createHandshakes } from '../proxy/client-tls.js';
import { bindServer } from '../runtime/bind-server.js';
import type { ForkEvents, ForkedProcess } from '../runtime/processes.js';
import { secureContextOf } from '../upstream/connect.js';
import { shareOf, shareOfCalls } from '../workers/share-settings.js';
import { backendTls, clientTls } from './data-path.js';
import { createFinder, type Finder } from './finder.js';
import { nameRun } from './name-run.js';
import type { Ports } from './ports.js';
import type { BackendNews } from './told-finder.js';
import type { AppEvents, FileContents, ServedApp } from './types.js';
import type { ToPrimary, WorkerStart } from './worker-messages.js';
import { WorkerSet } from './worker-set.js';

/** Processes of the program, as the primary starts them. */
export interface GroupOptions {
  /** 2 or more. */
  readonly workers: number;
  readonly fork: (worker: number, events: ForkEvents) => ForkedProcess;
  /** How workers write their lines. */
  readonly log: WorkerStart['log'];
}

/**
 * The proxy as a primary with workers: the primary finds backends, keeps sessions, follows files and answers on the admin and
 * control listeners; the workers carry the calls.
 */
export function createGroup(
  options: GroupOptions,
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  ports: Ports,
  events: AppEvents,
  program: Program,
): ServedApp {
  const { clock, alarms } = ports;
  const instance = nameRun(ports.random);
  let current = { config, files };
  let draining = false;

  const set = new WorkerSet(
    { wanted: options.workers, fork: options.fork, startOf, ports },
    {
      onMessage: hear,
      onGone: (worker) => book.leave(worker),
      tell: events.tell,
      onDefect: (error) => events.onDefect(error, 'a message of a worker'),
    },
  );
  const finder: Finder = createFinder(
    settings,
    {
      endpoints: files.endpoints,
      localAddresses: ports.localAddresses ?? [],
      bound: {
        get listen() {
          return started ? set.listening : [];
        },
        get admin() {
          return started ? (admin?.address ?? null) : null;
        },
      },
      adminToken: files.adminToken,
      draining: () => draining,
      channelz: () => null,
    },
    ports,
    {
      onClientRefused: events.onClientRefused,
      onResolved: (outcome) => events.meters?.resolved(outcome),
      tell: events.tell,
      onNames: tellBackends,
      onLost: (id, detail) => set.tellAll({ type: 'lose', id, detail }),
    },
  );
  finder.sources.onChange(tellBackends);

  function newsFor(place: number): BackendNews {
    const { workers } = options;
    return {
      backends: finder.sources
        .specs()
        .map((spec) => ({ ...spec, maxCalls: shareOfCalls(spec.maxCalls, workers, place) })),
      names: finder.names(),
    };
  }

  function tellBackends(): void {
    for (const [worker, place] of set.places) set.tell(worker, { type: 'backends', backends: newsFor(place) });
  }

  function startOf(place: number): WorkerStart {
    return {
      type: 'start',
      settings: { ...shareOf(settings, options.workers, place), control: null },
      ...current,
      backends: newsFor(place),
      instance,
      log: options.log,
    };
  }

  function hear(worker: number, message: ToPrimary): void {
    switch (message.type) {
      case 'refresh':
        finder.sources.refresh(message.name);
        return;
      case 'health':
        set.tellAll(message, worker);
        return;
      default:
        return;
    }
  }
}
