import { describe, expect, it } from 'vitest';
import { account, hedgeConfig, throttled } from '../../support/policies.js';
import { behave, type RawCall } from '../../support/raw-peer.js';
import { retryConfig, useScene, verdict } from '../../support/scene.js';
import {
  allow,
  answerer,
  answerName,
  cutOff,
  deadline,
  pin,
  reconnect,
  retryOff,
  type Several,
  several,
  unavailable,
} from './several.js';

/*
 * A backend is lost under calls (D19, D34), by its socket or by silence: what each call comes to, and what is counted.
 */

const scene = useScene();
const names = ['a', 'b'];
const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });
const flags = ['--keepalive-max-pings', '0'];

/** Its socket is closed. */
function kill({ backend }: Several): Promise<void> {
  backend('a').kill();
  return Promise.resolve();
}

/** It falls silent, and so does the network: nothing says so but the keepalive, 10 s and 5 s later. */
async function blackHole(pool: Several): Promise<void> {
  const { backend, time } = pool;
  await pool.settled();
  const [connection] = backend('a').connections;
  connection?.pause();
  time.advance(10_000);
  // The other backend is well: it answers its PING, if it has calls, before the time is over.
  await pool.client.ping();
  for (const other of backend('b').connections) await other.ping();
  time.advance(4999);
  await pool.client.ping();
  expect(pool.proxy.losses).toEqual([]);
  time.advance(1);
}

const ways = [
  ['killed', kill, 'the connection to the backend was lost'],
  ['cut off without a word', blackHole, 'no answer to a keepalive PING within 5000 ms'],
] as const;

/** Each of the four shapes of calls: what the client has sent, and whether it sends more. */
const shapes = [
  ['unary', { messages: ['hi'], end: true }],
  ['server-streaming', { messages: ['hi'], end: true }],
  ['client-streaming', { messages: ['one', 'two'], end: false }],
  ['bidi-streaming', { messages: ['one'], end: false }],
] as const;

const isStreamingAnswer = (shape: string): boolean => shape === 'server-streaming' || shape === 'bidi-streaming';

