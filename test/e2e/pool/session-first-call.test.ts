import { describe, expect, it } from 'vitest';
import { sessionKeyOf } from '../../../src/runtime/session-key.js';
import { account, hedgeConfig } from '../../support/policies.js';
import { behave } from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { path, retryConfig, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';
import {
  allow,
  answerer,
  answerName,
  exclude,
  idOn,
  idsOn,
  park,
  pin,
  refusedStream,
  remove,
  retryOff,
  session,
  several,
  unavailable,
} from './several.js';

/*
 * The first call of a session over the wire (D29–D31): who gets it, and what becomes of its claim.
 */

const scene = useScene();
const names = ['a', 'b', 'c'];
const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });

describe('the first calls of a session', () => {
  it('SEN-01: 24 at once all come to one backend; of 24 sessions each backend has some', async () => {
    const id = idOn('b', names);
    const pool = await several(scene, names, { onStream: behave.silent });
    const calls = Array.from({ length: 24 }, () => pool.begin([session(id)]));
    const home = pool.backend('b');
    // All are open before any is answered.
    await home.waitForStream(24);
    expect(pool.streams().reduce((sum, count) => sum + count)).toBe(24);
    for (const stream of home.streams) void stream.answer([home.name]);
    for (const call of calls) expect(answerer(await call.done())).toBe(home.name);

    for (const name of names) pool.backend(name).behave(answerName);
    const others = Array.from({ length: 24 }, (_, n) => pool.call([session(`other ${n}`)]));
    expect(new Set((await Promise.all(others)).map(answerer))).toEqual(new Set(names));
  });

  it('SEN-02: hedgerows that see the same backends place new ids alike', async () => {
    const one = await several(scene, names);
    const other = await scene.proxy({
      backends: Object.fromEntries(names.toReversed().map((name) => [name, one.backend(name).port])),
    });
    const client = await scene.client(other);
    for (let n = 0; n < 24; n += 1) {
      const headers = [session(`id ${n}`)];
      const here = await one.call(headers);
      const there = await client.call(path, { messages: ['hi'], headers }).done();
      expect([n, answerer(there)]).toEqual([n, answerer(here)]);
    }
  });

  it.each([
    ['REFUSED_STREAM', behave.reset(refusedStream)],
    ['GOAWAY', ({ connection }: RecordedStream) => connection.goaway(0, 0)],
  ] as const)('SEN-03: one that is refused by %s is placed anew, and the session is there', async (_how, refuse) => {
    const id = idOn('a', names);
    const pool = await several(scene, names, { serviceConfig });
    pool.backend('a').script([refuse]);
    const first = await pool.call([session(id)]);
    const home = answerer(first);
    expect(['b', 'c']).toContain(home);
    expect(account(first)).toEqual({ backend: home, retries: '0', backends: `a,${home}` });
    for (let n = 0; n < 6; n += 1) expect(answerer(await pool.call([session(id)]))).toBe(home);
    expect(pool.backend('a').streams).toHaveLength(1);
  });

  it('SEN-31: comes to a backend whose park is over, and the session is there', async () => {
    const pool = await several(scene, names);
    const ids = idsOn('a', names);
    const [id, other] = [ids.next().value, ids.next().value];
    await park(pool, 'a');
    pool.time.advance(59_999);
    expect(answerer(await pool.call([session(other)]))).not.toBe('a');
    pool.time.advance(1);
    for (let n = 0; n < 2; n += 1) expect(answerer(await pool.call([session(id)]))).toBe('a');
    expect(await pool.proxy.health(1)).toMatchObject({ kind: 'released', id: 'a', route: 'lapsed_probe' });
  });

  it('SEN-04: one whose backend cannot be connected is placed anew, and the session is there', async () => {
    const id = idOn('a', names);
    const time = createVirtualTime();
    // Takes the connection and says nothing: the connect is under way.
    const dead = await scene.backend({ name: 'a', greet: false });
    const [b, c] = [
      await scene.backend({ name: 'b', onStream: answerName }),
      await scene.backend({ name: 'c', onStream: answerName }),
    ];
    const proxy = await scene.proxy({
      backends: { a: dead.port, b: b.port, c: c.port },
      connected: false,
      time,
      serviceConfig,
    });
    await proxy.change(1);
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'], headers: [session(id)] });
    const connection = await dead.waitForConnection(1);
    await client.ping();
    expect(proxy.app.pool.backends.map(({ queued }) => queued)).toEqual([1, 0, 0]);
    connection.kill();
    const home = answerer(await call.done());
    expect(['b', 'c']).toContain(home);
    expect(account(call)).toEqual({ backend: home, retries: '0' });
    for (let n = 0; n < 6; n += 1)
      expect(answerer(await client.call(path, { messages: ['hi'], headers: [session(id)] }).done())).toBe(home);
  });

  it('SEN-05: one that never left, in line for a stream, is placed anew, and the session is there', async () => {
    const id = idOn('a', names);
    const pool = await several(scene, names, {
      serviceConfig,
      settings: [[3, 1]],
      flags: ['--backend-connections', '1'],
      onStream: behave.silent,
    });
    const holder = pool.begin([pin('a'), retryOff]);
    await pool.backend('a').waitForStream(1);
    const call = pool.begin([session(id)]);
    await pool.client.ping();
    expect(pool.proxy.app.pool.backends.map(({ queued }) => queued)).toEqual([1, 0, 0]);
    for (const name of ['b', 'c']) pool.backend(name).behave(answerName);
    pool.backend('a').kill();
    const home = answerer(await call.done());
    expect(['b', 'c']).toContain(home);
    expect(account(call)).toEqual({ backend: home, retries: '0' });
    expect((await holder.done()).status).toBe(unavailable);
    expect(answerer(await pool.call([session(id)]))).toBe(home);
  });

  it('SEN-06: one that is refused when another call has used the session stays, and so does the session', async () => {
    const id = idOn('a', names);
    const pool = await several(scene, names, { serviceConfig, onStream: behave.silent });
    const a = pool.backend('a');
    const first = pool.begin([session(id)]);
    const stream = await a.waitForStream(1);
    const second = pool.begin([session(id)]);
    const other = await a.waitForStream(2);
    stream.reset(refusedStream);
    const again = await a.waitForStream(3);
    again.reset(refusedStream);
    expect(verdict(await first.done())).toEqual({ status: unavailable, reason: 'pinned', retries: '0' });
    expect(account(first)).toMatchObject({ backends: 'a,a', processed: 'no' });
    await other.answer(['a']);
    expect(answerer(await second.done())).toBe('a');
    a.behave(answerName);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    expect(pool.streams()).toEqual([4, 0, 0]);
  });

  it('SEN-07: one that fails otherwise is told so, and the session stays; a call that may go elsewhere does', async () => {
    const id = idOn('a', names);
    const pool = await several(scene, names, { serviceConfig });
    const a = pool.backend('a');
    for (const [how, reason] of [
      [behave.fail(unavailable), 'pinned'],
      [behave.fail(5), 'fatal_status'],
      [behave.kill, 'backend_lost'],
    ] as const) {
      const links = pool.proxy.changes.length;
      a.behave(how);
      const fresh = await pool.call([session(id)]);
      expect(verdict(fresh)).toMatchObject({ reason, retries: '0' });
      // A killed one is lost, then connected again.
      if (reason === 'backend_lost') await pool.proxy.change(links + 1);
      a.behave(answerName);
      expect(answerer(await pool.call([session(id)]))).toBe('a');
    }
    expect(pool.streams()).toEqual([6, 0, 0]);
    a.behave(behave.fail(unavailable));
    const free = pool.begin([pin('a'), allow]);
    await pool.settled();
    pool.time.advance(10);
    expect(account(await free.done())).toMatchObject({ retries: '1' });
  });

  it('SEN-08: loosened, the claim is the first attempt’s backend even if another answered', async () => {
    const id = idOn('a', names);
    const pool = await several(scene, names, { serviceConfig });
    pool.backend('a').script([behave.fail(unavailable), answerName]);
    const call = pool.begin([session(id), allow]);
    await pool.settled();
    pool.time.advance(10);
    await call.done();
    expect(['b', 'c']).toContain(answerer(call));
    expect(account(call)).toMatchObject({ retries: '1' });
    expect(answerer(await pool.call([session(id)]))).toBe('a');
  });

  it('SEN-09: under a hedgingPolicy it is one attempt; loosened, hedges go elsewhere', async () => {
    const id = idOn('a', names);
    const pool = await several(scene, names, {
      serviceConfig: hedgeConfig({ maxAttempts: 3, delay: 50 }),
      onStream: behave.silent,
    });
    const strict = pool.begin([session(id)]);
    const stream = await pool.backend('a').waitForStream(1);
    pool.time.advance(1000);
    await pool.settled();
    expect(pool.streams()).toEqual([1, 0, 0]);
    await stream.answer(['a']);
    expect(account(await strict.done())).toEqual({ backend: 'a', retries: '0' });
    const loose = pool.begin([session(id), allow]);
    await pool.backend('a').waitForStream(2);
    pool.time.advance(50);
    pool.time.advance(50);
    const hedge = await pool.backend('b').waitForStream(1);
    await pool.backend('c').waitForStream(1);
    await hedge.answer(['b']);
    expect(account(await loose.done())).toMatchObject({ backend: 'b', hedged: 'true' });
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
  });

  it('SEN-10: the id is told to nobody; records have the hash of it', async () => {
    const id = 'an-id-that-nobody-else-has';
    const pool = await several(scene, names, { serviceConfig });
    const home = answerer(await pool.call([session(id)]));
    const calls = [await pool.call([session(id), allow])];
    pool.backend(home).behave(behave.kill);
    calls.push(await pool.call([session(id)]));
    pool.backend(home).behave(behave.fail(unavailable));
    for (let n = 0; n < 3; n += 1) calls.push(await pool.call([session(id)]));
    calls.push(await pool.call([session(id), exclude(home)]));
    await remove(pool.proxy, home);
    for (let n = 0; n < 2; n += 1) calls.push(await pool.call([session(id)]));
    expect(calls.map((call) => verdict(call).reason)).toContain('session_lost');
    const { proxy } = pool;
    const told = JSON.stringify([
      proxy.calls,
      proxy.lines,
      proxy.losses,
      proxy.changes,
      proxy.healthChanges,
      proxy.refused,
    ]);
    const answered = JSON.stringify(calls.map(({ headers, trailers }) => [headers, trailers]));
    const passedOn = JSON.stringify(names.flatMap((name) => pool.backend(name).streams.map(({ headers }) => headers)));
    for (const text of [told, answered, passedOn]) expect(text).not.toContain(id);
    expect((await proxy.call(0)).session).toBe(sessionKeyOf(id));
    expect(told).toContain(sessionKeyOf(id));
  });
});
