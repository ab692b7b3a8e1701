import { describe, expect, it } from 'vitest';
import { account } from '../../support/policies.js';
import { behave, type RawCall } from '../../support/raw-peer.js';
import { path, retryFor, useScene, verdict } from '../../support/scene.js';
import {
  allow,
  answerer,
  answerName,
  connectAgain,
  cutOff,
  deadline,
  idsOn,
  park,
  pin,
  remove,
  resourceExhausted,
  type Several,
  type SeveralOptions,
  session,
  sessionAtA,
  unavailable,
} from './several.js';

/*
 * A session whose backend is gone (D15): the next call is told, once, and the one after it begins anew.
 */

const scene = useScene();
const names = ['a', 'b', 'c'];
const waiting = { methodConfig: [{ ...retryFor(path, { maxAttempts: 3, initial: 1, max: 1 }), waitForReady: true }] };
const minute = 60_000;

const atA = (options: SeveralOptions = {}): ReturnType<typeof sessionAtA> => sessionAtA(scene, options);

function expectLost(call: RawCall): void {
  expect(account(call)).toEqual({ retries: '0', 'stop-reason': 'session_lost', origin: 'proxy', processed: 'no' });
  expect([call.status, call.trailer('grpc-retry-pushback-ms')]).toEqual([unavailable, '-1']);
  expect(decodeURIComponent(call.message ?? '')).toBe(
    "hedgerow: the session's backend a is gone, and what it knew of the session with it; the next call begins a new one",
  );
}

/** Refused, and the session is kept. */
function expectRefused(call: RawCall): void {
  expect(verdict(call)).toEqual({ status: unavailable, reason: 'pinned_backend_unavailable', retries: '0' });
  expect(call.trailer('grpc-retry-pushback-ms')).toBeUndefined();
}

/** The next call begins a new session, whose home is not a. */
async function expectNew(pool: Several, id: string): Promise<void> {
  const home = answerer(await pool.call([session(id)]));
  expect(['b', 'c']).toContain(home);
  for (let n = 0; n < 3; n += 1) expect(answerer(await pool.call([session(id)]))).toBe(home);
}