describe.each(ways)('a backend that is %s', (_way, lose, words) => {
  it.each(shapes)(
    'LOS-01: before response headers of a %s call, without a policy: UNAVAILABLE, at once',
    async (_shape, request) => {
      const pool = await several(scene, names, { flags, onStream: behave.silent });
      const call = pool.begin([pin('a')], request);
      const neighbour = pool.begin([pin('b')]);
      await Promise.all(names.map((name) => pool.backend(name).waitForStream(1)));
      await lose(pool);
      await call.done();
      expect(account(call)).toEqual({
        backend: 'a',
        retries: '0',
        'stop-reason': 'backend_lost',
        origin: 'proxy',
        processed: 'unknown',
      });
      expect(call.status).toBe(unavailable);
      expect(decodeURIComponent(call.message ?? '')).toContain(words);
      expect(await pool.proxy.loss(0)).toMatchObject({
        backend: 'a',
        generation: 1,
        attempts: 1,
        outcomes: { failed: 1 },
      });
      await expectUntouched(pool, neighbour);
    },
  );

  it.each(shapes)(
    'LOS-02: before response headers of a %s call, with a policy: sent again elsewhere, all of it',
    async (_shape, request) => {
      const pool = await several(scene, names, { flags, serviceConfig, onStream: behave.silent });
      const call = pool.begin([pin('a'), allow], request);
      const neighbour = pool.begin([pin('b')]);
      await Promise.all(names.map((name) => pool.backend(name).waitForStream(1)));
      await lose(pool);
      await pool.client.ping();
      if (pool.proxy.losses.length === 0) await pool.proxy.change(pool.proxy.changes.length - 1);
      const again = await retried(pool, 2);
      await again.whenMessages(request.messages.length);
      if (!request.end) void call.finish();
      await again.whenEnded();
      expect(again.messages.map(String)).toEqual(request.messages);
      expect(again.header('grpc-previous-rpc-attempts')).toBe('1');
      await again.answer(['b']);
      expect(account(await call.done())).toEqual({ backend: 'b', retries: '1', backends: 'a,b' });
      expect(await pool.proxy.loss(0)).toMatchObject({ backend: 'a', attempts: 1, outcomes: { re_dispatched: 1 } });
      await expectUntouched(pool, neighbour);
    },
  );

  it.each(shapes)(
    'LOS-03: after response headers of a %s call: what has come is passed on, then UNAVAILABLE, never again',
    async (shape, request) => {
      const messages = isStreamingAnswer(shape) ? ['first', 'second'] : [];
      const pool = await several(scene, names, { flags, serviceConfig });
      pool.backend('a').behave(async (stream) => {
        stream.sendHeaders();
        for (const message of messages) await stream.sendMessage(message);
      });
      pool.backend('b').behave(behave.silent);
      const call = pool.begin([pin('a'), allow], request);
      const neighbour = pool.begin([pin('b')]);
      await call.whenHeaders();
      await call.whenMessages(messages.length);
      await pool.backend('b').waitForStream(1);
      await lose(pool);
      await call.done();
      expect(call.messages.map(String)).toEqual(messages);
      expect(verdict(call)).toEqual({ status: unavailable, reason: 'backend_lost', retries: '0' });
      expect(account(call)).toMatchObject({ backend: 'a', origin: 'proxy', processed: 'unknown' });
      expect(await pool.proxy.loss(0)).toMatchObject({ backend: 'a', attempts: 1, outcomes: { terminated: 1 } });
      pool.time.advance(100);
      await expectUntouched(pool, neighbour);
    },
  );

  it('LOS-04: under 24 calls of all kinds: all end at one time, and one record counts them', async () => {
    const pool = await several(scene, names, { flags, serviceConfig });
    pool.backend('b').behave(answerName);
    pool.backend('a').behave(behave.silent);
    const bound = Array.from({ length: 8 }, () => pool.begin([pin('a')]));
    const moving = Array.from({ length: 8 }, () => pool.begin([pin('a'), allow]));
    await pool.backend('a').waitForStream(16);
    pool.backend('a').behave((stream) => void stream.sendHeaders());
    const streams = Array.from({ length: 8 }, () => pool.begin([pin('a')]));
    for (const call of streams) await call.whenHeaders();
    await lose(pool);
    const ended = await Promise.all([...bound, ...streams].map((call) => call.done()));
    expect(new Set(ended.map((call) => verdict(call).reason))).toEqual(new Set(['backend_lost']));
    const records = await Promise.all(ended.map((_, at) => pool.proxy.call(at)));
    expect(new Set(records.map(({ endedAt }) => endedAt)).size).toBe(1);
    await pool.client.ping();
    pool.time.advance(1);
    for (const call of moving) expect(answerer(await call.done())).toBe('b');
    expect(await pool.proxy.loss(0)).toMatchObject({
      backend: 'a',
      generation: 1,
      attempts: 24,
      outcomes: { failed: 8, re_dispatched: 8, terminated: 8 },
    });
    expect(pool.proxy.losses).toHaveLength(1);
    expect(Object.keys(pool.proxy.losses[0]?.outcomes ?? {})).toHaveLength(3);
  });
});

/** The stream at b that a retry makes, its wait of 1 ms being over. */
async function retried(
  pool: Several,
  nth: number,
): Promise<Awaited<ReturnType<ReturnType<Several['backend']>['waitForStream']>>> {
  while (pool.proxy.changes.every(({ event }) => event !== 'lost')) await pool.proxy.change(pool.proxy.changes.length);
  pool.time.advance(1);
  return pool.backend('b').waitForStream(nth);
}

