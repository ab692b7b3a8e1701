import type { App, BackendTlsFiles, ClientTlsFiles, FileContents } from '../app.js';
import type { Settings } from '../config/settings.js';
import { type FileSet, followFiles, type SetFollower, type SetWords } from './follow-files.js';
import type { FollowIo } from './follow-service-config.js';
import { backendTlsProblem, clientTlsProblem, datesProblem, describeCertificate } from './tls-problem.js';

/** The files of each side; null where the settings name none. */
export interface TlsFollowers {
  readonly clients: SetFollower | null;
  readonly backends: SetFollower | null;
}

/** Follows the files for TLS that the settings name. Each side counts for itself: a broken key of one keeps nothing from the other. */
export function followTls(
  settings: Settings,
  files: FileContents,
  app: Pick<App, 'secureClients' | 'secureBackends'>,
  io: Omit<FollowIo, 'apply'>,
): TlsFollowers {
  return { clients: followClients(settings, files, app, io), backends: followBackends(settings, files, app, io) };
}

function followClients(
  settings: Settings,
  files: FileContents,
  app: Pick<App, 'secureClients'>,
  io: Omit<FollowIo, 'apply'>,
): SetFollower | null {
  const clients = clientSide(settings);
  if (!names(clients)) return null;
  const set = { key: 'client_tls', what: 'TLS for clients', paths: clients, texts: clientSide(files) } as const;
  const judge = (texts: ClientTlsFiles): string | null => clientTlsProblem(texts, clients);
  const describe = (texts: ClientTlsFiles): SetWords => words('tlsCert', texts.tlsCert, clients.tlsCert);
  return followFiles({ ...set, judge, describe, apply: app.secureClients }, io);
}

function followBackends(
  settings: Settings,
  files: FileContents,
  app: Pick<App, 'secureBackends'>,
  io: Omit<FollowIo, 'apply'>,
): SetFollower | null {
  const backends = backendSide(settings);
  if (!names(backends)) return null;
  const set = { key: 'backend_tls', what: 'TLS to backends', paths: backends, texts: backendSide(files) } as const;
  const judge = (texts: BackendTlsFiles): string | null => backendTlsProblem(texts, backends);
  const describe = (texts: BackendTlsFiles): SetWords => words('backendCert', texts.backendCert, backends.backendCert);
  return followFiles({ ...set, judge, describe, apply: app.secureBackends }, io);
}

/** What a start warns of in files that are good. */
export function tlsWarnings(settings: ClientTlsFiles & BackendTlsFiles, files: FileContents): readonly string[] {
  return [
    ...words('tlsCert', files.tlsCert, settings.tlsCert).warnings,
    ...words('backendCert', files.backendCert, settings.backendCert).warnings,
  ];
}

function words(key: 'tlsCert' | 'backendCert', text: string | null, path: string | null): SetWords {
  if (text === null || path === null) return { fields: {}, message: 'CA certificates', warnings: [] };
  const certificate = describeCertificate(text);
  const warning = datesProblem(key, text, path, Date.now());
  return {
    fields: { certificate },
    message: `${certificate.subject}, valid until ${certificate.valid_until}`,
    warnings: warning === null ? [] : [warning],
  };
}

function names(paths: FileSet<string>): boolean {
  return Object.values(paths).some((path) => path !== null);
}

function clientSide({ tlsCert, tlsKey, tlsClientCa }: ClientTlsFiles): FileSet<keyof ClientTlsFiles> {
  return { tlsCert, tlsKey, tlsClientCa };
}

function backendSide({ backendCa, backendCert, backendKey }: BackendTlsFiles): FileSet<keyof BackendTlsFiles> {
  return { backendCa, backendCert, backendKey };
}
