import { expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { behave } from '../../support/raw-peer.js';
import { useScene, verdict } from '../../support/scene.js';
import { answerer, answerName, pin, type Several, several, unavailable } from './several.js';

/*
 * A connection is lost after its backend has gone on without it: its calls end, and nobody is blamed (D19, D21).
 */

const scene = useScene();
const names = ['a', 'b'];

/** Eight calls at a that are lost with its first connection, when what comes between has happened. */
async function loseOlder(pool: Several, between: (pool: Several) => Promise<void>): Promise<void> {
  pool.backend('a').behave(behave.silent);
  const calls = Array.from({ length: 8 }, () => pool.begin([pin('a')]));
  const { connection } = await pool.backend('a').waitForStream(8);
  await between(pool);
  connection.kill();
  for (const call of calls)
    expect(verdict(await call.done())).toMatchObject({ status: unavailable, reason: 'backend_lost' });
  expect(await pool.proxy.loss(0)).toMatchObject({ backend: 'a', generation: 1, attempts: 8, outcomes: { failed: 8 } });
}

it('HLW-16: after GOAWAY, when another connection is up: nobody is parked, and the record has its generation', async () => {
  const pool = await several(scene, names);
  await loseOlder(pool, async ({ backend }) => {
    backend('a').goaway(2 ** 31 - 1, 0, 'max_age');
    await backend('a').waitForConnection(2);
    backend('a').behave(answerName);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
  });
  expect(pool.proxy.healthChanges).toEqual([]);
  expect(answerer(await pool.call([pin('a')]))).toBe('a');
});

it('HLW-16: without GOAWAY, while a newer connection is up: the same', async () => {
  const pool = await several(scene, names, { settings: [[3, 8]], flags: ['--backend-connections', '2'] });
  await loseOlder(pool, async ({ backend }) => {
    const ninth = pool.begin([pin('a')]);
    const { connection } = await backend('a').waitForStream(9);
    expect(connection).toBe(backend('a').connections[1]);
    await backend('a').streams[8]?.answer(['a']);
    expect(answerer(await ninth.done())).toBe('a');
    backend('a').behave(answerName);
  });
  expect(pool.proxy.healthChanges).toEqual([]);
  expect(answerer(await pool.call([pin('a')]))).toBe('a');
});

it('HLW-16: of two connections without GOAWAY the newer is lost as well: parked', async () => {
  const pool = await several(scene, names, {
    settings: [[3, 8]],
    flags: ['--backend-connections', '2'],
    onStream: behave.silent,
  });
  const calls = Array.from({ length: 10 }, () => pool.begin([pin('a')]));
  await pool.backend('a').waitForStream(10);
  expect(pool.backend('a').connections).toHaveLength(2);
  expect(pool.proxy.app.pool.lose(backendId('a'), 'as told')).toBe(true);
  for (const call of calls) await call.done();
  expect(await pool.proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a', streak: 1 });
});

it('HLW-17: at an address that its name has left: nothing that ends there parks or releases the new one', async () => {
  const next = await scene.backend({ name: 'next', onStream: answerName });
  const pool = await several(scene, names);
  await loseOlder(pool, async ({ proxy }) => {
    const { pool: upstream } = proxy.app;
    const { length } = pool.backend('a').streams;
    const more = Array.from({ length: 3 }, () => pool.begin([pin('a')]));
    await pool.backend('a').waitForStream(length + 3);
    const endpoint = { kind: 'tcp', host: '127.0.0.1', port: next.port } as const;
    upstream.apply(upstream.backends.map((one) => (one.name === 'a' ? { ...specOf(one), endpoint } : specOf(one))));
    await next.waitForConnection(1);
    for (const stream of pool.backend('a').streams.slice(length)) stream.trailersOnly(unavailable);
    for (const call of more) expect((await call.done()).status).toBe(unavailable);
  });
  expect(pool.proxy.healthChanges).toEqual([]);
  expect(answerer(await pool.call([pin('a')]))).toBe('next');
});

type Upstream = Several['proxy']['app']['pool']['backends'][number];

function specOf({ id, name, target, endpoint, weight, priority, maxCalls }: Upstream) {
  return { id, name, target, endpoint, weight, priority, maxCalls };
}
