import { describe, expect, it } from 'vitest';
import { hedgeConfig } from '../../support/policies.js';
import { behave } from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { path, retryConfig, useScene, verdict } from '../../support/scene.js';
import {
  allow,
  answerer,
  answerName,
  connectAgain,
  cutOff,
  deadline,
  park,
  pin,
  reconnect,
  retryOff,
  type Several,
  several,
  unavailable,
} from './several.js';

/*
 * What ends of attempts make of backends, over real sockets and on virtual time (D20, D21, D32). That a backend is not parked is
 * seen by who gets the calls that follow.
 */

const scene = useScene();
const names = ['a', 'b'];
const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });

/** One behaviour for each stream, the last for all that follow. */
function inTurn(...behaviours: readonly ((stream: RecordedStream) => unknown)[]): (stream: RecordedStream) => void {
  let at = 0;
  return (stream) => {
    const behaviour = behaviours[Math.min(at, behaviours.length - 1)];
    at += 1;
    void behaviour?.(stream);
  };
}

/** Who gets four ordinary calls. */
async function shares(pool: Several): Promise<string[]> {
  const got: string[] = [];
  for (let n = 0; n < 4; n += 1) got.push(answerer(await pool.call()));
  return got.toSorted();
}

const evenly = ['a', 'a', 'b', 'b'];
const withoutA = ['b', 'b', 'b', 'b'];

/** Calls that pass their deadline at a backend that says nothing, one after the other. */
async function timeOut(pool: Several, name: string, count: number, ms = 1000): Promise<void> {
  const { length } = pool.backend(name).streams;
  pool.backend(name).behave(behave.silent);
  for (let n = 1; n <= count; n += 1) {
    const call = pool.begin([pin(name), deadline(ms), retryOff]);
    await (await pool.backend(name).waitForStream(length + n)).whenEnded();
    pool.time.advance(ms);
    expect(verdict(await call.done())).toMatchObject({ status: 4, reason: 'deadline_exceeded' });
  }
  pool.backend(name).behave(answerName);
}

