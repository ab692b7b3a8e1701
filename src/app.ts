import type { Program } from './admin/program.js';
import { type Admin, createAdmin } from './admin/server.js';
import { createDataPath, type DataPath } from './app/data-path.js';
import { createFinder } from './app/finder.js';
import { nameRun } from './app/name-run.js';
import type { Ports } from './app/ports.js';
import type { App, AppEvents, FileContents } from './app/types.js';
import type { ServiceConfig } from './config/service-config.js';
import type { Settings } from './config/settings.js';
import { bindServer } from './runtime/bind-server.js';

export type { Ports } from './app/ports.js';
export type * from './app/types.js';

/** The whole proxy in one process. */
export function createApp(
  settings: Settings,
  config: ServiceConfig,
  files: FileContents,
  ports: Ports,
  events: AppEvents,
  /** For the admin endpoints; null: there is none. */
  program: Program | null = null,
): App {
  const instance = nameRun(ports.random);
  /** The addresses are bound. */
  let started = false;
  const finder = createFinder(
    settings,
    {
      endpoints: files.endpoints,
      localAddresses: ports.localAddresses ?? [],
      bound: {
        get listen() {
          return started ? path.listening : [];
        },
        get admin() {
          return started ? (admin?.address ?? null) : null;
        },
      },
      adminToken: files.adminToken,
      draining: () => path.draining,
      channelz: () => path.channelz,
    },
    ports,
    {
      onClientRefused: events.onClientRefused,
      onResolved: (outcome) => events.meters?.resolved(outcome),
      tell: events.tell,
      onLost: (id, detail) => path.pool.lose(id, detail, 'newest'),
    },
  );
  const { admin: adminListen } = settings;
  const path: DataPath = createDataPath(
    settings,
    config,
    files,
    { finder, program, instance, calling: instance, watched: adminListen !== null },
    ports,
    events,
  );
  const admin: Admin | null =
    adminListen === null
      ? null
      : createAdmin({
          bind: (server) => bindServer(server, '--admin', adminListen),
          listen: adminListen,
          hosts: settings.adminHost,
          token: files.adminToken,
          state: path.state,
          onDefect: (error) => events.onDefect(error, 'an admin request'),
        });

  async function stop(): Promise<void> {
    await Promise.all([path.stop(), admin?.stop()]);
  }

  return {
    async start() {
      await path.listen();
      try {
        await admin?.start();
        started = true;
        await path.backends.start();
      } catch (error) {
        path.close();
        await admin?.stop();
        throw error;
      }
    },
    get listening() {
      return path.listening;
    },
    get controlAddress() {
      return finder.controlAddress;
    },
    get adminAddress() {
      return admin?.address ?? null;
    },
    pool: path.pool,
    throttle: path.throttle,
    configure: path.configure,
    putEndpoints: (next) => finder.putEndpoints(next),
    resolveAgain: () => finder.sources.refreshAll(),
    secureClients: path.secureClients,
    secureBackends: path.secureBackends,
    ledger: path.ledger,
    quiesce: path.quiesce,
    async drain() {
      await path.quiesce();
      await stop();
    },
    stop,
  };
}
