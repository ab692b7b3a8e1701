import { describe, expect, it } from 'vitest';
import { account, throttled } from '../../support/policies.js';
import { behave, type RawCall } from '../../support/raw-peer.js';
import { line, path, retryConfig, retryFor, useScene, verdict } from '../../support/scene.js';

/*
 * The one token bucket of the process, as calls over the wire move it (A6, Throttling).
 */

const scene = useScene();
const { fail, ok, reset } = behave;
const unavailable = 14;

/** RP(4) with waits of 2 to 20 ms, and a bucket. */
const bucket = (maxTokens: number, ratio: number): object => ({
  ...retryConfig({ maxAttempts: 4 }),
  ...throttled([maxTokens, ratio]),
});

describe('the token bucket', () => {
  it('THR-04, THR-05, THR-06, SM-36: half of 5 is 2.5; each failure takes a whole token, each success gives the ratio', async () => {
    const { call, backend, proxy } = await scene.stage({ serviceConfig: bucket(5, 0.5) });
    const tokens = (): number => (proxy.app.throttle.state?.milliTokens ?? Number.NaN) / 1000;
    backend.behave(fail(unavailable));
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'throttled', retries: '2' });
    expect(tokens()).toBe(2);
    backend.behave(ok('fine'));
    for (let n = 0; n < 3; n += 1) await call();
    expect(tokens()).toBe(3.5);
    backend.behave(fail(unavailable));
    // 2.5 is not above half of 5: one that takes 5 / 2 for 2 would retry.
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'throttled', retries: '0' });
    expect(tokens()).toBe(2.5);
    for (let n = 0; n < 4; n += 1) await call();
    expect(tokens()).toBe(0);
    // THR-06: first attempts are sent all the same, and tokens do not fall under 0.
    expect(backend.streams).toHaveLength(3 + 3 + 1 + 4);
    backend.behave(ok('fine'));
    for (let n = 0; n < 12; n += 1) await call();
    expect(tokens()).toBe(5);
  });

  it('SM-33: the last attempt that maxAttempts permits takes its token all the same', async () => {
    const { call, proxy } = await scene.stage({
      serviceConfig: { ...retryConfig({ maxAttempts: 2 }), ...throttled([4, 1]) },
      onStream: fail(unavailable),
    });
    // The second failure takes the bucket to its half: both rows would stop the call, the earlier one names it.
    expect(verdict(await call())).toEqual({ status: unavailable, reason: 'attempts_exhausted', retries: '1' });
    expect(proxy.app.throttle.state?.milliTokens).toBe(2000);
  });

  it('THR-16: is one for all clients and methods', async () => {
    const policies = ['/t.S/M', '/t.S/Other'].map((method) => retryFor(method));
    const { client, proxy, backend } = await scene.stage({
      serviceConfig: { methodConfig: policies, ...throttled([2, 1]) },
      onStream: fail(unavailable),
    });
    const other = await scene.client(proxy);
    expect(verdict(await client.call('/t.S/Other', { messages: ['hi'] }).done()).reason).toBe('throttled');
    expect(verdict(await other.call(path, { messages: ['hi'] }).done())).toEqual({
      status: unavailable,
      reason: 'throttled',
      retries: '0',
    });
    expect(backend.streams).toHaveLength(2);
  });

  it('THR-09, THR-11, THR-12, PB-16: what takes a token and what takes none', async () => {
    const { call, backend, proxy } = await scene.stage({ serviceConfig: bucket(100, 1) });
    const cost = async (...script: Parameters<typeof backend.script>[0]): Promise<number> => {
      const before = proxy.app.throttle.state?.milliTokens ?? Number.NaN;
      backend.script(script);
      await call();
      return before - (proxy.app.throttle.state?.milliTokens ?? Number.NaN);
    };
    const never = line('grpc-retry-pushback-ms', '-1');
    expect(await cost(fail(5))).toBe(0);
    expect(await cost(fail(5, never))).toBe(1000);
    expect(await cost(fail(unavailable, never))).toBe(1000);
    expect(await cost(fail(unavailable, line('grpc-retry-pushback-ms', '0')), fail(5))).toBe(1000);
    // A refused one is repeated for nothing; the OK at the end gives one token back.
    expect(await cost(reset(7), ok('fine'))).toBe(-1000);
    expect(await cost(fail(unavailable), fail(unavailable), ok('fine'))).toBe(1000);
  });

  it('THR-14, THR-13: a call credits at its end, and one that fails after its headers debits', async () => {
    const { client, backend, proxy } = await scene.stage({ serviceConfig: bucket(10, 1) });
    const answering = async (end: number): Promise<RawCall> => {
      const call = client.call(path, { messages: ['hi'] });
      const stream = await backend.nextStream();
      stream.sendHeaders();
      await call.whenHeaders();
      expect(proxy.app.throttle.state?.milliTokens).toBe(end === 0 ? 9000 : 10_000);
      stream.trailers(end);
      return call.done();
    };
    backend.behave(() => {});
    expect(verdict(await answering(unavailable)).reason).toBe('committed');
    expect(proxy.app.throttle.state?.milliTokens).toBe(9000);
    await answering(0);
    expect(proxy.app.throttle.state?.milliTokens).toBe(10_000);
  });

  it('THR-15: a method without a policy credits, and debits only for a do-not-retry pushback', async () => {
    const { client, backend, proxy } = await scene.stage({ serviceConfig: bucket(10, 1) });
    const end = async (behaviour: ReturnType<typeof fail>): Promise<number> => {
      backend.behave(behaviour);
      await client.call('/other.S/M', { messages: ['hi'] }).done();
      return proxy.app.throttle.state?.milliTokens ?? Number.NaN;
    };
    expect(await end(fail(unavailable))).toBe(10_000);
    expect(await end(fail(unavailable, line('grpc-retry-pushback-ms', '-1')))).toBe(9000);
    expect(await end(ok('fine'))).toBe(10_000);
  });

  it('tells the client of a throttled call the backend’s own words, and that it was throttled', async () => {
    const { call } = await scene.stage({
      serviceConfig: bucket(2, 1),
      onStream: fail(unavailable, [['grpc-message', 'too%20busy']]),
    });
    const answer = await call();
    expect(answer.message).toBe('too%20busy');
    expect(account(answer)).toEqual({
      backend: 'b1',
      retries: '0',
      'stop-reason': 'throttled',
      origin: 'backend',
      processed: 'unknown',
    });
  });
});
