import { describe, expect, it } from 'vitest';
import { account, type HedgingOptions, hedgeConfig } from '../../support/policies.js';
import { behave, type RawBackend } from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { line, path, previousAttempts, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

/*
 * Hedging over the wire (A6, Hedging Policy). The proxy's time is the test's: it moves when the test moves it, and only then.
 */

const scene = useScene();
const { ok, silent } = behave;
const unavailable = 14;
const internal = 13;
const cancel = 8;

interface Stage {
  readonly time: VirtualTime;
  readonly backends: readonly RawBackend[];
  readonly client: Awaited<ReturnType<typeof scene.client>>;
  readonly proxy: Awaited<ReturnType<typeof scene.proxy>>;
  /** The backend behind the nth stream of all, from 1, where there is one backend. */
  stream(nth: number): Promise<RecordedStream>;
}

/** One backend, or several whose streams do nothing by themselves. */
async function stage(policy: HedgingOptions = {}, names: readonly string[] = ['a']): Promise<Stage> {
  const time = createVirtualTime();
  const backends: RawBackend[] = [];
  for (const name of names) backends.push(await scene.backend({ name, onStream: silent }));
  const proxy = await scene.proxy({
    backends: Object.fromEntries(backends.map(({ name, port }) => [name, port])),
    serviceConfig: hedgeConfig(policy),
    time,
  });
  const [first] = backends;
  if (first === undefined) throw new Error('a stage has a backend');
  return { time, backends, client: await scene.client(proxy), proxy, stream: (nth) => first.waitForStream(nth) };
}

describe('the schedule', () => {
  it('HDG-01, MD-04: attempts start hedgingDelay apart until maxAttempts are out, each told how many went before', async () => {
    const { client, time, backends, stream } = await stage({ maxAttempts: 3, delay: 200 });
    const call = client.call(path, { messages: ['hi'] });
    await stream(1);
    time.advance(199);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(1);
    time.advance(1);
    await stream(2);
    time.advance(200);
    const third = await stream(3);
    time.advance(10_000);
    await client.ping();
    await third.whenEnded();
    expect(backends.flatMap(previousAttempts)).toEqual(['-', '1', '2']);
    await third.answer(['late']);
    await call.done();
    expect(call.status).toBe(0);
  });

  it('HDG-02: without a delay all start at once', async () => {
    const { client, stream, backends } = await stage({ maxAttempts: 4, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const last = await stream(4);
    expect(backends.flatMap(previousAttempts)).toEqual(['-', '1', '2', '3']);
    await last.whenEnded();
    await last.answer(['fastest']);
    expect((await call.done()).messages.map(String)).toEqual(['fastest']);
    expect(account(call)).toEqual({ backend: 'a', retries: '3', backends: 'a,a,a,a', hedged: 'true' });
  });

  it('HDG-24: maxAttempts 10 makes 5', async () => {
    const { client, stream, backends } = await stage({ maxAttempts: 10, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const fifth = await stream(5);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(5);
    fifth.trailersOnly(0);
    await call.done();
  });

  it('HDG-03: an answer before the delay is over leaves it at one attempt, and says nothing of hedges', async () => {
    const { client, time, stream, proxy, backends } = await stage();
    const call = client.call(path, { messages: ['hi'] });
    await (await stream(1)).answer(['quick']);
    await call.done();
    time.runOut();
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(1);
    expect(account(call)).toEqual({ backend: 'a', retries: '0' });
    expect((await proxy.call(0)).attempts).toHaveLength(1);
  });

  it('HDG-25: hedges go to backends that the call has not asked, delay or none', async () => {
    for (const delay of [0, 50]) {
      const { client, time, backends } = await stage({ maxAttempts: 3, delay }, ['a', 'b', 'c']);
      const call = client.call(path, { messages: ['hi'] });
      await Promise.race(backends.map((backend) => backend.waitForStream(1)));
      time.advance(50);
      await client.ping();
      time.advance(50);
      const streams = await Promise.all(backends.map((backend) => backend.waitForStream(1)));
      expect(backends.map(({ streams: seen }) => seen.length)).toEqual([1, 1, 1]);
      streams[0]?.trailersOnly(0);
      await call.done();
    }
  });
});

describe('the winner', () => {
  it('HDG-20, CAN-14: its headers commit; the losers are reset CANCEL, and what they say after is lost', async () => {
    const { client, time, stream, proxy } = await stage({ maxAttempts: 3, delay: 50 });
    const call = client.call(path, { messages: ['hi'] });
    const first = await stream(1);
    time.advance(50);
    const second = await stream(2);
    time.advance(50);
    const third = await stream(3);
    second.sendHeaders(line('x-from', 'second'));
    expect(await Promise.all([first.whenReset(), third.whenReset()])).toEqual([cancel, cancel]);
    await second.sendMessage('one');
    second.trailers(0);
    await call.done();
    expect(call.header('x-from')).toBe('second');
    expect(call.messages.map(String)).toEqual(['one']);
    expect(account(call)).toEqual({ backend: 'a', retries: '2', backends: 'a,a,a', hedged: 'true' });
    const record = await proxy.call(0);
    expect(record.attempts.map(({ cause, result }) => [cause, result])).toEqual([
      ['first', 'cancelled'],
      ['hedge', 'ok'],
      ['hedge', 'cancelled'],
    ]);
    expect(record.commit).toBe('headers');
  });

  it('HDG-21: of two that answer at once one wins whole', async () => {
    const { client, stream } = await stage({ maxAttempts: 2, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const both = [await stream(1), await stream(2)];
    for (const [at, answering] of both.entries()) {
      answering.sendHeaders(line('x-from', String(at)));
      void answering.sendMessage(`from ${at}`);
      answering.trailers(0);
    }
    await call.done();
    expect(call.messages.map(String)).toEqual([`from ${call.header('x-from')}`]);
  });

  it('HDG-11: a Trailers-Only OK wins as well', async () => {
    const { client, stream } = await stage({ maxAttempts: 2, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const first = await stream(1);
    (await stream(2)).trailersOnly(0, line('x-from', 'second'));
    await call.done();
    expect(await first.whenReset()).toBe(cancel);
    expect([call.trailersOnly, call.status, call.trailer('x-from')]).toEqual([true, 0, 'second']);
  });

  it('HDG-05: once it has sent headers its end is final, listed or not', async () => {
    const { client, time, stream, backends } = await stage({ maxAttempts: 3, delay: 50 });
    const call = client.call(path, { messages: ['hi'] });
    (await stream(1)).sendHeaders();
    await call.whenHeaders();
    (await stream(1)).trailers(unavailable);
    await call.done();
    time.runOut();
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(1);
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'committed', retries: '0' });
  });

  it('HDG-10, HDG-09: of attempts that fail non-fatally one that answers late still wins; with none the last failure is told', async () => {
    const { client, stream } = await stage({ maxAttempts: 3, delay: 0 });
    const won = client.call(path, { messages: ['hi'] });
    const [first, second, third] = [await stream(1), await stream(2), await stream(3)];
    first.trailersOnly(unavailable);
    second.trailersOnly(unavailable);
    await client.ping();
    expect(won.end).toBe(null);
    await third.answer(['at last']);
    expect((await won.done()).status).toBe(0);

    const lost = client.call(path, { messages: ['hi'] });
    const others = [await stream(4), await stream(5), await stream(6)];
    for (const [at, other] of [others[1], others[2], others[0]].entries()) {
      other?.trailersOnly(unavailable, [['grpc-message', `failure ${at + 1}`]]);
      await other?.connection.ping();
    }
    await lost.done();
    expect(lost.message).toBe('failure 3');
    expect(account(lost)).toEqual({
      backend: 'a',
      retries: '2',
      backends: 'a,a,a',
      hedged: 'true',
      'stop-reason': 'attempts_exhausted',
      origin: 'backend',
      processed: 'unknown',
    });
  });

  it('names the backend that answered last, wherever its attempt stood in the order', async () => {
    const { client, time, backends } = await stage({ maxAttempts: 2, delay: 50 }, ['a', 'b']);
    const call = client.call(path, { messages: ['hi'] });
    const [a, b] = backends;
    const first = await a?.waitForStream(1);
    time.advance(50);
    await b?.waitForStream(1);
    await first?.answer(['slow, but first']);
    await call.done();
    expect(account(call)).toEqual({ backend: 'a', retries: '1', backends: 'b,a', hedged: 'true' });
  });
});

describe('failures', () => {
  it('HDG-06, DIS-02: a non-fatal one brings the next hedge forward to now, and the following ones a delay after that', async () => {
    const { client, time, stream, backends } = await stage({ maxAttempts: 3, delay: 100 });
    const call = client.call(path, { messages: ['hi'] });
    const first = await stream(1);
    time.advance(30);
    first.trailersOnly(unavailable);
    await stream(2);
    time.advance(99);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(2);
    time.advance(1);
    (await stream(3)).trailersOnly(0);
    expect((await call.done()).status).toBe(0);
  });

  it('HDG-07: a fatal one is told at once and ends the others', async () => {
    const { client, stream } = await stage({ maxAttempts: 3, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const [first, second, third] = [await stream(1), await stream(2), await stream(3)];
    second.trailersOnly(internal, [['grpc-message', 'fatal']]);
    await call.done();
    expect(await Promise.all([first.whenReset(), third.whenReset()])).toEqual([cancel, cancel]);
    expect(verdict(call)).toEqual({ status: internal, reason: 'fatal_status', retries: '2' });
    expect(call.message).toBe('fatal');
  });

  it('HDG-08: without non-fatal codes the first failure is final', async () => {
    const { client, time, stream, backends } = await stage({ codes: [] });
    const call = client.call(path, { messages: ['hi'] });
    (await stream(1)).trailersOnly(unavailable);
    await call.done();
    time.runOut();
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'fatal_status', retries: '0' });
    expect(backends[0]?.streams).toHaveLength(1);
  });

  it('HDG-19: a fatal status with a pushback is fatal', async () => {
    const { client, stream } = await stage({ maxAttempts: 2, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    await stream(1);
    (await stream(2)).trailersOnly(internal, line('grpc-retry-pushback-ms', '10'));
    expect(verdict(await call.done())).toEqual({ status: internal, reason: 'fatal_status', retries: '1' });
  });

  it('HDG-23: a refused hedge is repeated once, under its own number and uncounted', async () => {
    const { client, stream, backends } = await stage({ maxAttempts: 2, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    await stream(1);
    (await stream(2)).reset(7);
    const repeat = await stream(3);
    expect(backends.flatMap(previousAttempts)).toEqual(['-', '1', '1']);
    await repeat.answer(['ok']);
    await call.done();
    expect(account(call)).toEqual({ backend: 'a', retries: '1', backends: 'a,a,a', hedged: 'true' });
  });

  it('D19: a lost hedge brings the next one forward where UNAVAILABLE is non-fatal', async () => {
    const { client, backends } = await stage({ maxAttempts: 3, delay: 1000 }, ['a', 'b']);
    const call = client.call(path, { messages: ['hi'] });
    const [a, b] = backends;
    await a?.waitForStream(1);
    a?.kill();
    const second = await b?.waitForStream(1);
    await second?.answer(['ok']);
    await call.done();
    expect(account(call)).toEqual({ backend: 'b', retries: '1', backends: 'a,b', hedged: 'true' });
  });
});

describe('pushback', () => {
  it('HDG-16, DIS-03: of n ms replaces the schedule: the next hedge after exactly n, the following a delay later', async () => {
    const { client, time, stream, backends } = await stage({ maxAttempts: 3, delay: 100 });
    const call = client.call(path, { messages: ['hi'] });
    (await stream(1)).trailersOnly(unavailable, line('grpc-retry-pushback-ms', '300'));
    await client.ping();
    time.advance(299);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(1);
    time.advance(1);
    await stream(2);
    time.advance(99);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(2);
    time.advance(1);
    (await stream(3)).trailersOnly(0);
    await call.done();
  });

  it('HDG-17, DIS-04: "do not retry" stops new hedges and spares the running ones', async () => {
    const { client, time, stream, backends } = await stage({ maxAttempts: 3, delay: 100 });
    const call = client.call(path, { messages: ['hi'] });
    const first = await stream(1);
    time.advance(100);
    (await stream(2)).trailersOnly(unavailable, line('grpc-retry-pushback-ms', '-1'));
    await client.ping();
    time.advance(10_000);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(2);
    expect(call.end).toBe(null);
    await first.answer(['healthy']);
    expect((await call.done()).status).toBe(0);
  });

  it('HDG-18: and when the running one fails too, its status is told', async () => {
    const { client, stream } = await stage({ maxAttempts: 3, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const [first, second, third] = [await stream(1), await stream(2), await stream(3)];
    second.trailersOnly(unavailable, line('grpc-retry-pushback-ms', '-1'));
    third.trailersOnly(unavailable);
    await client.ping();
    first.trailersOnly(unavailable, [['grpc-message', 'the last']]);
    await call.done();
    expect(call.message).toBe('the last');
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'pushback', retries: '2' });
  });
});

describe('throttling', () => {
  it('THR-19, DIS-05: a shut bucket suppresses hedges; what is in flight goes on', async () => {
    // One failure takes 2 tokens to 1, which is half.
    const { client, time, stream, proxy, backends } = await stage({
      maxAttempts: 3,
      delay: 100,
      throttling: [2, 1],
    });
    const failing = client.call(path, { messages: ['hi'] });
    (await stream(1)).trailersOnly(unavailable);
    expect(verdict(await failing.done())).toEqual({ status: unavailable, reason: 'throttled', retries: '0' });
    expect(proxy.app.throttle.state?.milliTokens).toBe(1000);

    const slow = client.call(path, { messages: ['hi'] });
    const running = await stream(2);
    time.advance(10_000);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(2);
    await running.answer(['slow']);
    await slow.done();
    expect(account(slow)).toEqual({ backend: 'a', retries: '0' });
    expect(proxy.app.throttle.state?.milliTokens).toBe(2000);
  });

  it('THR-20: it is read when the hedge is due: another call that shuts it meanwhile counts', async () => {
    const { client, time, stream, backends } = await stage({ maxAttempts: 2, delay: 100, throttling: [2, 1] });
    const slow = client.call(path, { messages: ['hi'] });
    const running = await stream(1);
    time.advance(50);
    const failing = client.call(path, { messages: ['hi'] });
    (await stream(2)).trailersOnly(unavailable);
    await failing.done();
    time.advance(10_000);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(2);
    running.trailersOnly(unavailable);
    expect(verdict(await slow.done())).toEqual({ status: unavailable, reason: 'throttled', retries: '0' });
  });

  it('HDG-22: cancelled losers take no token', async () => {
    const { client, stream, proxy } = await stage({ maxAttempts: 3, delay: 0, throttling: [10, 1] });
    const call = client.call(path, { messages: ['hi'] });
    await Promise.all([stream(1), stream(2)]);
    await (await stream(3)).answer(['ok']);
    await call.done();
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
  });
});

describe('the end from outside', () => {
  it('HDG-14: a cancel resets every attempt, and no other begins', async () => {
    const { client, time, stream, proxy, backends } = await stage({ maxAttempts: 4, delay: 50 });
    const call = client.call(path, { messages: ['hi'] });
    const streams = [await stream(1)];
    for (const nth of [2, 3]) {
      time.advance(50);
      streams.push(await stream(nth));
    }
    call.reset();
    expect(await Promise.all(streams.map((each) => each.whenReset()))).toEqual([cancel, cancel, cancel]);
    time.advance(10_000);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(3);
    expect((await proxy.call(0)).reason).toBe('client_cancelled');
  });

  it('HDG-15: the deadline ends every attempt', async () => {
    const { client, time, stream } = await stage({ maxAttempts: 2, delay: 50 });
    const call = client.call(path, { messages: ['hi'], headers: line('grpc-timeout', '120m') });
    const first = await stream(1);
    time.advance(50);
    const second = await stream(2);
    time.advance(70);
    await call.done();
    expect(await Promise.all([first.whenReset(), second.whenReset()])).toEqual([cancel, cancel]);
    expect(verdict(call)).toEqual({ status: 4, reason: 'deadline_exceeded', retries: '1' });
    expect(first.header('grpc-timeout')).toBe('120000u');
    expect(second.header('grpc-timeout')).toBe('70000000n');
  });
});

describe('streams', () => {
  it('HDG-12, STR-09: each hedge gets all that the client sent and sends; after the commit only the winner', async () => {
    const { client, time, stream } = await stage({ maxAttempts: 2, delay: 50 });
    const call = client.call(path, { messages: ['one'], end: false });
    const first = await stream(1);
    await first.whenMessages(1);
    await call.sendMessage('two');
    await first.whenMessages(2);
    time.advance(50);
    const second = await stream(2);
    await call.sendMessage('three');
    for (const each of [first, second])
      expect((await each.whenMessages(3)).map(String)).toEqual(['one', 'two', 'three']);
    second.sendHeaders();
    await call.whenHeaders();
    expect(await first.whenReset()).toBe(cancel);
    await call.sendMessage('four', true);
    await second.whenEnded();
    expect(second.messages.map(String)).toEqual(['one', 'two', 'three', 'four']);
    expect(first.messages.map(String)).toEqual(['one', 'two', 'three']);
    second.trailers(0);
    await call.done();
  });

  it('STR-10: a hedged server stream is one backend’s, whole', async () => {
    const { client, stream } = await stage({ maxAttempts: 2, delay: 0 });
    const call = client.call(path, { messages: ['hi'] });
    const [first, second] = [await stream(1), await stream(2)];
    first.sendHeaders();
    await call.whenHeaders();
    expect(await second.whenReset()).toBe(cancel);
    for (const row of ['a', 'b', 'c']) await first.sendMessage(row);
    first.trailers(0);
    expect((await call.done()).messages.map(String)).toEqual(['a', 'b', 'c']);
  });

  it('HDG-13: one that reads nothing holds up no other', async () => {
    const time = createVirtualTime();
    const stuck = await scene.backend({ name: 'a', onStream: silent, settings: [[4, 0]] });
    const quick = await scene.backend({ name: 'b', onStream: ok('done') });
    const proxy = await scene.proxy({
      backends: { a: stuck.port, b: quick.port },
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: [Buffer.alloc(100_000, 1)] });
    await call.done();
    expect(account(call)).toMatchObject({ backend: 'b', hedged: 'true' });
    expect(stuck.streams[0]?.data).toHaveLength(0);
  });

  it('BUF-19, DIS-28: over the buffer limit the hedge that was sent most goes on alone', async () => {
    const time = createVirtualTime();
    const stuck = await scene.backend({ name: 'a', onStream: silent, settings: [[4, 0]] });
    const quick = await scene.backend({ name: 'b', onStream: ok('done') });
    const proxy = await scene.proxy({
      backends: { a: stuck.port, b: quick.port },
      serviceConfig: hedgeConfig({ maxAttempts: 3, delay: 50 }),
      flags: ['--per-call-buffer-limit', '1000'],
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['small'], end: false });
    const first = await stuck.waitForStream(1);
    time.advance(50);
    await (await quick.waitForStream(1)).whenMessages(1);
    const large = Buffer.alloc(5000, 2);
    await call.sendMessage(large, true);
    await call.done();
    expect(await first.whenReset()).toBe(cancel);
    time.runOut();
    expect(account(call)).toEqual({ backend: 'b', retries: '1', backends: 'a,b', hedged: 'true' });
    expect(quick.streams[0]?.messages.map(({ length }) => length)).toEqual([5, 5000]);
    expect((await proxy.call(0)).commit).toBe('buffer_call');
  });

  it('BUF-19: of attempts that were sent nothing one that has a place goes on, not one that waits for it', async () => {
    const time = createVirtualTime();
    // Its one stream is taken.
    const busy = await scene.backend({ name: 'a', onStream: silent, settings: [[3, 1]] });
    // It takes the stream, and no byte of it yet.
    const placed = await scene.backend({ name: 'b', onStream: silent, settings: [[4, 0]] });
    const proxy = await scene.proxy({
      backends: { a: busy.port, b: placed.port },
      flags: ['--backend-connections', '1', '--per-call-buffer-limit', '1000'],
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      time,
    });
    const client = await scene.client(proxy);
    const holder = client.call(path, { headers: [['hedgerow-pin', 'a']] });
    await busy.waitForStream(1);
    const headers = [
      ['hedgerow-pin', 'a'],
      ['hedgerow-allow-retry', 'true'],
    ] as const;
    const call = client.call(path, { headers, messages: [Buffer.alloc(5000)] });
    const stream = await placed.waitForStream(1);
    stream.connection.giveWindow(stream.id, 10_000);
    await stream.whenEnded();
    stream.trailersOnly(0);
    expect((await call.done()).status).toBe(0);
    busy.streams[0]?.trailersOnly(0);
    await holder.done();
    expect(busy.streams).toHaveLength(1);
  });

  it.each([
    ['before', true],
    ['after', false],
  ])(
    'BUF-20: a hedge that is due just %s the overflow leaves one attempt, with every byte',
    async (_name, dueFirst) => {
      const time = createVirtualTime();
      const backend = await scene.backend({ name: 'a', onStream: silent });
      const proxy = await scene.proxy({
        backends: { a: backend.port },
        serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 50 }),
        flags: ['--per-call-buffer-limit', '1000'],
        time,
      });
      const client = await scene.client(proxy);
      const call = client.call(path, { messages: ['small'], end: false });
      await (await backend.waitForStream(1)).whenMessages(1);
      const large = call.sendMessage(Buffer.alloc(5000, 2), true);
      // Nothing that was sent has been read yet in this turn.
      if (dueFirst) time.advance(50);
      await large;
      await client.ping();
      time.advance(50);
      await client.ping();
      const record = proxy.call(0);
      const [first, ...others] = backend.streams;
      expect(others.map(({ resetCode }) => resetCode)).toEqual(dueFirst ? [cancel] : []);
      await first?.whenEnded();
      expect(first?.messages.map(({ length }) => length)).toEqual([5, 5000]);
      first?.trailersOnly(0);
      expect((await call.done()).status).toBe(0);
      expect((await record).commit).toBe('buffer_call');
    },
  );

  it('CAN-01: a cancel between two hedges leaves no timer: none is sent when its time comes', async () => {
    const { client, time, stream, proxy, backends } = await stage({ maxAttempts: 3, delay: 50 });
    const call = client.call(path, { messages: ['hi'] });
    await stream(1);
    time.advance(20);
    call.reset();
    await proxy.call(0);
    time.advance(1000);
    await client.ping();
    expect(backends[0]?.streams).toHaveLength(1);
  });

  it('HDG-26: one that waits for a connection holds its place, and gives it up when another wins', async () => {
    const time = createVirtualTime();
    // It accepts, and never says a word of HTTP/2.
    const mute = await scene.backend({ name: 'a', onStream: silent, greet: false });
    const quick = await scene.backend({ name: 'b', onStream: silent });
    const proxy = await scene.proxy({
      backends: { a: mute.port, b: quick.port },
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 50 }),
      time,
      connected: false,
    });
    await quick.waitForConnection(1);
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'] });
    const stream = await quick.waitForStream(1);
    time.advance(50);
    await client.ping();
    await stream.answer(['ok']);
    await call.done();
    const record = await proxy.call(0);
    expect(record.attempts.map(({ backend, result }) => [backend, result])).toEqual([
      ['b', 'ok'],
      [null, 'cancelled'],
    ]);
    expect(account(call)).toEqual({ backend: 'b', retries: '1' });
  });
});

describe('without a usable backend', () => {
  it('SM-32: every hedge fails to find one, and the call ends no_backend', async () => {
    const { client, backends, proxy } = await stage({ maxAttempts: 3, delay: 1000 });
    const [a] = backends;
    await a?.stopListening();
    a?.kill();
    while (proxy.changes.at(-1)?.event !== 'connect_failed') await client.ping();
    const call = client.call(path, { messages: ['hi'] });
    await call.done();
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'no_backend', retries: '2' });
    expect(account(call)).toMatchObject({ origin: 'proxy', processed: 'no' });
  });
});