describe('a backend', () => {
  it.each([
    ['says UNAVAILABLE', behave.fail(unavailable)],
    ['resets with INTERNAL_ERROR', behave.reset(2)],
    ['answers HTTP 503', (stream: RecordedStream) => stream.block([[':status', '503']], true)],
  ] as const)(
    'HLW-01: that has never answered and %s three times is parked for 30 s, and not after two',
    async (_how, fails) => {
      const pool = await several(scene, names);
      pool.backend('a').behave(inTurn(fails, fails, answerName));
      for (let n = 0; n < 2; n += 1) await pool.call([pin('a')]);
      expect(pool.proxy.healthChanges).toEqual([]);
      expect(await shares(pool)).toEqual(evenly);
      pool.time.advance(60_000);
      const { length } = pool.backend('a').streams;
      pool.backend('a').behave(inTurn(fails, fails, fails, answerName));
      for (let n = 0; n < 3; n += 1) await pool.call([pin('a')]);
      expect(await pool.proxy.health(0)).toMatchObject({
        kind: 'parked',
        id: 'a',
        reason: 'consecutive_failures',
        parkMs: 30_000,
      });
      expect(await shares(pool)).toEqual(withoutA);
      pool.time.advance(29_999);
      expect(await shares(pool)).toEqual(withoutA);
      expect(pool.backend('a').streams).toHaveLength(length + 3);
    },
  );

  it('HLW-02: whose park is over gets one of 12 calls at once; its answer ends the park', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    const { length } = pool.backend('a').streams;
    for (const name of names) pool.backend(name).behave(behave.silent);
    pool.time.advance(30_000);
    const calls = Array.from({ length: 12 }, () => pool.begin());
    // All twelve have come, and none is answered.
    await pool.backend('b').waitForStream(11);
    const probe = await pool.backend('a').waitForStream(length + 1);
    await pool.settled();
    expect(pool.streams()).toEqual([length + 1, 11]);
    await probe.answer(['a']);
    expect(await pool.proxy.health(1)).toMatchObject({ kind: 'released', id: 'a', route: 'lapsed_probe' });
    for (const stream of pool.backend('b').streams) await stream.answer(['b']);
    await Promise.all(calls.map((call) => call.done()));
    for (const name of names) pool.backend(name).behave(answerName);
    expect(await shares(pool)).toEqual(evenly);
  });

  it('HLW-03: whose probe fails is parked for 60 s, then 120 s; the call goes on elsewhere', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    pool.backend('a').behave(behave.fail(unavailable));
    let after = 30_000;
    for (const [at, parkMs] of [60_000, 120_000, 120_000].entries()) {
      pool.time.advance(after);
      const call = pool.begin();
      expect(await pool.proxy.health(at + 1)).toMatchObject({ kind: 'parked', id: 'a', parkMs });
      pool.time.advance(1);
      expect(answerer(await call.done())).toBe('b');
      after = parkMs - 1;
    }
  });

  it('HLW-04: that overlapping calls fail at is parked for one step, not for many', async () => {
    const pool = await several(scene, names, { onStream: behave.silent });
    const calls = Array.from({ length: 12 }, () => pool.begin([pin('a')]));
    await pool.backend('a').waitForStream(12);
    for (const stream of pool.backend('a').streams) stream.trailersOnly(unavailable);
    await Promise.all(calls.map((call) => call.done()));
    expect(pool.proxy.healthChanges).toHaveLength(1);
    expect(pool.proxy.healthChanges[0]).toMatchObject({ kind: 'parked', parkMs: 30_000 });
  });

  it('HLW-05: a pool whose backends are all parked is tried, the one first whose park ends first; an answer ends its park alone', async () => {
    const pool = await several(scene, names);
    await park(pool, 'a');
    pool.time.advance(1000);
    await park(pool, 'b');
    expect(answerer(await pool.call())).toBe('a');
    expect(await pool.proxy.health(2)).toMatchObject({ kind: 'released', id: 'a', route: 'success' });
    expect(await shares(pool)).toEqual(['a', 'a', 'a', 'a']);
  });

  it('HLW-06: alone in its pool it is never refused', async () => {
    const pool = await several(scene, ['a']);
    await park(pool, 'a');
    expect(answerer(await pool.call())).toBe('a');
  });

  it.each([1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 77])(
    'HLW-07: that answers with an application’s code, %s, however often, is not parked',
    async (code) => {
      const pool = await several(scene, names);
      pool.backend('a').behave(behave.fail(code));
      for (let n = 0; n < 8; n += 1) expect((await pool.call([pin('a')])).status).toBe(code);
      pool.backend('a').behave(answerName);
      expect(pool.proxy.healthChanges).toEqual([]);
      expect(await shares(pool)).toEqual(evenly);
    },
  );

  it('HLW-08: that is silent until deadlines pass is parked after three; in less than --min-blame nobody is blamed', async () => {
    const pool = await several(scene, names);
    await timeOut(pool, 'a', 5, 999);
    expect(pool.proxy.healthChanges).toEqual([]);
    await timeOut(pool, 'a', 2);
    expect(pool.proxy.healthChanges).toEqual([]);
    await timeOut(pool, 'a', 1);
    expect(await pool.proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a' });
    expect(await shares(pool)).toEqual(withoutA);
  });

  it.each([
    ['nothing', []],
    ['a message', ['hi']],
  ])(
    'HLW-15: that has had %s of requests that their clients do not end is not blamed for deadlines',
    async (_what, messages) => {
      const pool = await several(scene, names, { onStream: behave.silent });
      const upload = async (endsAt: number): Promise<void> => {
        const call = pool.begin([pin('a'), deadline(2000)], { messages, end: false });
        const stream = await pool.backend('a').waitForStream(pool.backend('a').streams.length + 1);
        pool.time.advance(endsAt);
        if (endsAt < 2000) {
          await call.sendData(new Uint8Array(0), true);
          await stream.whenEnded();
          pool.time.advance(2000 - endsAt);
        }
        expect((await call.done()).status).toBe(4);
      };
      for (let n = 0; n < 4; n += 1) await upload(2000);
      // Ended, but less than --min-blame ago.
      for (let n = 0; n < 4; n += 1) await upload(1001);
      await timeOut(pool, 'a', 2);
      expect(pool.proxy.healthChanges).toEqual([]);
      await upload(1000);
      expect(await pool.proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a' });
    },
  );

  it('HLW-09: a deadline counts once for each backend that a call was silent at, and not at all after response headers', async () => {
    const pool = await several(scene, names, {
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      onStream: behave.silent,
    });
    for (let n = 1; n <= 3; n += 1) {
      expect(pool.proxy.healthChanges).toEqual([]);
      const call = pool.begin([deadline(1000)]);
      await Promise.all(names.map(async (name) => (await pool.backend(name).waitForStream(n)).whenEnded()));
      pool.time.advance(1000);
      await call.done();
    }
    expect(pool.proxy.healthChanges.map(({ id }) => id).toSorted()).toEqual(names);

    const streams = await several(scene, names, { onStream: (stream) => void stream.sendHeaders() });
    for (let n = 0; n < 4; n += 1) {
      const call = streams.begin([pin('a'), deadline(1000)]);
      await call.whenHeaders();
      streams.time.advance(1000);
      expect((await call.done()).status).toBe(4);
    }
    expect(streams.proxy.healthChanges).toEqual([]);
  });

  it('HLW-10: a method that has ended after such a silence is a long poll: its deadlines blame nobody, those of others do', async () => {
    const pool = await several(scene, names, { onStream: behave.silent });
    const poll = pool.begin([pin('b')]);
    const stream = await pool.backend('b').waitForStream(1);
    pool.time.advance(1000);
    await stream.answer(['news']);
    await poll.done();
    pool.time.advance(60_000);
    await timeOut(pool, 'a', 4);
    expect(pool.proxy.healthChanges).toEqual([]);
    // Silent for longer than it is known to be.
    await timeOut(pool, 'a', 3, 1001);
    expect(pool.proxy.healthChanges).toHaveLength(1);
  });

  it('HLW-10: nor do those of --health-ignore-deadline', async () => {
    const pool = await several(scene, names, { flags: ['--health-ignore-deadline', path] });
    await timeOut(pool, 'a', 4);
    expect(pool.proxy.healthChanges).toEqual([]);
    expect(await shares(pool)).toEqual(evenly);
  });

  it('HLW-11: hedges that lost and clients that cancelled blame nobody, however long it was silent', async () => {
    const pool = await several(scene, names, {
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 2000 }),
      onStream: behave.silent,
    });
    for (let n = 1; n <= 4; n += 1) {
      const call = pool.begin([pin('a'), allow]);
      const lost = await pool.backend('a').waitForStream(n);
      pool.time.advance(2000);
      // Answered at once: nobody learns that the method may be silent for long.
      await (await pool.backend('b').waitForStream(n)).answer(['b']);
      expect(answerer(await call.done())).toBe('b');
      expect(await lost.whenReset()).toBe(8);
    }
    for (let n = 1; n <= 4; n += 1) {
      const call = pool.begin([pin('a')]);
      const stream = await pool.backend('a').waitForStream(4 + n);
      pool.time.advance(5000);
      call.reset();
      expect(await stream.whenReset()).toBe(8);
    }
    expect(pool.proxy.healthChanges).toEqual([]);
    // The same silences, ended by deadlines.
    await timeOut(pool, 'a', 3, 5000);
    expect(pool.proxy.healthChanges).toHaveLength(1);
  });

  it.each([
    ['REFUSED_STREAM', behave.reset(7)],
    ['CANCEL', behave.reset(8)],
    ['GOAWAY', ({ connection }: RecordedStream) => connection.goaway(0, 0)],
  ] as const)('HLW-12: that says no by %s is not parked for it', async (_how, refuses) => {
    const pool = await several(scene, names);
    pool.backend('a').behave(refuses);
    for (let n = 0; n < 4; n += 1) {
      expect((await pool.call([pin('a')])).status).not.toBe(0);
      // A connection that was of no use is not made again at once.
      if (pool.link('a') === 'backoff') await connectAgain(pool, 'a');
    }
    expect(pool.backend('a').streams.length).toBeGreaterThanOrEqual(4);
    pool.backend('a').behave(answerName);
    expect(pool.proxy.healthChanges).toEqual([]);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
  });

  it('HLW-13: that is parked for lost connections alone is back with the next connection', async () => {
    const pool = await several(scene, names, { onStream: behave.silent });
    const calls = Array.from({ length: 3 }, () => pool.begin([pin('a')]));
    await pool.backend('a').waitForStream(3);
    await reconnect(pool, 'a');
    await Promise.all(calls.map((call) => call.done()));
    expect(pool.proxy.healthChanges).toMatchObject([
      { kind: 'parked', id: 'a' },
      { kind: 'released', id: 'a', route: 'connected' },
    ]);
    for (const name of names) pool.backend(name).behave(answerName);
    expect(await shares(pool)).toEqual(evenly);
  });

  it('HLW-13: that is parked for an UNAVAILABLE among them is not', async () => {
    const pool = await several(scene, names, { onStream: behave.silent });
    const calls = Array.from({ length: 3 }, () => pool.begin([pin('a')]));
    const stream = await pool.backend('a').waitForStream(3);
    stream.trailersOnly(unavailable);
    await calls[2]?.done();
    await reconnect(pool, 'a');
    await Promise.all(calls.map((call) => call.done()));
    expect(pool.proxy.healthChanges).toMatchObject([{ kind: 'parked', id: 'a' }]);
    for (const name of names) pool.backend(name).behave(answerName);
    expect(await shares(pool)).toEqual(withoutA);
  });

  it('HLW-14: that has no connection is not parked for that, and is used as soon as it has one', async () => {
    const pool = await several(scene, names);
    await cutOff(pool, 'a');
    expect(await shares(pool)).toEqual(withoutA);
    expect(pool.proxy.healthChanges).toEqual([]);
  });
});