/** A call that was b's first has seen nothing of it all. */
async function expectUntouched({ backend }: Several, neighbour: RawCall): Promise<void> {
  expect(neighbour.end).toBeNull();
  await (await backend('b').waitForStream(1)).answer(['b']);
  expect(answerer(await neighbour.done())).toBe('b');
}

describe('an attempt whose backend is lost', () => {
  it('LOS-05: has no alternative: the truth is told, no_alternative', async () => {
    const pool = await several(scene, ['a'], { serviceConfig, onStream: behave.silent });
    const call = pool.begin();
    await pool.backend('a').waitForStream(1);
    await cutOff(pool, 'a');
    pool.time.advance(1);
    await pool.client.ping();
    pool.time.advance(1);
    await call.done();
    expect(account(call)).toMatchObject({ backend: 'a', origin: 'proxy', processed: 'unknown', retries: '2' });
    expect(decodeURIComponent(call.message ?? '')).toContain('the connection to the backend was lost');
    expect(await pool.proxy.loss(0)).toMatchObject({ attempts: 1, outcomes: { no_alternative: 1 } });
  });

  it.each([
    [
      'no attempt is left',
      { serviceConfig: retryConfig({ maxAttempts: 2, initial: 1, max: 1 }) },
      'attempts_exhausted',
      2,
    ],
    ['no token is left', { serviceConfig: { ...retryConfig(), ...throttled([2, 1]) } }, 'throttled', 1],
    [
      'the request is too large to be kept',
      { serviceConfig, flags: ['--per-call-buffer-limit', '4'] },
      'backend_lost',
      1,
    ],
    ['the policy is off', { serviceConfig, headers: [retryOff] }, 'no_policy', 1],
    ['UNAVAILABLE is not listed', { serviceConfig: retryConfig({ codes: ['ABORTED'] }) }, 'fatal_status', 1],
    ['it is pinned', { serviceConfig, headers: [pin('a')] }, 'backend_lost', 1],
  ] as const)('LOS-06: and %s: told, failed, and nobody else is asked', async (_why, options, reason, attempts) => {
    const { headers = [], ...rest } = { headers: [], ...options };
    const pool = await several(scene, ['a'], {
      ...rest,
      flags: [...('flags' in rest ? rest.flags : [])],
      onStream: behave.silent,
    });
    const call = pool.begin(headers);
    const { proxy } = pool;
    for (let n = 1; n <= attempts; n += 1) {
      const stream = await pool.backend('a').waitForStream(n);
      await stream.whenEnded();
      await reconnect(pool, 'a');
      pool.time.advance(1);
    }
    expect(verdict(await call.done())).toEqual({ status: unavailable, reason, retries: String(attempts - 1) });
    expect(await proxy.loss(attempts - 1)).toMatchObject({ attempts: 1, outcomes: { failed: 1 } });
    expect(pool.backend('a').streams).toHaveLength(attempts);
  });

  it('LOS-07: has a sibling, UNAVAILABLE being non-fatal: absorbed, and the next hedge is sent at once', async () => {
    const pool = await several(scene, ['a', 'b', 'c'], {
      serviceConfig: hedgeConfig({ maxAttempts: 3, delay: 1000 }),
      onStream: behave.silent,
    });
    const call = pool.begin([pin('a'), allow]);
    await pool.backend('a').waitForStream(1);
    pool.time.advance(1000);
    await Promise.race([pool.backend('b').waitForStream(1), pool.backend('c').waitForStream(1)]);
    pool.backend('a').kill();
    const [sibling, hedge] = await Promise.all([
      pool.backend('b').waitForStream(1),
      pool.backend('c').waitForStream(1),
    ]);
    expect(await pool.proxy.loss(0)).toMatchObject({ backend: 'a', attempts: 1, outcomes: { absorbed: 1 } });
    expect([sibling.resetCode, hedge.resetCode]).toEqual([null, null]);
    await sibling.answer(['b']);
    expect(answerer(await call.done())).toBe('b');
    expect(account(call)).toMatchObject({ retries: '2', hedged: 'true' });
  });

  it('LOS-08: has a sibling, UNAVAILABLE being fatal: the sibling is cancelled, failed', async () => {
    const pool = await several(scene, names, {
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0, codes: ['ABORTED'] }),
      onStream: behave.silent,
    });
    const call = pool.begin([pin('a'), allow]);
    const [, sibling] = await Promise.all(names.map((name) => pool.backend(name).waitForStream(1)));
    pool.backend('a').kill();
    expect(verdict(await call.done())).toMatchObject({ status: unavailable, reason: 'fatal_status' });
    expect(await sibling?.whenReset()).toBe(8);
    expect(await pool.proxy.loss(0)).toMatchObject({ attempts: 1, outcomes: { failed: 1 } });
  });

  it('LOS-09: is waited for in a backoff when the client cancels: cancelled', async () => {
    const pool = await several(scene, names, {
      serviceConfig: retryConfig({ initial: 1000, max: 1000 }),
      onStream: behave.silent,
    });
    const call = pool.begin([pin('a'), allow]);
    await pool.backend('a').waitForStream(1);
    const { length } = pool.proxy.changes;
    pool.backend('a').kill();
    await pool.proxy.change(length);
    expect(pool.proxy.losses).toEqual([]);
    call.reset();
    expect(await pool.proxy.loss(0)).toMatchObject({ attempts: 1, outcomes: { cancelled: 1 } });
    expect(pool.backend('b').streams).toHaveLength(0);
  });

  it('LOS-10: ends by its deadline in that backoff: failed', async () => {
    const pool = await several(scene, names, {
      serviceConfig: retryConfig({ initial: 1000, max: 1000 }),
      onStream: behave.silent,
    });
    const call = pool.begin([pin('a'), allow, deadline(500)]);
    await pool.backend('a').waitForStream(1);
    pool.backend('a').kill();
    expect(verdict(await call.done())).toMatchObject({ status: unavailable, reason: 'backoff_beyond_deadline' });
    expect(await pool.proxy.loss(0)).toMatchObject({ attempts: 1, outcomes: { failed: 1 } });
  });
});

