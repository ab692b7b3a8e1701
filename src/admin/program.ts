/*
 * What the admin endpoints tell of the program around the proxy, its settings and the files that it follows, and what they
 * have it do. Field names are stable (docs/admin.md). Times are milliseconds since 1970.
 */

/** A finding in a service config, as `hedgerow check --json` prints it. */
export interface ConfigFinding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly severity: 'error' | 'warning';
  readonly path: string;
  readonly message: string;
  readonly rule: string;
}

/** What a read of a file came to. */
export type ReadOutcome = 'applied' | 'unchanged' | 'rejected';

/** A setting as a settings file would give it. */
export type SettingText = string | number | boolean | null;

export interface EffectiveSetting {
  readonly value: SettingText | readonly SettingText[];
  readonly source: 'flag' | 'environment' | 'file' | 'default';
}

export interface ServiceConfigView {
  /** Null: not named, and not there; `{}` is in force. */
  readonly path: string | null;
  readonly version: string;
  readonly applied_at: number;
  /** Names in it, the default of all methods included. */
  readonly methods: number;
  /** As a service config could have it, without what has no effect. */
  readonly content: object;
  readonly warnings: readonly ConfigFinding[];
  /** Why the file is not what is in force; null where it is. */
  readonly problem: string | null;
  /** The last text that was refused since the start; it stays when the file is well again. */
  readonly rejected: {
    readonly version: string;
    readonly rejected_at: number;
    readonly findings: readonly ConfigFinding[];
  } | null;
}

/** Files that count together: the endpoints file, the files of TLS on one side. */
export interface FollowedFilesView {
  /** By the settings that name them. */
  readonly paths: Readonly<Record<string, string>>;
  /** What the last read came to; the start's is `applied`. */
  readonly outcome: ReadOutcome;
  readonly read_at: number;
  /** Since when what is in force is so. */
  readonly applied_at: number;
  /** Why the files are not what is in force; null where they are. */
  readonly problem: string | null;
}

/** `GET /config`. */
export interface ConfigView {
  readonly settings: Readonly<Record<string, EffectiveSetting>>;
  readonly service_config: ServiceConfigView;
  /** Null where no setting names such files. */
  readonly endpoints: FollowedFilesView | null;
  readonly client_tls: FollowedFilesView | null;
  readonly backend_tls: FollowedFilesView | null;
}

/** What came of one file, or of several that count together. */
export interface FileReload {
  /** `pending`: the read takes longer than the answer waits; the log tells what comes of it. */
  readonly outcome: ReadOutcome | 'pending';
  readonly problem: string | null;
}

export interface NameReload {
  readonly backend: string;
  readonly target: string;
  /** `failed`: the last known members stay. */
  readonly outcome: 'applied' | 'unchanged' | 'failed' | 'pending';
  readonly problem: string | null;
}

/** `POST /reload`. */
export interface ReloadReport {
  /** With the version that is in force now. */
  readonly service_config: FileReload & { readonly version: string };
  readonly endpoints: FileReload | null;
  readonly client_tls: FileReload | null;
  readonly backend_tls: FileReload | null;
  /** Backends' names that were resolved again. */
  readonly names: readonly NameReload[];
}

/** How far the program is in its life. */
export type ProgramPhase = 'starting' | 'running' | 'draining' | 'drained';

export interface Program {
  readonly phase: ProgramPhase;
  config(): ConfigView;
  /** What of it `/live` tells each second: without the content, which may be long. */
  configBrief(): Pick<ServiceConfigView, 'path' | 'version' | 'problem'>;
  /** Reads all again, as SIGHUP does. Only while `running`; never rejects. */
  reload(): Promise<ReloadReport>;
  /** Drains, as SIGTERM does, and stays. Only while `running`. Returns what will happen, in a sentence. */
  drain(): string;
}
