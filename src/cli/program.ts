import type { ConfigView, FileReload, NameReload, Program, ProgramPhase, ReloadReport } from '../admin/program.js';
import { wallOffset } from '../app/wall-offset.js';
import type { App, Ports } from '../app.js';
import type { SettingOrigins } from '../config/read-settings.js';
import type { Settings } from '../config/settings.js';
import { showSettings } from '../config/show-settings.js';
import type { ReadResult } from './asked-reads.js';
import { type ConfigSource, startConfigSource } from './config-source.js';
import { briefSource, describeSet, describeSource, type ToWall } from './describe-config.js';
import type { SetFollower } from './follow-files.js';
import type { ConfigFollower } from './follow-service-config.js';
import { type LoadedConfig, serviceConfigPath } from './load-service-config.js';

/** All files that a run follows; null where no setting names them. */
export interface Followers {
  readonly serviceConfig: ConfigFollower;
  readonly endpoints: SetFollower | null;
  readonly clientTls: SetFollower | null;
  readonly backendTls: SetFollower | null;
}

export interface ProgramOptions {
  readonly settings: Settings;
  readonly origins: SettingOrigins;
  /** What the start has read. */
  readonly loaded: LoadedConfig;
  readonly ports: Pick<Ports, 'clock' | 'alarms'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly info: (message: string) => void;
}

type Running = Pick<App, 'quiesce' | 'drain' | 'resolveAgain'>;

/** The longest that an answer to POST /reload waits for a read or a look-up (ms). */
const patience = 5000;

/**
 * A run of the proxy from its start to its end: what it follows and how it ends, for signals and admin endpoints alike. The
 * drain is one, whoever asks for it first.
 */
export class ServedProgram implements Program {
  phase: ProgramPhase = 'starting';
  private readonly options: ProgramOptions;
  private readonly toWall: ToWall;
  private readonly atStart: ConfigSource;
  /** A signal has come. */
  private ending = false;
  private running: { readonly app: Running; readonly followers: Followers } | null = null;

  constructor(options: ProgramOptions) {
    const { settings, loaded, ports, wallNow } = options;
    this.options = options;
    // Taken once, so that one moment is told alike each time.
    const offset = wallOffset(ports.clock, wallNow);
    this.toWall = (at) => Math.round(offset + at);
    this.atStart = startConfigSource(serviceConfigPath(settings), loaded, ports.clock.now());
  }

  /** It is ready. */
  run(app: Running, followers: Followers): void {
    this.running = { app, followers };
    this.phase = 'running';
  }

  configBrief(): ReturnType<typeof briefSource> {
    return briefSource(this.source);
  }

  private get source(): ConfigSource {
    return this.running?.followers.serviceConfig.source ?? this.atStart;
  }

  config(): ConfigView {
    const { settings, origins } = this.options;
    const followers = this.running?.followers ?? null;
    const set = (follower: SetFollower | null | undefined) =>
      follower ? describeSet(follower.state, this.toWall) : null;
    return {
      settings: showSettings(settings, origins),
      service_config: describeSource(this.source, this.toWall),
      endpoints: set(followers?.endpoints),
      client_tls: set(followers?.clientTls),
      backend_tls: set(followers?.backendTls),
    };
  }

  /** SIGHUP: what comes of it is told in the log. */
  readAgain(): void {
    if (this.running === null) return;
    const { app, followers } = this.running;
    app.resolveAgain();
    for (const follower of [followers.serviceConfig, ...setsOf(followers)]) void follower.ask();
  }

  async reload(): Promise<ReloadReport> {
    if (this.running === null) throw new Error('there is nothing to read again before the start is over');
    const { app, followers } = this.running;
    const names = Promise.all(app.resolveAgain().map((name) => this.nameOf(name)));
    const [service, endpoints, clientTls, backendTls, found] = await Promise.all([
      this.fileOf(followers.serviceConfig.ask()),
      this.fileOrNull(followers.endpoints),
      this.fileOrNull(followers.clientTls),
      this.fileOrNull(followers.backendTls),
      names,
    ]);
    return {
      service_config: { ...service, version: followers.serviceConfig.source.inForce.version },
      endpoints,
      client_tls: clientTls,
      backend_tls: backendTls,
      names: found.filter((name) => name !== null),
    };
  }

  drain(): string {
    const app = this.leave();
    const words = this.drainWords();
    this.options.info(words);
    void app.quiesce().then(() => {
      if (this.ending) return;
      this.phase = 'drained';
      this.options.info(`drained; ${staying}`);
    });
    return `${words}; ${staying}`;
  }

  /** The first signal has come: drains, or finishes the drain that was begun, and stops. */
  async end(signal: string): Promise<void> {
    const { phase } = this;
    const { info } = this.options;
    const app = this.leave();
    this.ending = true;
    if (phase === 'drained') info(`${signal}: drained before, the process ends`);
    else if (phase === 'draining') info(`${signal}: draining already, the process ends when that is over`);
    else info(`${signal}: ${this.drainWords()}`);
    await app.drain();
    if (phase !== 'drained') info('drained');
  }

  /** Nothing is read any more. */
  private leave(): Running {
    if (this.running === null) throw new Error('what has not started cannot drain');
    const { app, followers } = this.running;
    for (const follower of [followers.serviceConfig, ...setsOf(followers)]) follower.stop();
    if (this.phase === 'running') this.phase = 'draining';
    return app;
  }

  private drainWords(): string {
    const { preStopDelay, drainTimeout } = this.options.settings;
    const first = preStopDelay === 0 ? '' : `not ready, after ${preStopDelay} ms `;
    return `${first}draining, at most ${drainTimeout} ms`;
  }

  private async fileOf(read: Promise<ReadResult | null>): Promise<FileReload> {
    const result = await this.within(read);
    if (result === late) return { outcome: 'pending', problem: `not read after ${patience} ms` };
    return result ?? { outcome: 'unchanged', problem: 'not read: the proxy is draining' };
  }

  private fileOrNull(follower: SetFollower | null): Promise<FileReload | null> {
    return follower === null ? Promise.resolve(null) : this.fileOf(follower.ask());
  }

  /** Null: nobody wants the name any more. */
  private async nameOf({
    name,
    target,
    resolved,
  }: ReturnType<Running['resolveAgain']>[number]): Promise<NameReload | null> {
    const result = await this.within(resolved);
    if (result === null) return null;
    if (result === late) {
      return { backend: name, target, outcome: 'pending', problem: `not resolved after ${patience} ms` };
    }
    const outcome = result.outcome === 'changed' ? 'applied' : result.outcome;
    return { backend: name, target, outcome, problem: result.problem };
  }

  /** A file on a dead server, or a resolver that is silent, must not hold the answer. */
  private within<T>(promise: Promise<T>): Promise<T | typeof late> {
    const { clock, alarms } = this.options.ports;
    return new Promise((resolve) => {
      const alarm = alarms.set(clock.now() + patience, () => resolve(late));
      void promise.then((value) => {
        alarms.cancel(alarm);
        resolve(value);
      });
    });
  }
}

const late = Symbol('late');

const staying = 'the process stays until SIGTERM or SIGINT';

function setsOf({ endpoints, clientTls, backendTls }: Followers): readonly SetFollower[] {
  return [clientTls, backendTls, endpoints].filter((follower) => follower !== null);
}
