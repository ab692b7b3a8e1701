import { describe, expect, it } from 'vitest';
import { account, hedgeConfig } from '../../support/policies.js';
import { type Behaviour, behave } from '../../support/raw-peer.js';
import { line, path, retryConfig, useScene, verdict } from '../../support/scene.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/*
 * What the trailers tell of a call (contract, Metadata). `processed` is the one that a client acts on: a `no` that is wrong runs
 * a call twice.
 */

const scene = useScene();
const { fail, kill, ok, reset, silent } = behave;
const unavailable = 14;
const refused = 7;

/** Headers and a message, then whatever `end` does. */
function after(end: (stream: Parameters<Behaviour>[0]) => void): Behaviour {
  return async (stream) => {
    stream.sendHeaders();
    await stream.sendMessage('one');
    end(stream);
  };
}

describe('whose word it is', () => {
  it.each<[string, Behaviour, number]>([
    ['Trailers-Only', fail(5), 5],
    ['trailers', after((stream) => stream.trailers(5)), 5],
    ['a status that is out of range', fail(300), 300],
  ])('KEY-06, KEY-01, KEY-05, KEY-10: a status in %s is the backend’s', async (_name, onStream, status) => {
    const { call, proxy } = await scene.stage({ onStream });
    const answer = await call();
    expect(account(answer)).toEqual({
      backend: 'b1',
      retries: '0',
      'stop-reason': 'no_policy',
      origin: 'backend',
      processed: 'unknown',
    });
    expect(answer.status).toBe(status);
    expect(answer.trailer('hedgerow-call-id')).toBe((await proxy.call(0)).id);
  });

  it.each<[string, Behaviour]>([
    ['a reset', reset(2)],
    ['a loss', kill],
    ['an answer without a status', (stream) => stream.block([[':status', '200']], true)],
    ['a page of HTTP', (stream) => stream.block([[':status', '503']], true)],
    ['an answer without trailers', (stream) => void stream.sendHeaders().sendData(Buffer.alloc(0), true)],
  ])('KEY-07, KEY-09: what is made of %s is the proxy’s, and may have been processed', async (_name, onStream) => {
    const { call } = await scene.stage({ onStream });
    expect(account(await call())).toMatchObject({ backend: 'b1', origin: 'proxy', processed: 'unknown' });
  });

  it('KEY-07: a deadline is the proxy’s', async () => {
    const time = createVirtualTime();
    const { client, backend } = await scene.stage({ onStream: silent, time });
    const call = client.call(path, { messages: ['hi'], headers: line('grpc-timeout', '100m') });
    await backend.waitForStream(1);
    time.advance(100);
    expect(account(await call.done())).toEqual({
      retries: '0',
      'stop-reason': 'deadline_exceeded',
      origin: 'proxy',
      processed: 'unknown',
    });
  });

  it('KEY-05: an OK has no reason, no origin and no id', async () => {
    const { call } = await scene.stage({ onStream: ok('fine') });
    const answer = await call();
    expect(account(answer)).toEqual({ backend: 'b1', retries: '0' });
    expect(answer.trailer('hedgerow-call-id')).toBeUndefined();
  });

  it('KEY-11: --response-metadata off tells nothing of all this', async () => {
    const { call } = await scene.stage({ onStream: fail(5), flags: ['--response-metadata', 'off'] });
    const answer = await call();
    expect((answer.trailers ?? []).filter(([name]) => name.startsWith('hedgerow-'))).toEqual([]);
  });
});

describe('whether it was processed', () => {
  it('KEY-08, KEY-03, KEY-02: not where every attempt was refused', async () => {
    const { call } = await scene.stage({ serviceConfig: retryConfig({ maxAttempts: 2 }), onStream: reset(refused) });
    expect(account(await call())).toEqual({
      backend: 'b1',
      retries: '1',
      backends: 'b1,b1,b1',
      'stop-reason': 'attempts_exhausted',
      origin: 'proxy',
      processed: 'no',
    });
  });

  it('KEY-09: perhaps where one of several was not', async () => {
    const { call } = await scene.stage({
      serviceConfig: retryConfig({ maxAttempts: 2 }),
      script: [fail(unavailable), reset(refused), reset(refused)],
    });
    expect(account(await call())).toMatchObject({ backends: 'b1,b1,b1', processed: 'unknown' });
  });

  it.each<[string, (stream: Parameters<Behaviour>[0]) => void]>([
    ['a stream refused', (stream) => stream.reset(refused)],
    ['a GOAWAY below it', (stream) => stream.connection.goaway(0, 0)],
  ])('KEY-09: whatever the backend says once it has answered: %s', async (_name, end) => {
    const { call } = await scene.stage({ onStream: after(end) });
    const answer = await call();
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(account(answer)).toMatchObject({ 'stop-reason': 'no_policy', origin: 'proxy', processed: 'unknown' });
  });

  it('KEY-09: perhaps where it was cancelled by us', async () => {
    const time = createVirtualTime();
    const backend = await scene.backend({ name: 'a', onStream: silent });
    const proxy = await scene.proxy({
      backends: { a: backend.port },
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 0 }),
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'] });
    await backend.waitForStream(1);
    // Its hedge is fatal, and refused for good: the first, which ran, is cancelled.
    (await backend.waitForStream(2)).reset(refused);
    (await backend.waitForStream(3)).reset(refused);
    await client.ping();
    backend.streams[0]?.trailersOnly(13);
    expect(account(await call.done())).toMatchObject({ processed: 'unknown' });
  });
});

describe('hedges', () => {
  it('KEY-04: one that is sent again because nobody saw it is still told', async () => {
    const time = createVirtualTime();
    const backend = await scene.backend({ name: 'a', onStream: silent });
    const proxy = await scene.proxy({
      backends: { a: backend.port },
      serviceConfig: hedgeConfig({ maxAttempts: 2, delay: 50 }),
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'] });
    await backend.waitForStream(1);
    time.advance(50);
    (await backend.waitForStream(2)).reset(refused);
    await (await backend.waitForStream(3)).answer(['ok']);
    expect(account(await call.done())).toEqual({ backend: 'a', retries: '1', backends: 'a,a,a', hedged: 'true' });
  });

  it('CON-13: one whose request its backend cannot take is no reason to end the one that runs', async () => {
    const time = createVirtualTime();
    const roomy = await scene.backend({ name: 'a', onStream: silent });
    // SETTINGS_MAX_HEADER_LIST_SIZE
    const narrow = await scene.backend({ name: 'b', onStream: silent, settings: [[6, 100]] });
    const proxy = await scene.proxy({
      backends: { a: roomy.port, b: narrow.port },
      serviceConfig: hedgeConfig({ maxAttempts: 3, delay: 50 }),
      time,
    });
    const client = await scene.client(proxy);
    const call = client.call(path, { messages: ['hi'], headers: line('x-long', 'x'.repeat(200)) });
    const first = await roomy.waitForStream(1);
    time.advance(50);
    await client.ping();
    time.advance(500);
    await client.ping();
    expect(narrow.streams).toHaveLength(0);
    expect(roomy.streams).toHaveLength(1);
    first.trailersOnly(unavailable);
    await call.done();
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'headers_too_large', retries: '1' });
  });
});
