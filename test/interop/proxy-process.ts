import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { alive } from '../support/alive.js';
import { built } from '../support/build.js';
import { heardLine } from './complaints.js';

/** The built program before one backend, for as long as a test file runs. */
export interface ProxyProcess {
  readonly port: number;
  /** Ends it as SIGTERM does, so that it has said all; its clients are gone before. */
  stop(): Promise<void>;
}

export async function startProxyProcess(backendPort: number, serviceConfig: unknown = {}): Promise<ProxyProcess> {
  const main = await built();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'hedgerow-interop-'));
  await writeFile(path.join(directory, 'service-config.json'), JSON.stringify(serviceConfig));
  const flags = ['--listen', '127.0.0.1:0', '--admin', 'off', '--backend', `b1=127.0.0.1:${backendPort}`];
  const child = spawn(process.execPath, [main, 'serve', ...flags], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    port: await alive('the proxy to be ready', portOf(child)),
    async stop() {
      child.kill('SIGTERM');
      const code = await alive('the proxy to end', closed).finally(() => child.kill('SIGKILL'));
      if (code !== 0) throw new Error(`the proxy ended with ${code}`);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Reads its output to the end, so that it never blocks on it. */
function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`the proxy ended with ${code}`)));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      heardLine(line);
      const { msg, listen } = JSON.parse(line) as { msg?: string; listen?: readonly string[] };
      if (msg === 'ready') resolve(Number(listen?.[0]?.split(':').at(-1)));
    });
  });
}