describe('a session whose home', () => {
  it.each([
    ['strict', []],
    ['loosened', [allow]],
  ])(
    'SEN-21: was removed is lost: told once to a %s call, with -1 and without an attempt; the next begins anew',
    async (_mode, more) => {
      const { id, pool } = await atA();
      await remove(pool.proxy, 'a');
      const before = pool.streams();
      expectLost(await pool.call([session(id), ...more]));
      expect(pool.streams()).toEqual(before);
      await expectNew(pool, id);
    },
  );

  it('SEN-22: drains keeps it, and gets its calls and no others, until its last call has ended', async () => {
    const { id, pool } = await atA();
    pool.backend('a').behave((stream) => void stream.sendHeaders());
    const open = pool.begin([session(id)]);
    await open.whenHeaders();
    pool.backend('a').behave(answerName);
    const { proxy } = pool;
    const { length } = proxy.changes;
    const a = proxy.app.pool.backends.find(({ name }) => name === 'a');
    expect(a !== undefined && proxy.app.pool.drain(a.id)).toBe(true);
    for (let n = 0; n < 6; n += 1) expect(answerer(await pool.call())).not.toBe('a');
    for (let n = 0; n < 3; n += 1) expect(answerer(await pool.call([session(id)]))).toBe('a');
    // A new session goes elsewhere, though its id would be placed at a, and a strict pin is refused.
    const ids = idsOn('a', names);
    ids.next();
    expect(['b', 'c']).toContain(answerer(await pool.call([session(ids.next().value)])));
    expectRefused(await pool.call([pin('a')]));
    pool.backend('a').streams[1]?.trailers(0);
    expect((await open.done()).status).toBe(0);
    expect((await proxy.change(length)).event).toBe('closed');
    expectLost(await pool.call([session(id)]));
    await expectNew(pool, id);
  });

  it('SEN-23: has been parked for 60 s keeps it; a millisecond later it is lost', async () => {
    const { id, pool } = await atA({ flags: ['--health-park', '120s'] });
    pool.time.advance(minute);
    await park(pool, 'a');
    const before = pool.streams();
    pool.time.advance(minute);
    expectRefused(await pool.call([session(id)]));
    pool.time.advance(1);
    expectLost(await pool.call([session(id)]));
    expect(pool.streams()).toEqual(before);
    await expectNew(pool, id);
  });

  it('SEN-23: what parks again without an answer between has been parked all the time', async () => {
    const { id, pool } = await atA();
    pool.time.advance(minute);
    await park(pool, 'a');
    pool.time.advance(30_000);
    // The park has lapsed, and the session's call is its probe.
    pool.backend('a').behave(behave.fail(unavailable));
    expect(verdict(await pool.call([session(id)])).reason).toBe('pinned');
    expect(await pool.proxy.health(1)).toMatchObject({ kind: 'parked', parkMs: 60_000 });
    pool.time.advance(30_000);
    expectRefused(await pool.call([session(id)]));
    pool.time.advance(1);
    expectLost(await pool.call([session(id)]));
  });

  it('SEN-24: has been without a connection for 60 s keeps it; a millisecond later it is lost', async () => {
    const { id, pool } = await atA();
    await cutOff(pool, 'a');
    pool.time.advance(minute);
    expectRefused(await pool.call([session(id)]));
    pool.time.advance(1);
    expectLost(await pool.call([session(id)]));
    await expectNew(pool, id);
  });

  it('SEN-24: was parked before it lost its connection has been away since the park', async () => {
    const { id, pool } = await atA({ flags: ['--health-park', '120s'] });
    pool.time.advance(minute);
    await park(pool, 'a');
    pool.time.advance(minute / 2);
    await cutOff(pool, 'a');
    pool.time.advance(minute / 2);
    expectRefused(await pool.call([session(id)]));
    pool.time.advance(1);
    expectLost(await pool.call([session(id)]));
  });

  it('SEN-25: comes back within that time, under the same name, keeps it', async () => {
    const { id, pool } = await atA();
    const { port } = pool.backend('a');
    await cutOff(pool, 'a');
    pool.time.advance(minute - 5001);
    expectRefused(await pool.call([session(id)]));
    const back = await scene.backend({ name: 'back', port, onStream: answerName });
    await connectAgain(pool, 'a');
    await back.waitForConnection(1);
    pool.time.advance(minute);
    expect(answerer(await pool.call([session(id)]))).toBe('back');
  });

  describe('with --session-lost-after 0s', () => {
    const flags = ['--session-lost-after', '0s'];

    it.each([
      ['strict', []],
      ['loosened', [allow]],
    ])('SEN-26: is parked is lost by the first call that it refuses, a %s one', async (_mode, more) => {
      const { id, pool } = await atA({ flags });
      pool.time.advance(minute);
      await park(pool, 'a');
      const before = pool.streams();
      expectLost(await pool.call([session(id), ...more]));
      expect(pool.streams()).toEqual(before);
      await expectNew(pool, id);
    });

    it.each([
      ['strict', []],
      ['loosened', [allow]],
    ])('SEN-26: cannot be connected is lost by the first call that it refuses, a %s one', async (_mode, more) => {
      const { id, pool } = await atA({ flags });
      await cutOff(pool, 'a');
      expectLost(await pool.call([session(id), ...more]));
      await expectNew(pool, id);
    });

    it('SEN-27: is busy keeps it', async () => {
      const { id, pool } = await atA({ flags, target: ',max-calls=1' });
      pool.backend('a').behave(behave.silent);
      const holder = pool.begin([session(id)]);
      const stream = await pool.backend('a').waitForStream(2);
      for (let n = 0; n < 2; n += 1)
        expect(verdict(await pool.call([session(id)]))).toMatchObject({
          status: resourceExhausted,
          reason: 'pinned_backend_busy',
        });
      await stream.answer(['a']);
      await holder.done();
      pool.backend('a').behave(answerName);
      expect(answerer(await pool.call([session(id)]))).toBe('a');
    });

    it('SEN-27: is parked and tried all the same keeps it', async () => {
      const { id, pool } = await atA({ flags: [...flags, '--pin-on-parked', 'try'] });
      pool.time.advance(minute);
      await park(pool, 'a');
      pool.backend('a').behave(behave.fail(5));
      expect(verdict(await pool.call([session(id)])).reason).toBe('fatal_status');
      pool.backend('a').behave(answerName);
      expect(answerer(await pool.call([session(id)]))).toBe('a');
    });

    it('SEN-27: is waited for, with waitForReady, keeps it', async () => {
      const { id, pool } = await atA({ flags, serviceConfig: waiting });
      const { port } = pool.backend('a');
      await cutOff(pool, 'a');
      const call = pool.begin([session(id)]);
      await pool.settled();
      expect(call.end).toBeNull();
      const back = await scene.backend({ name: 'back', port, onStream: answerName });
      await connectAgain(pool, 'a');
      await back.waitForConnection(1);
      expect(answerer(await call.done())).toBe('back');
      expect(answerer(await pool.call([session(id)]))).toBe('back');
    });
  });

  it('SEN-28: is down, under waitForReady, is waited for until the deadline, and nobody else gets the call', async () => {
    const { id, pool } = await atA({ serviceConfig: waiting });
    await cutOff(pool, 'a');
    const before = pool.streams();
    const call = pool.begin([session(id), deadline(20_000)]);
    await pool.settled();
    pool.time.advance(19_999);
    await pool.settled();
    expect(call.end).toBeNull();
    pool.time.advance(1);
    expect(verdict(await call.done())).toMatchObject({ status: 4, reason: 'deadline_exceeded' });
    expect(pool.streams()).toEqual(before);
    expect(answerer(await pool.call())).not.toBe('a');
    expect(verdict(await pool.call([pin('nobody')])).reason).toBe('pin_unknown');
  });
});
