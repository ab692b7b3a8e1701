import { describe, expect, it } from 'vitest';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { parseBackend } from '../../../src/config/backend.js';
import { behave } from '../../support/raw-peer.js';
import { path, useScene } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';
import { RegistryClient } from '../control/rig.js';

/*
 * What the rows of /backends take from the parts of the proxy: sockets are real, time is not.
 */

const scene = useScene();

const admin = ['--admin', '127.0.0.1:0'];

async function ask(address: string | null, url: string, method = 'GET'): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`http://${address}${url}`, { method });
  return { status: answer.status, body: await answer.json() };
}

async function rowsOf(address: string | null): Promise<readonly BackendRow[]> {
  return ((await ask(address, '/backends')).body as { readonly backends: readonly BackendRow[] }).backends;
}

function setting(name: string, port: number) {
  const parsed = parseBackend(`${name}=127.0.0.1:${port}`);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

describe('since when', () => {
  it('ADM-04: a backend is ready from its connection, and drains from its removal', async () => {
    const time = createVirtualTime();
    const b1 = await scene.backend({ name: 'b1', onStream: behave.silent });
    const proxy = await scene.proxy({ backends: {}, time, flags: [...admin, '--endpoints', 'nowhere.json'] });
    proxy.app.putEndpoints([setting('b1', b1.port)]);
    time.advance(100);
    await proxy.change(0);
    time.advance(1000);
    expect(await rowsOf(proxy.admin)).toEqual([
      expect.objectContaining({ name: 'b1', source: 'file', state: 'ready', since_ms: 1000 }),
    ]);

    const client = await scene.client(proxy);
    const call = client.call(path);
    const stream = await b1.nextStream();
    await ask(proxy.admin, '/backends/b1/park', 'POST');
    await ask(proxy.admin, '/backends/b1/unpark', 'POST');
    proxy.app.putEndpoints([]);
    time.advance(500);
    const leaving = { source: null, state: 'draining', since_ms: 500, in_flight: 1, release_route: 'operator' };
    expect(await rowsOf(proxy.admin)).toEqual([expect.objectContaining(leaving)]);
    expect(await ask(proxy.admin, '/backends/b1/unpark', 'POST')).toMatchObject({ status: 409 });

    await stream.answer(['late']);
    expect((await call.done()).status).toBe(0);
    await proxy.change(1);
    expect(await rowsOf(proxy.admin)).toEqual([]);
    proxy.app.putEndpoints([setting('b1', b1.port)]);
    await proxy.change(2);
    expect(await rowsOf(proxy.admin)).toEqual([
      expect.objectContaining({ state: 'ready', since_ms: 0, generation: 2, release_route: null }),
    ]);
  });
});

describe('from where', () => {
  it('ADM-01: a row names its source', async () => {
    const b1 = await scene.backend({ name: 'b1' });
    const proxy = await scene.proxy({ backends: { b1: b1.port }, flags: [...admin, '--control', '127.0.0.1:0'] });
    const registry = new RegistryClient(String(proxy.app.controlAddress), {});
    try {
      await registry.register({ name: 'r1', target: b1.address });
      expect((await rowsOf(proxy.admin)).map(({ name, source }) => [name, source])).toEqual([
        ['b1', 'flags'],
        ['r1', 'registry'],
      ]);
    } finally {
      registry.close();
    }
  });
});
