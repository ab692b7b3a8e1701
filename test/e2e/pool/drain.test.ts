import { describe, expect, it } from 'vitest';
import { account, hedgeConfig } from '../../support/policies.js';
import { behave, type RawCall } from '../../support/raw-peer.js';
import { retryConfig, useScene, verdict } from '../../support/scene.js';
import { allow, answerer, answerName, pin, type Several, session, several, unavailable } from './several.js';

/*
 * A backend that leaves while calls are under way there (D35), and hedges that must not meet (D16).
 */

const scene = useScene();
const names = ['a', 'b'];
const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });
const flags = ['--keepalive-time', 'off'];

/** By hand, or by the end of its place in the set. */
const ways = [
  [
    'drained',
    ({ proxy }: Several): void => {
      for (const { id, name } of proxy.app.pool.backends) if (name === 'a') proxy.app.pool.drain(id);
    },
  ],
  [
    'removed',
    ({ proxy }: Several): void => proxy.app.pool.apply(proxy.app.pool.backends.filter(({ name }) => name !== 'a')),
  ],
] as const;

function expectOverdue(call: RawCall): void {
  expect(verdict(call)).toEqual({ status: unavailable, reason: 'drain_timeout', retries: '0' });
  expect(account(call)).toMatchObject({ backend: 'a', origin: 'proxy', processed: 'unknown' });
  expect(decodeURIComponent(call.message ?? '')).toContain('did not end within --drain-timeout');
}

describe.each(ways)('a backend that is %s', (_way, leave) => {
  it('LOS-13: gets no more calls; those that it has may end', async () => {
    const pool = await several(scene, names, { flags, serviceConfig, onStream: behave.silent });
    const call = pool.begin([pin('a')]);
    const stream = await pool.backend('a').waitForStream(1);
    leave(pool);
    pool.backend('b').behave(answerName);
    for (let n = 0; n < 4; n += 1) expect(answerer(await pool.call())).toBe('b');
    pool.time.advance(29_999);
    await pool.settled();
    expect(call.end).toBeNull();
    await stream.answer(['a']);
    expect(answerer(await call.done())).toBe('a');
    pool.time.advance(60_000);
    expect(pool.proxy.losses).toEqual([]);
  });

  it('LOS-14: has calls left after --drain-timeout: drain_timeout, before response headers and after, and nobody else gets them', async () => {
    const pool = await several(scene, names, { flags, serviceConfig, onStream: behave.silent });
    const before = pool.begin([pin('a'), allow]);
    await pool.backend('a').waitForStream(1);
    pool.backend('a').behave((stream) => void stream.sendHeaders().sendMessage('part'));
    const after = pool.begin([pin('a'), allow]);
    await after.whenMessages(1);
    const neighbour = pool.begin([pin('b')]);
    const other = await pool.backend('b').waitForStream(1);
    leave(pool);
    pool.time.advance(29_999);
    await pool.settled();
    expect([before.end, after.end]).toEqual([null, null]);
    pool.time.advance(1);
    for (const call of [before, after]) expectOverdue(await call.done());
    expect(after.messages.map(String)).toEqual(['part']);
    pool.time.advance(100);
    await pool.settled();
    expect(neighbour.end).toBeNull();
    await other.answer(['b']);
    expect(answerer(await neighbour.done())).toBe('b');
    expect(pool.backend('b').streams).toHaveLength(1);
    expect(pool.proxy.healthChanges).toEqual([]);
  });

  it('LOS-15: has a hedge left after --drain-timeout: its sibling elsewhere goes on', async () => {
    const pool = await several(scene, names, {
      flags,
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      onStream: behave.silent,
    });
    const call = pool.begin();
    const [, sibling] = await Promise.all(names.map((name) => pool.backend(name).waitForStream(1)));
    leave(pool);
    pool.time.advance(30_000);
    await pool.settled();
    expect([call.end, sibling?.resetCode]).toEqual([null, null]);
    await sibling?.answer(['b']);
    expect(answerer(await call.done())).toBe('b');
  });

  it('LOS-16: is not the home of new sessions', async () => {
    const pool = await several(scene, names, { flags, onStream: behave.silent });
    const call = pool.begin([pin('a')]);
    const stream = await pool.backend('a').waitForStream(1);
    leave(pool);
    pool.backend('b').behave(answerName);
    for (let n = 0; n < 8; n += 1) expect(answerer(await pool.call([session(`new ${n}`)]))).toBe('b');
    await stream.answer(['a']);
    await call.done();
  });
});

describe('hedges where there are fewer backends than they', () => {
  const hedging = { serviceConfig: hedgeConfig({ maxAttempts: 3, delay: 50 }), onStream: behave.silent };

  it('LOS-17: all are sent, the first to each backend in turn', async () => {
    const pool = await several(scene, names, hedging);
    const call = pool.begin();
    await Promise.race(names.map((name) => pool.backend(name).waitForStream(1)));
    pool.time.advance(50);
    await Promise.all(names.map((name) => pool.backend(name).waitForStream(1)));
    pool.time.advance(50);
    await pool.settled();
    expect(pool.streams().toSorted()).toEqual([1, 2]);
    await pool.backend('a').streams[0]?.answer(['a']);
    expect(account(await call.done())).toMatchObject({ backend: 'a', retries: '2', hedged: 'true' });
  });

  it('LOS-18: with --hedge-distinct the rest are left out, and the call goes on', async () => {
    const pool = await several(scene, names, { ...hedging, flags: ['--hedge-distinct', 'on'] });
    const call = pool.begin();
    for (let n = 0; n < 5; n += 1) {
      await pool.settled();
      pool.time.advance(50);
    }
    await pool.settled();
    expect(pool.streams()).toEqual([1, 1]);
    expect(call.end).toBeNull();
    await pool.backend('b').streams[0]?.answer(['b']);
    expect(answerer(await call.done())).toBe('b');
  });

  it('LOS-18: with --hedge-distinct a failure of all that were sent is told: nothing hangs', async () => {
    const pool = await several(scene, names, { ...hedging, flags: ['--hedge-distinct', 'on'] });
    pool.backend('a').behave(behave.fail(unavailable));
    pool.backend('b').behave(behave.fail(unavailable));
    const call = pool.begin();
    for (let n = 0; n < 5 && call.end === null; n += 1) {
      await pool.settled();
      pool.time.advance(50);
    }
    expect((await call.done()).status).toBe(unavailable);
    expect(account(call)).toMatchObject({ origin: 'backend', 'stop-reason': 'attempts_exhausted' });
    expect(pool.streams()).toEqual([1, 1]);
  });
});