it('LOS-11: each loss has its record, and a connection that ends without calls has none', async () => {
  const pool = await several(scene, names, { onStream: behave.silent });
  const { proxy } = pool;
  for (let generation = 1; generation <= 3; generation += 1) {
    const call = pool.begin([pin('a')]);
    await pool.backend('a').waitForStream(generation);
    await reconnect(pool, 'a');
    await call.done();
    expect(await proxy.loss(generation - 1)).toMatchObject({ backend: 'a', generation, attempts: 1 });
  }
  const { length } = proxy.changes;
  pool.backend('b').kill();
  expect((await proxy.change(length)).event).toBe('lost');
  await pool.client.ping();
  expect(proxy.losses.map(({ backend }) => backend)).toEqual(['a', 'a', 'a']);
});

it('LOS-12: an older connection that is lost takes its own calls along, and none of the newer one’s', async () => {
  const pool = await several(scene, names, { onStream: behave.silent });
  const { proxy } = pool;
  const older = pool.begin([pin('a')]);
  const stream = await pool.backend('a').waitForStream(1);
  stream.connection.goaway(stream.id, 0);
  await pool.backend('a').waitForConnection(2);
  const newer = pool.begin([pin('a')]);
  const other = await pool.backend('a').waitForStream(2);
  expect(other.connection).not.toBe(stream.connection);
  stream.connection.kill();
  expect(verdict(await older.done())).toMatchObject({ status: unavailable, reason: 'backend_lost' });
  expect(await proxy.loss(0)).toMatchObject({ backend: 'a', attempts: 1, outcomes: { failed: 1 } });
  await pool.client.ping();
  expect(newer.end).toBeNull();
  await other.answer(['a']);
  expect(answerer(await newer.done())).toBe('a');
  expect(proxy.losses).toHaveLength(1);
});
