import { createApp, type Ports } from '../app.js';
import { readSettings } from '../config/read-settings.js';
import { parseServiceConfig } from '../config/service-config.js';
import type { Meters } from '../proxy/meters.js';
import type { CallObserver } from '../proxy/observer.js';
import type { Bucket } from './gauge.js';

/** A proxy that the demo has started. */
export interface DemoProxy {
  /** On 127.0.0.1. */
  readonly port: number;
  /** `HOST:PORT` of the admin listener; null: there is none. */
  readonly admin: string | null;
  /** As it stands now; null where nothing throttles. */
  bucket(): Bucket | null;
  stop(): Promise<void>;
}

export interface DemoProxyOptions {
  readonly backends: readonly { readonly name: string; readonly port: number }[];
  readonly serviceConfigText: string;
  readonly observer: CallObserver;
  /** An address to listen at, or `off`; null: the usual one, or another port where that is taken. */
  readonly admin: string | null;
}

/** Resolves when the proxy listens and is connected to every backend; rejects with one sentence. */
export type StartProxy = (options: DemoProxyOptions) => Promise<DemoProxy>;

/** How long the backends, which are in this process, may take to be connected (ms). */
const connectPatience = 5000;

/** Where the dashboard is, if nothing else is there: the proxy's own default, and else a port of the system's choice. */
const usualAdmin = ['127.0.0.1:9901', '127.0.0.1:0'] as const;

/**
 * The whole proxy, as `hedgerow serve` runs it, but with ports of the system's choice.
 *
 * @param meters counts what the dashboard shows
 */
export function createStartProxy(ports: Ports, meters: Meters): StartProxy {
  return async (options) => {
    if (options.admin !== null) return startProxy(options, options.admin, ports, meters);
    const [usual, other] = usualAdmin;
    // Whatever keeps it from starting beside a taken port keeps it from starting again.
    return startProxy(options, usual, ports, meters).catch(() => startProxy(options, other, ports, meters));
  };
}

async function startProxy(
  { backends, serviceConfigText, observer }: DemoProxyOptions,
  admin: string,
  ports: Ports,
  meters: Meters,
): Promise<DemoProxy> {
  const targets = backends.flatMap(({ name, port }) => ['--backend', `${name}=127.0.0.1:${port}`]);
  const flags = ['--listen', '127.0.0.1:0', '--admin', admin, ...targets];
  const read = readSettings({ flags, env: {}, file: null });
  if (!read.ok) throw new Error(read.problem);
  const { settings } = read;
  const { config } = parseServiceConfig(serviceConfigText, { maxAttemptsLimit: settings.maxAttemptsLimit });
  if (config === null) throw new Error('the demo’s service config is not valid; hedgerow check tells why');

  const files = {
    ...{ tlsCert: null, tlsKey: null, tlsClientCa: null },
    ...{ backendCa: null, backendCert: null, backendKey: null },
    adminToken: null,
    endpoints: [],
  };
  let onConnected: () => void = () => {};
  let onDefect: (error: unknown) => void = () => {};
  const connected = new Promise<void>((resolve, reject) => {
    onConnected = resolve;
    onDefect = reject;
  });
  const app = createApp(settings, config, files, ports, {
    observer,
    meters,
    onBackendChange() {
      if (app.pool.backends.every(({ link }) => link === 'ready')) onConnected();
    },
    onClientRefused() {},
    onHealthChange() {},
    onLoss() {},
    tell() {},
    onDefect: (error) => onDefect(error),
  });
  await app.start();
  const late = ports.alarms.set(ports.clock.now() + connectPatience, () => {
    onDefect(new Error('the demo’s backends did not come up within 5 s'));
  });
  try {
    await connected;
  } catch (error) {
    await app.stop();
    throw error;
  } finally {
    ports.alarms.cancel(late);
  }
  return {
    admin: app.adminAddress,
    port: Number(app.listening[0]?.split(':').at(-1)),
    bucket: () => app.throttle.state,
    stop: () => app.stop(),
  };
}
