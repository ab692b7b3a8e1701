import { lstat, unlink } from 'node:fs/promises';
import net from 'node:net';

/** Where a server listens. `host` is an IP literal without brackets, or a host name. */
export type BindAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/**
 * Makes a server listen. A unix socket that a killed process has left behind is taken over, one that answers never.
 *
 * @param flag the setting that named the address, for the error
 * @returns the address really bound, as `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`; rejects with one sentence
 */
export async function bindServer(server: net.Server, flag: string, address: BindAddress): Promise<string> {
  try {
    await listen(server, address);
  } catch (error) {
    if (address.kind !== 'unix' || codeOf(error) !== 'EADDRINUSE' || !(await isAbandoned(address.path)))
      throw new Error(bindProblem(flag, address, error), { cause: error });
    await unlink(address.path).catch(() => {});
    try {
      await listen(server, address);
    } catch (again) {
      throw new Error(bindProblem(flag, address, again), { cause: again });
    }
  }
  const bound = server.address();
  return showAddress(
    bound === null || typeof bound === 'string' ? address : { kind: 'tcp', host: bound.address, port: bound.port },
  );
}

/** As the ready line and the log print it. */
export function showAddress(address: BindAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

function listen(server: net.Server, address: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => (): void => {
      server.off('error', fail);
      server.off('listening', done);
      act();
    };
    const fail = (error: Error): void => settle(() => reject(error))();
    const done = settle(resolve);
    server.on('error', fail);
    server.on('listening', done);
    if (address.kind === 'unix') server.listen(address.path);
    else server.listen(address.port, address.host);
  });
}

/** Whether the path is a socket that nobody answers on. */
async function isAbandoned(path: string): Promise<boolean> {
  const file = await lstat(path).catch(() => null);
  if (file === null || !file.isSocket()) return false;
  return new Promise((resolve) => {
    const probe = net.connect({ path });
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'));
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function bindProblem(flag: string, address: BindAddress, error: unknown): string {
  const place = `${flag} ${showAddress(address)}`;
  const inPath = address.kind === 'unix';
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `${place}: the address is in use; stop what holds it or choose another ${inPath ? 'path' : 'port'}`;
    case 'EACCES':
      return `${place}: not permitted; choose ${inPath ? 'a path in a directory that is yours' : 'a port above 1023'}`;
    case 'EADDRNOTAVAIL':
      return `${place}: this machine has no such address`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${place}: this host name has no address here`;
    case 'ENOENT':
    case 'ENOTDIR':
      return `${place}: there is no such directory`;
    default:
      return `${place}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
