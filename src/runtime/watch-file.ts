import { stat } from 'node:fs/promises';
import type { AlarmHandle, Alarms, Clock } from './ports.js';
import { readText } from './read-text.js';

/** How often a watched file is looked at (ms): what a change waits for at most before it is noticed. */
const interval = 500;

export interface WatchPorts {
  readonly clock: Clock;
  /** That do not keep the process alive. */
  readonly alarms: Alarms;
  /** A text that is another one whenever the file may be; null for what can be read once only. Never rejects. */
  readonly stampOf: (path: string) => Promise<string | null>;
}

/**
 * Tells when the file that a path leads to may have changed: written, replaced, gone, come; once more at the first look, for
 * what happened before it.
 *
 * It looks at the file's stat twice a second and asks the kernel for no events. Those come from a directory: not from the one
 * that is swapped by a symbolic link further up (a Kubernetes ConfigMap), not from one that does not exist yet, not from most
 * network file systems; a look would be needed beside them all the same, and alone it is right in each of these cases.
 *
 * @param onChange may be told of a change that is none; must not throw
 * @returns stops the watch: `onChange` is not called again
 */
export function watchFile(path: string, ports: WatchPorts, onChange: () => void): () => void {
  let known: string | null = null;
  let next: AlarmHandle | null = null;
  let stopped = false;

  async function look(): Promise<void> {
    const stamp = await ports.stampOf(path);
    if (stopped) return;
    // The next look begins when this one is over: a file system that hangs is asked once.
    next = ports.alarms.set(ports.clock.now() + interval, () => void look());
    if (stamp === null || stamp === known) return;
    known = stamp;
    onChange();
  }

  void look();
  return () => {
    stopped = true;
    if (next !== null) ports.alarms.cancel(next);
  };
}

/** By stat, through symbolic links: one inode that was written at another time, another inode, none. */
export async function nodeStamp(path: string): Promise<string | null> {
  try {
    const found = await stat(path, { bigint: true });
    if (isPipe(found)) return null;
    const { dev, ino, size, mtimeNs, ctimeNs } = found;
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

/**
 * The text of a file that has been read before. A pipe, as a shell makes one of `<(command)`, is refused: it gives its text
 * once, and reading it again would wait for ever.
 *
 * @returns UTF-8; rejects as `node:fs/promises` does
 */
export async function readAgain(path: string): Promise<string> {
  if (isPipe(await stat(path))) throw new Error('not a regular file: it is read once, at the start');
  return readText(path);
}

/** Or a terminal, a device, a socket. */
function isPipe(found: { isFile(): boolean; isDirectory(): boolean }): boolean {
  return !found.isFile() && !found.isDirectory();
}
