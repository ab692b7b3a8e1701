import { describe, expect, it } from 'vitest';
import { account } from '../../support/policies.js';
import { behave } from '../../support/raw-peer.js';
import { useScene, verdict } from '../../support/scene.js';
import {
  allow,
  answerer,
  answerName,
  exclude,
  idOn,
  idsOn,
  park,
  pin,
  resourceExhausted,
  type Several,
  type SeveralOptions,
  session,
  sessionAtA,
  several,
  unavailable,
} from './several.js';

/*
 * A session keeps its backend (D13, D14, D17, D3): whatever becomes of single calls.
 */

const scene = useScene();
const names = ['a', 'b', 'c'];
const minutes = 60_000;

const atA = (options: SeveralOptions = {}): ReturnType<typeof sessionAtA> => sessionAtA(scene, options);

/** Every backend but a has got no stream. */
function expectNowhereElse(pool: Several): void {
  expect(pool.streams().slice(1)).toEqual([0, 0]);
}

describe('a session', () => {
  it('SEN-11: keeps its home through failures of its calls, which nobody else gets', async () => {
    const { id, pool } = await atA();
    for (const [code, reason] of [
      [unavailable, 'pinned'],
      [5, 'fatal_status'],
    ] as const) {
      pool.backend('a').behave(behave.fail(code));
      expect(verdict(await pool.call([session(id)]))).toEqual({ status: code, reason, retries: '0' });
    }
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    expectNowhereElse(pool);
  });

  it('SEN-12: keeps its home where a loosened call was answered elsewhere', async () => {
    const { id, pool } = await atA();
    pool.backend('a').script([behave.fail(unavailable), answerName]);
    const call = pool.begin([session(id), allow]);
    await pool.settled();
    pool.time.advance(1);
    const elsewhere = answerer(await call.done());
    expect(['b', 'c']).toContain(elsewhere);
    expect(account(call)).toEqual({ backend: elsewhere, retries: '1', backends: `a,${elsewhere}` });
    expect(answerer(await pool.call([session(id)]))).toBe('a');
  });

  it('SEN-13: --session first-attempt loosens every call of it, and not the claim', async () => {
    const { id, pool } = await atA({ flags: ['--session', 'first-attempt'] });
    pool.backend('a').script([behave.fail(unavailable), behave.fail(unavailable), answerName]);
    const call = pool.begin([session(id), ['hedgerow-allow-retry', 'false']]);
    await pool.settled();
    pool.time.advance(1);
    await call.done();
    expect(account(call)).toMatchObject({ retries: '1' });
    expect(['b', 'c']).toContain(answerer(call));
    // A named pin is as strict as before.
    expect(verdict(await pool.call([pin('a')])).reason).toBe('pinned');
    expect(answerer(await pool.call([session(id)]))).toBe('a');
  });

  it('SEN-13: --pin first-attempt leaves sessions strict', async () => {
    const { id, pool } = await atA({ flags: ['--pin', 'first-attempt'] });
    pool.backend('a').behave(behave.fail(unavailable));
    expect(verdict(await pool.call([session(id)]))).toEqual({ status: unavailable, reason: 'pinned', retries: '0' });
    expectNowhereElse(pool);
    const pinned = pool.begin([pin('a')]);
    await pool.settled();
    pool.time.advance(1);
    expect(account(await pinned.done())).toMatchObject({ retries: '1' });
  });

  it('SEN-14: finds its home busy: told so, nobody else gets the call, and it is kept', async () => {
    const { id, pool } = await atA({ target: ',max-calls=1' });
    pool.backend('a').behave(behave.silent);
    const holder = pool.begin([session(id)]);
    const stream = await pool.backend('a').waitForStream(2);
    const busy = await pool.call([session(id)]);
    expect(verdict(busy)).toEqual({ status: resourceExhausted, reason: 'pinned_backend_busy', retries: '0' });
    expect(account(busy)).toMatchObject({ origin: 'proxy', processed: 'no' });
    expectNowhereElse(pool);
    // A call without a session goes elsewhere meanwhile, and so does a loosened one.
    expect(['b', 'c']).toContain(answerer(await pool.call()));
    expect(['b', 'c']).toContain(answerer(await pool.call([session(id), allow])));
    await stream.answer(['a']);
    expect(answerer(await holder.done())).toBe('a');
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
  });

  it.each(['60s', '0s'])(
    'SEN-15: a call excludes its home: told so, and it is kept (--session-lost-after %s)',
    async (lostAfter) => {
      const { id, pool } = await atA({ flags: ['--session-lost-after', lostAfter] });
      for (let n = 0; n < 2; n += 1) {
        const call = await pool.call([session(id), exclude('a')]);
        expect(verdict(call)).toEqual({ status: unavailable, reason: 'pinned_backend_unavailable', retries: '0' });
        expect(call.trailer('grpc-retry-pushback-ms')).toBeUndefined();
      }
      expectNowhereElse(pool);
      expect(answerer(await pool.call([session(id)]))).toBe('a');
      // The exclude of another backend changes nothing.
      expect(answerer(await pool.call([session(id), exclude('b')]))).toBe('a');
    },
  );

  it('SEN-15: a new id is placed where its call does not exclude', async () => {
    const ids = idsOn('a', names);
    const pool = await several(scene, names);
    for (let n = 0; n < 4; n += 1) {
      const id = ids.next().value;
      const home = answerer(await pool.call([session(id), exclude('a')]));
      expect(['b', 'c']).toContain(home);
      expect(answerer(await pool.call([session(id)]))).toBe(home);
    }
  });

  it('SEN-16: a pin beside it decides, and neither creates nor moves nor refreshes it', async () => {
    const { id, pool } = await atA();
    expect(answerer(await pool.call([session(id), pin('b')]))).toBe('b');
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    pool.time.advance(29 * minutes);
    expect(answerer(await pool.call([session(id), pin('a')]))).toBe('a');
    // Another session that is refreshed in the same moment lives on.
    const other = idOn('b', names);
    expect(answerer(await pool.call([session(other)]))).toBe('b');
    pool.time.advance(minutes);
    expect(['b', 'c']).toContain(answerer(await pool.call([session(id), exclude('a')])));
    const fresh = idsOn('a', names);
    fresh.next();
    const second = fresh.next().value;
    expect(answerer(await pool.call([session(second), pin('b')]))).toBe('b');
    expect(answerer(await pool.call([session(second)]))).toBe('a');
  });

  it('SEN-17: its home connects again: it is kept, while connecting too', async () => {
    const { id, pool } = await atA();
    for (let n = 0; n < 3; n += 1) {
      const { length } = pool.proxy.changes;
      pool.backend('a').kill();
      expect((await pool.proxy.change(length)).event).toBe('lost');
      expect(answerer(await pool.call([session(id)]))).toBe('a');
    }
    expectNowhereElse(pool);
    expect(pool.backend('a').connections).toHaveLength(4);
  });

  it('SEN-18: is over when it has not been used for --session-ttl, to the millisecond, and each answered call puts that off', async () => {
    const { id, pool } = await atA();
    for (let n = 0; n < 3; n += 1) {
      pool.time.advance(30 * minutes - 1);
      // A session whose home is another cannot be told from a new one by who answers: this one could not be placed at a.
      expect(verdict(await pool.call([session(id), exclude('a')])).reason).toBe('pinned_backend_unavailable');
      expect(answerer(await pool.call([session(id)]))).toBe('a');
    }
    pool.time.advance(30 * minutes);
    expect(['b', 'c']).toContain(answerer(await pool.call([session(id), exclude('a')])));
  });

  it('SEN-18: a stream that is open keeps it for longer than that', async () => {
    const { id, pool } = await atA({ flags: ['--session-ttl', '1s', '--keepalive-time', 'off'] });
    pool.backend('a').behave((stream) => void stream.sendHeaders());
    const open = pool.begin([session(id)]);
    await open.whenHeaders();
    pool.time.advance(10_000);
    expect(verdict(await pool.call([session(id), exclude('a')])).reason).toBe('pinned_backend_unavailable');
    pool.backend('a').streams.at(-1)?.trailers(0);
    await open.done();
    pool.time.advance(1000);
    expect(['b', 'c']).toContain(answerer(await pool.call([session(id), exclude('a')])));
  });

  it('SEN-19: with as many as --session-max-entries in use a new id is refused, and those stay; after a minute it takes the oldest’s place', async () => {
    const { id, pool } = await atA({ flags: ['--session-max-entries', '2'] });
    const other = idOn('b', names);
    await pool.call([session(other)]);
    const [before] = [pool.streams()];
    for (const headers of [[session('new')], [session('new'), allow]]) {
      const refused = await pool.call(headers);
      expect(verdict(refused)).toEqual({ status: resourceExhausted, reason: 'overloaded', retries: '0' });
      expect(account(refused)).toMatchObject({ origin: 'proxy', processed: 'no' });
    }
    expect(pool.streams()).toEqual(before);
    expect(answerer(await pool.call([session(other)]))).toBe('b');
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    pool.time.advance(59_999);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    expect((await pool.call([session('new')])).status).toBe(resourceExhausted);
    pool.time.advance(1);
    expect((await pool.call([session('new')])).status).toBe(0);
    // The one that was used a millisecond ago is there, the other has given way.
    expect(verdict(await pool.call([session(id), exclude('a')])).reason).toBe('pinned_backend_unavailable');
    expect((await pool.call([session(other)])).status).toBe(resourceExhausted);
  });

  it('SEN-20: parked for less than --session-lost-after: refused meanwhile, at once, and kept', async () => {
    const { id, pool } = await atA();
    pool.time.advance(minutes);
    await park(pool, 'a');
    pool.time.advance(29_999);
    const { length } = pool.backend('a').streams;
    const refused = await pool.call([session(id)]);
    expect(verdict(refused)).toEqual({ status: unavailable, reason: 'pinned_backend_unavailable', retries: '0' });
    expect(account(refused)).toMatchObject({ origin: 'proxy', processed: 'no' });
    expect(decodeURIComponent(refused.message ?? '')).toBe(
      "hedgerow: the call's session is on a, which is parked for another 0.1 s",
    );
    expect(pool.backend('a').streams).toHaveLength(length);
    expectNowhereElse(pool);
    // A loosened one goes elsewhere, as its first attempt.
    expect(account(await pool.call([session(id), allow]))).toMatchObject({ retries: '0' });
    pool.time.advance(1);
    expect(answerer(await pool.call([session(id)]))).toBe('a');
    // It answered: the park is over.
    expect((await pool.proxy.health(1)).kind).toBe('released');
  });
});
