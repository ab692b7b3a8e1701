import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { alive } from '../../support/alive.js';
import { behave } from '../../support/raw-peer.js';
import { backend, client, proxyTo, retry } from '../../support/rig.js';

const program = fileURLToPath(new URL('../../chaos/backend.mjs', import.meta.url));
const directory = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-killed-'));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** A backend that is a process of its own. It answers no unary call within the test. */
async function startProcess(name: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(program, [name, '127.0.0.1', '0', path.join(directory, 'executed')]);
  children.push(child);
  const [{ ports }] = (await alive('the backend to listen', once(child, 'message'))) as [{ ports: [number] }];
  const [port] = ports;
  child.send({ slowness: 600_000 });
  return { child, port };
}

describe('a backend that is killed under 200 calls', () => {
  it('takes none of them along for longer than 250 ms: each has ended or is at another backend by then', async () => {
    const { child, port } = await startProcess('a');
    const other = await backend({ name: 'b', onStream: behave.ok('moved') });
    const proxy = await proxyTo([{ name: 'a', port }, other], { serviceConfig: retry({ backoff: '0.001s' }) });
    const c = await client(proxy);
    const neighbour = c.call('/chaos.Retried/Unary', { headers: [['hedgerow-pin', 'b']], end: false });
    await other.waitForStream(1);

    const pinned = ['hedgerow-pin', 'a'] as const;
    const free = [pinned, ['hedgerow-allow-retry', 'true']] as const;
    const many = Array.from({ length: 50 });
    const moving = [...many, ...many].map(() => c.call('/chaos.Retried/Unary', { headers: free, messages: ['x'] }));
    const bound = many.map(() => c.call('/chaos.Retried/Unary', { headers: [pinned], messages: ['x'] }));
    const streams = many.map(() =>
      c.call('/chaos.Retried/Download', { headers: [...free, ['x-messages', '1000000']], messages: ['x'] }),
    );
    for (const call of streams) await call.whenMessages(1);
    expect([...moving, ...bound, ...streams].filter(({ end }) => end !== null)).toEqual([]);
    expect(other.streams).toHaveLength(1);

    // What the machine does not let this process run is not counted (test/support/alive.ts).
    const settled = Promise.all([
      other.waitForStream(101),
      ...bound.map((call) => call.done()),
      ...streams.map((call) => call.done()),
    ]);
    child.kill('SIGKILL');
    await alive('all 200 calls to end or to move', settled, 250);

    for (const call of bound) expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([14, 'backend_lost']);
    for (const call of streams)
      expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([14, 'backend_lost']);
    for (const call of moving) {
      await call.done();
      expect([call.status, call.trailer('hedgerow-backends'), call.trailer('hedgerow-retries')]).toEqual([
        0,
        'a,b',
        '1',
      ]);
    }
    expect(neighbour.end).toBeNull();
    neighbour.finish();
    await neighbour.done();
    expect(neighbour.status).toBe(0);
  });
});
