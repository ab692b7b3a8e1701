import type { HealthChange } from '../balance/health-types.js';
import type { BackendSetting } from '../config/backend.js';
import type { ServiceConfig } from '../config/service-config.js';
import type { Throttle } from '../policy/throttle.js';
import type { LossRecord } from '../proxy/losses.js';
import type { Meters } from '../proxy/meters.js';
import type { CallObserver } from '../proxy/observer.js';
import type { Tracing } from '../proxy/tracing.js';
import type { AskedName } from '../upstream/sources.js';
import type { BackendChange, UpstreamPool } from '../upstream/types.js';

/** For TLS with clients, PEM. */
export interface ClientTlsFiles {
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly tlsClientCa: string | null;
}

/** For TLS with backends, PEM. */
export interface BackendTlsFiles {
  readonly backendCa: string | null;
  readonly backendCert: string | null;
  readonly backendKey: string | null;
}

/** What the files that the settings name hold, read by the process boundary; null where a setting names none. */
export interface FileContents extends ClientTlsFiles, BackendTlsFiles {
  readonly adminToken: string | null;
  /** Of `--endpoints`; empty where there is none. */
  readonly endpoints: readonly BackendSetting[];
}

/** Where the app tells of what happens. None may throw. */
export interface AppEvents {
  readonly observer: CallObserver;
  /** Counts what happens, and prints it at `/metrics`; default: nothing is counted. */
  readonly meters?: Meters;
  /** Default: no traces. */
  readonly tracing?: Tracing | null;
  readonly onBackendChange: (change: BackendChange) => void;
  readonly onHealthChange: (change: HealthChange) => void;
  /** What became of the attempts of a backend that was lost (D34). */
  readonly onLoss: (loss: LossRecord) => void;
  readonly onClientRefused: (peer: string, detail: string) => void;
  readonly onDefect: (error: unknown, call: string) => void;
  /** A line of the log with fields of its own. */
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** The whole proxy in one process. */
export interface App {
  /** Binds everything and connects to the backends. Rejects with one sentence. */
  start(): Promise<void>;
  /** `host:port` as really bound. */
  readonly listening: readonly string[];
  readonly adminAddress: string | null;
  /** Of the control services. */
  readonly controlAddress: string | null;
  readonly pool: UpstreamPool;
  /** The token bucket that all calls share. */
  readonly throttle: Pick<Throttle, 'state'>;
  /** Puts another service config in force, whole, between two calls: those in flight keep the one that they began under (CFG-10). */
  configure(config: ServiceConfig): void;
  /** Other contents of `--endpoints`. */
  putEndpoints(backends: readonly BackendSetting[]): void;
  /** Asks for all names of backends again, now. */
  resolveAgain(): readonly AskedName[];
  /** Other certificates for clients, for handshakes from now on. Throws one sentence where they are not usable. */
  secureClients(files: ClientTlsFiles): void;
  /** Other certificates for backends, for connections from now on. Throws one sentence where they are not usable. */
  secureBackends(files: BackendTlsFiles): void;
  /** Calls in flight, replay and relay bytes, alarms, connections: the leak ledger. */
  ledger(): Ledger;
  /**
   * Takes no more calls and finishes those in flight (contract, SIGTERM). The admin listener and the backends stay. Asked
   * again it is the same drain.
   */
  quiesce(): Promise<void>;
  /** The same, then stops. */
  drain(): Promise<void>;
  /** Stops now. */
  stop(): Promise<void>;
}

/** All zero when nothing is going on, but for connections that are kept. */
export interface Ledger {
  readonly calls: number;
  readonly clients: number;
  readonly replayBytes: number;
  readonly relayBytes: number;
  readonly upstreamStreams: number;
  /** Calls that have a hold of a session. */
  readonly sessionCalls: number;
}
