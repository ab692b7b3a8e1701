import { describe, expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import { backend, client, method, one, proxyTo, retry } from '../../support/rig.js';
import { createVirtualTime } from '../../support/virtual-time.js';

describe('GOAWAY from a backend', () => {
  it('CON-04: twice, first for all, then with its last id: calls under way finish, new ones use another connection', async () => {
    const { backend: b, client: c, proxy } = await one();
    b.behave(behave.silent);
    const long = c.call(method, { messages: ['long'] });
    const first = await b.waitForStream(1);
    const old = first.connection;
    old.goaway(2 ** 31 - 1, 0);
    b.behave(behave.ok('new'));
    for (let n = 0; n < 5; n += 1) expect((await c.call(method, { messages: ['new'] }).done()).status).toBe(0);
    old.goaway(first.id, 0);
    expect((await c.call(method, { messages: ['new'] }).done()).status).toBe(0);
    expect(b.streams.slice(1).every(({ connection }) => connection === b.connections[1])).toBe(true);
    await first.answer(['done']);
    expect([(await long.done()).status, long.messages.map(String)]).toEqual([0, ['done']]);
    while (!proxy.changes.some(({ event }) => event === 'closed')) await c.ping();
    expect(proxy.changes.map(({ event }) => event)).toEqual(['connected', 'draining', 'connected', 'closed']);
    expect(proxy.calls.every(({ attempts }) => attempts.length === 1)).toBe(true);
  });

  it('CON-10: from a backend that rotates its connections under load, with retries: no call fails', async () => {
    const b = await backend({ name: 'b' });
    const proxy = await proxyTo([b], { serviceConfig: retry() });
    const c = await client(proxy);
    let streams = 0;
    b.behave(async (stream) => {
      streams += 1;
      // Every tenth stream is the last one that its connection takes.
      if (streams % 10 === 0) {
        const { connection } = stream;
        connection.goaway(2 ** 31 - 1, 0, 'max_age');
        void connection.ping().then(
          () => connection.goaway(Math.max(...connection.streams.keys()), 0, 'max_age'),
          () => {},
        );
      }
      await stream.whenEnded();
      if (stream.header('grpc-previous-rpc-attempts') === undefined) stream.trailersOnly(14);
      else await stream.answer(['ok']);
    });
    const work = async (): Promise<(number | null)[]> => {
      const statuses: (number | null)[] = [];
      for (let n = 0; n < 20; n += 1) statuses.push((await c.call(method, { messages: ['hi'] }).done()).status);
      return statuses;
    };
    const statuses = (await Promise.all(Array.from({ length: 8 }, work))).flat();
    expect(statuses.filter((status) => status !== 0)).toEqual([]);
    expect(b.connections.length).toBeGreaterThan(10);
  });
});

describe('no backend can be reached', () => {
  const nowhere = { name: 'a', port: 1 };

  it('CON-07: without a policy the call is UNAVAILABLE at once, as no_backend', async () => {
    const proxy = await proxyTo([nowhere], { connected: false });
    const call = await (await client(proxy)).call(method, { messages: ['hi'] }).done();
    expect([call.status, call.trailer('hedgerow-stop-reason'), call.trailer('hedgerow-processed')]).toEqual([
      14,
      'no_backend',
      'no',
    ]);
    expect([call.trailer('hedgerow-retries'), call.trailer('hedgerow-backend')]).toEqual(['0', undefined]);
  });

  it('CON-07: with one it counts as an attempt: a backend that comes up meanwhile answers the next', async () => {
    const made = await backend({ name: 'a' });
    const { port } = made;
    await made.close();
    const time = createVirtualTime();
    const proxy = await proxyTo([{ name: 'a', port }], {
      time,
      connected: false,
      serviceConfig: retry({ attempts: 2, backoff: '60s' }),
    });
    const c = await client(proxy);
    const call = c.call(method, { messages: ['hi'] });
    while (!proxy.changes.some(({ event }) => event === 'connect_failed')) await c.ping();
    await c.ping();
    const back = await backend({ name: 'a', port, onStream: behave.ok('back') });
    time.advance(1000);
    await back.waitForConnection(1);
    while (proxy.app.pool.backends[0]?.link !== 'ready') await c.ping();
    expect(back.streams).toHaveLength(0);
    // The backoff of the policy, not the connect's, says when the next attempt is.
    time.advance(72_000);
    expect((await call.done()).status).toBe(0);
    expect([call.trailer('hedgerow-retries'), back.streams[0]?.header('grpc-previous-rpc-attempts')]).toEqual([
      '1',
      '1',
    ]);
  });
});

describe('a backend that does not answer the connect', () => {
  /** Accepts, and never says SETTINGS. */
  const hole = { greet: false };

  it('CON-09: the deadline covers the time that the connect takes', async () => {
    const time = createVirtualTime();
    const b = await backend({ name: 'b', ...hole });
    const proxy = await proxyTo([b], { time, connected: false, flags: ['--connect-timeout', '10s'] });
    const c = await client(proxy);
    const call = c.call(method, { headers: [['grpc-timeout', '3S']], messages: ['hi'] });
    await b.waitForConnection(1);
    await c.ping();
    time.advance(2999);
    await c.ping();
    expect(call.end).toBeNull();
    time.advance(1);
    await call.done();
    expect([call.status, call.trailer('hedgerow-stop-reason'), call.trailer('hedgerow-processed')]).toEqual([
      4,
      'deadline_exceeded',
      'no',
    ]);
    expect(b.streams).toEqual([]);
  });

  it('CON-09: the hedging delay runs in that time as well', async () => {
    const time = createVirtualTime();
    const slow = await backend({ name: 'slow', ...hole });
    const well = await backend({ name: 'well', onStream: behave.ok('hedged') });
    const proxy = await proxyTo([slow, well], {
      time,
      connected: false,
      flags: ['--connect-timeout', '10s'],
      serviceConfig: {
        methodConfig: [
          { name: [{}], hedgingPolicy: { maxAttempts: 2, hedgingDelay: '1s', nonFatalStatusCodes: ['UNAVAILABLE'] } },
        ],
      },
    });
    const c = await client(proxy);
    while (proxy.app.pool.backends[1]?.link !== 'ready') await c.ping();
    const call = c.call(method, {
      headers: [
        ['hedgerow-pin', 'slow'],
        ['hedgerow-allow-retry', 'true'],
      ],
      messages: ['hi'],
    });
    await c.ping();
    time.advance(999);
    await c.ping();
    expect([call.end, well.streams.length]).toEqual([null, 0]);
    time.advance(1);
    await call.done();
    expect([call.status, call.messages.map(String), call.trailer('hedgerow-hedged')]).toEqual([0, ['hedged'], 'true']);
  });
});

it('CON-08: a call with waitForReady that is in line when the last connection is lost waits on, without a token', async () => {
  const time = createVirtualTime();
  const first = await backend({ name: 'b', settings: [[3, 1]], onStream: behave.silent });
  const { port } = first;
  const [entry] = (retry({ attempts: 2 }) as { methodConfig: [object] }).methodConfig;
  const proxy = await proxyTo([first], {
    time,
    flags: ['--backend-connections', '1'],
    serviceConfig: {
      methodConfig: [{ ...entry, waitForReady: true }],
      retryThrottling: { maxTokens: 10, tokenRatio: 1 },
    },
  });
  const c = await client(proxy);
  // Fills the only place; a policy is off for it, so that it is over when its connection is.
  const holder = c.call(method, { messages: ['hi'], headers: [['hedgerow-retry', 'off']] });
  await first.waitForStream(1);
  const waiting = c.call(method, { messages: ['hi'] });
  await c.ping();
  expect([proxy.app.pool.backends[0]?.link, first.streams.length]).toEqual(['busy', 1]);
  await first.stopListening();
  first.kill();
  expect((await holder.done()).status).toBe(14);
  // What the holder's own end took.
  expect(proxy.app.throttle.state?.milliTokens).toBe(9000);
  while (proxy.app.pool.backends[0]?.link !== 'backoff') await c.ping();
  const tried = proxy.changes.length;
  for (let n = 0; n < 20; n += 1) await c.ping();
  // It is time alone that connects again.
  expect([waiting.end, proxy.changes.length]).toEqual([null, tried]);
  const back = await backend({ name: 'b', port, onStream: behave.ok('back') });
  time.advance(1000);
  expect((await waiting.done()).status).toBe(0);
  expect([waiting.trailer('hedgerow-retries'), back.streams.length]).toEqual(['0', 1]);
  expect(back.streams[0]?.header('grpc-previous-rpc-attempts')).toBeUndefined();
  expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
});

it('CON-15: a retry where there is one backend goes to the same one', async () => {
  const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
  b.script([behave.fail(14), behave.ok('again')]);
  const call = await c.call(method, { messages: ['hi'] }).done();
  expect([call.status, call.trailer('hedgerow-retries')]).toEqual([0, '1']);
  expect(new Set(b.streams.map(({ connection }) => connection)).size).toBe(1);
});

it('CON-24, BR-68: past its stream limit a backend gets further connections, then calls queue; none fails', async () => {
  const { backend: b, client: c } = await one({
    backend: { settings: [[3, 1]] },
    proxy: { flags: ['--backend-connections', '2'] },
  });
  b.behave(behave.silent);
  const calls = ['1', '2', '3', '4'].map((n) => c.call(method, { messages: [n] }));
  const [first, second] = [await b.waitForStream(1), await b.waitForStream(2)];
  await c.ping();
  expect([b.streams.length, b.connections.length]).toEqual([2, 2]);
  await first.answer(['a']);
  await (await b.waitForStream(3)).answer(['c']);
  await (await b.waitForStream(4)).answer(['d']);
  await second.answer(['b']);
  for (const call of calls) expect((await call.done()).status).toBe(0);
  expect(b.connections).toHaveLength(2);
});
