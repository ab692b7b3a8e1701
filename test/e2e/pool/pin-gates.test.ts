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
  park,
  pin,
  resourceExhausted,
  several,
  unavailable,
} from './several.js';

/*
 * Pins and what stands in their way (D7–D10): fast, terminal, and never another backend. Loosened, the same calls go elsewhere.
 */

const scene = useScene();
const names = ['a', 'b'];
const entry = retryFor(path, { maxAttempts: 3, initial: 1, max: 1 });
const serviceConfig = { methodConfig: [entry], retryThrottling: { maxTokens: 10, tokenRatio: 1 } };

function expectRefused(call: RawCall, words: string | RegExp): void {
  expect(account(call)).toEqual({
    retries: '0',
    'stop-reason': 'pinned_backend_unavailable',
    origin: 'proxy',
    processed: 'no',
  });
  expect([call.status, call.trailer('grpc-retry-pushback-ms')]).toEqual([unavailable, undefined]);
  expect(decodeURIComponent(call.message ?? '')).toMatch(words);
}

describe('a strict pin to a backend', () => {
  it('PIN-44: that is parked fails at once, with the time that is left; loosened, the first attempt goes elsewhere', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    pool.time.advance(10_000);
    const tokens = pool.proxy.app.throttle.state?.milliTokens;
    const before = pool.streams();
    expectRefused(
      await pool.call([pin('a')]),
      /^hedgerow: the call is pinned to a, which is parked for another 20\.0 s$/,
    );
    expect(pool.streams()).toEqual(before);
    expect(pool.proxy.app.throttle.state?.milliTokens).toBe(tokens);
    const loose = await pool.call([pin('a'), allow]);
    expect([answerer(loose), account(loose)]).toEqual(['b', { backend: 'b', retries: '0' }]);
    // Nobody but those who say so: a call without a pin goes elsewhere too, at once.
    expect(answerer(await pool.call())).toBe('b');
  });

  it('PIN-44: that is parked, under waitForReady: parks are not waited for', async () => {
    const pool = await several(scene, names, { serviceConfig: { methodConfig: [{ ...entry, waitForReady: true }] } });
    await park(pool, 'a');
    expectRefused(await pool.call([pin('a'), deadline(60_000)]), /parked for another 30\.0 s$/);
  });

  it('PIN-45: whose park is over is tried, beside the probe of another call too', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    const { length } = pool.backend('a').streams;
    pool.time.advance(29_999);
    expectRefused(await pool.call([pin('a')]), /parked for another 0\.1 s$/);
    pool.time.advance(1);
    pool.backend('a').behave(behave.silent);
    const probe = pool.begin();
    const stream = await pool.backend('a').waitForStream(length + 1);
    const pinned = pool.begin([pin('a')]);
    const beside = await pool.backend('a').waitForStream(length + 2);
    // Control: what is not pinned leaves the probe alone.
    expect(answerer(await pool.call())).toBe('b');
    await beside.answer(['a']);
    expect(answerer(await pinned.done())).toBe('a');
    await stream.answer(['a']);
    expect(answerer(await probe.done())).toBe('a');
  });

  it('PIN-46: that is parked is tried where every backend is', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    expectRefused(await pool.call([pin('a')]), /parked/);
    await park(pool, 'b');
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
    // Its answer ended the park: b is refused again.
    expectRefused(await pool.call([pin('b')]), /pinned to b, which is parked/);
  });

  it('PIN-46: that is parked is tried where every other is parked or down', async () => {
    const pool = await several(scene, names, { serviceConfig });
    await park(pool, 'a');
    await cutOff(pool, 'b');
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
  });

  it('PIN-47: that is parked and alone in the pool is tried', async () => {
    const pool = await several(scene, ['a'], { serviceConfig });
    await park(pool, 'a');
    expect(pool.proxy.app.pool.backends).toHaveLength(1);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
    expect(answerer(await pool.call())).toBe('a');
  });

  it('PIN-48: that is parked, with --pin-on-parked try, is tried, and its end counts', async () => {
    const pool = await several(scene, names, { serviceConfig, flags: ['--pin-on-parked', 'try'] });
    await park(pool, 'a');
    pool.backend('a').behave(behave.fail(unavailable));
    expect(verdict(await pool.call([pin('a')]))).toEqual({ status: unavailable, reason: 'pinned', retries: '0' });
    expect(pool.backend('b').streams).toHaveLength(0);
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
    expect(pool.proxy.healthChanges.at(-1)).toMatchObject({ kind: 'released', id: 'a' });
    expect(answerer(await pool.call())).toMatch(/^[ab]$/);
  });

  it('PIN-49: that is parked by a rate limit is tried; a call without a pin is not sent there', async () => {
    const pool = await several(scene, names, { serviceConfig, flags: ['--health-rate-limit', 'on'] });
    pool.backend('a').behave(behave.fail(resourceExhausted, [['grpc-retry-pushback-ms', '20000']]));
    await pool.call([pin('a')]);
    expect(await pool.proxy.health(0)).toMatchObject({
      kind: 'parked',
      id: 'a',
      reason: 'rate_limited',
      parkMs: 20_000,
    });
    for (let n = 0; n < 4; n += 1) expect(answerer(await pool.call())).toBe('b');
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
  });

  it('PIN-50: that is draining fails at once; loosened, the first attempt goes elsewhere', async () => {
    const pool = await several(scene, names, { serviceConfig, onStream: behave.silent });
    const open = pool.begin([pin('a')]);
    const stream = await pool.backend('a').waitForStream(1);
    const a = pool.proxy.app.pool.backends.find(({ name }) => name === 'a');
    expect(a !== undefined && pool.proxy.app.pool.drain(a.id)).toBe(true);
    pool.backend('b').behave(answerName);
    expectRefused(await pool.call([pin('a')]), /^hedgerow: the call is pinned to a: /);
    expect(pool.streams()).toEqual([1, 0]);
    expect(account(await pool.call([pin('a'), allow]))).toEqual({ backend: 'b', retries: '0' });
    await stream.answer(['a']);
    expect(answerer(await open.done())).toBe('a');
  });

  it('PIN-51: that has its max-calls in flight is RESOURCE_EXHAUSTED; loosened, the first attempt goes elsewhere', async () => {
    const pool = await several(scene, names, { serviceConfig, target: ',max-calls=1', onStream: behave.silent });
    const open = pool.begin([pin('a')]);
    const stream = await pool.backend('a').waitForStream(1);
    pool.backend('b').behave(answerName);
    const tokens = pool.proxy.app.throttle.state?.milliTokens;
    const busy = await pool.call([pin('a')]);
    expect(verdict(busy)).toEqual({ status: resourceExhausted, reason: 'pinned_backend_busy', retries: '0' });
    expect(account(busy)).toMatchObject({ origin: 'proxy', processed: 'no' });
    expect(pool.proxy.app.throttle.state?.milliTokens).toBe(tokens);
    expect(pool.streams()).toEqual([1, 0]);
    expect(account(await pool.call([pin('a'), allow]))).toEqual({ backend: 'b', retries: '0' });
    await stream.answer(['a']);
    await open.done();
    pool.backend('a').behave(answerName);
    expect(answerer(await pool.call([pin('a')]))).toBe('a');
  });

  it('PIN-52: that is down, under waitForReady, waits for it, and for nobody else', async () => {
    const pool = await several(scene, names, { serviceConfig: { methodConfig: [{ ...entry, waitForReady: true }] } });
    const { port } = pool.backend('a');
    await cutOff(pool, 'a');
    const call = pool.begin([pin('a')]);
    const late = pool.begin([pin('a'), deadline(100)]);
    await pool.settled();
    pool.time.advance(100);
    expect(verdict(await late.done())).toMatchObject({ status: 4, reason: 'deadline_exceeded' });
    expect(call.end).toBeNull();
    const back = await scene.backend({ name: 'back', port, onStream: answerName });
    await connectAgain(pool, 'a');
    expect(answerer(await call.done())).toBe('back');
    expect([back.streams.length, pool.backend('b').streams.length]).toEqual([1, 0]);
    expect(account(call)).toEqual({ backend: 'a', retries: '0' });
  });

  it('PIN-53: whose failures park it ends the retries on itself that --pin-same-backend-retry permits', async () => {
    const pool = await several(scene, names, {
      serviceConfig: { methodConfig: [retryFor(path, { maxAttempts: 5, initial: 1, max: 1 })] },
      flags: ['--pin-same-backend-retry', 'on'],
      onStream: behave.fail(unavailable),
    });
    const call = pool.begin([pin('a')]);
    for (let n = 1; n <= 5 && call.end === null; n += 1) {
      await pool.settled();
      pool.time.advance(10);
    }
    await call.done();
    expect(verdict(call)).toEqual({ status: unavailable, reason: 'pinned', retries: '2' });
    expect(account(call)).toMatchObject({ backend: 'a', backends: 'a,a,a', origin: 'backend' });
    expect(pool.streams()).toEqual([3, 0]);
  });
});
