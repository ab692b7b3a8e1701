import { describe, expect, it } from 'vitest';
import { behave, type RawCall } from '../../support/raw-peer.js';
import { client, method, one, pattern, retry } from '../../support/rig.js';

const cancelled = 8;
const firstWindow = 65_535;

describe('A client that breaks a rule on its stream', () => {
  it('content-length: its attempt is reset, and the record blames the request, not a cancel', async () => {
    const { backend: b, client: c, proxy } = await one();
    b.behave(() => {});
    const call = c.call(method, { headers: [['content-length', '3']], messages: ['m'], end: false });
    const stream = await b.nextStream();
    expect(await stream.whenReset()).toBe(cancelled);
    expect(await call.whenReset()).toBe(1);
    expect(await proxy.call(0)).toMatchObject({ code: 13, reason: 'malformed_request', origin: 'proxy' });
  });
});

describe('A client that cancels', () => {
  it.each([false, true])(
    'CAN-07: while the first attempt runs: it is reset, no other follows (after headers: %s)',
    async (answered) => {
      const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry({ codes: ['CANCELLED'] }) } });
      b.behave((stream) => {
        if (answered) stream.sendHeaders();
      });
      const call = c.call(method, { messages: ['m'], end: false });
      const stream = await b.nextStream();
      if (answered) await call.whenHeaders();
      call.reset();
      expect(await stream.whenReset()).toBe(cancelled);
      expect(await proxy.call(0)).toMatchObject({ code: 1, reason: 'client_cancelled', retries: 0 });
      await c.ping();
      expect(b.streams).toHaveLength(1);
      // A reset is not answered.
      expect(call.end).toBeNull();
      expect(b.connections).toHaveLength(1);
      expect(b.connections[0]?.goaways).toEqual([]);
    },
  );

  it('CAN-08: after the second attempt began: that is reset, the first is over and hears nothing', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.failAfterRequest(14), behave.silent]);
    const call = c.call(method);
    const second = await b.waitForStream(2);
    call.reset();
    expect(await second.whenReset()).toBe(cancelled);
    await second.connection.ping();
    expect(b.streams[0]?.resetCode).toBeNull();
    expect(b.streams).toHaveLength(2);
  });

  it.each([false, true])('CAN-09: with writes waiting: all is let go (committed: %s)', async (committed) => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry(), flags: ['--per-call-buffer-limit', committed ? '100000' : '1MiB'] },
    });
    b.behave(behave.silent);
    const call = c.call(method, { messages: [pattern(90_000), pattern(90_000), pattern(90_000)], end: false });
    const stream = await b.nextStream();
    await stream.whenData(firstWindow);
    await c.ping();
    expect(proxy.app.ledger().replayBytes).toBeGreaterThan(0);
    if (committed) expect(proxy.app.ledger().relayBytes).toBeGreaterThan(0);
    call.reset();
    expect(await stream.whenReset()).toBe(cancelled);
    expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled', commit: committed ? 'buffer_call' : null });
    expect(proxy.app.ledger()).toMatchObject({ calls: 0, replayBytes: 0, relayBytes: 0, upstreamStreams: 0 });
  });

  it('CAN-09: with answers waiting that it did not read: all is let go', async () => {
    const { backend: b, client: c, proxy } = await one({ client: { windows: 'connection' } });
    b.behave((stream) => {
      stream.sendHeaders();
      void stream.sendData(pattern(200_000));
    });
    const call = c.call(method);
    await call.whenData(firstWindow);
    await b.connections[0]?.ping();
    expect(proxy.app.ledger().relayBytes).toBeGreaterThan(0);
    call.reset();
    expect(await b.streams[0]?.whenReset()).toBe(cancelled);
    expect(proxy.app.ledger()).toMatchObject({ calls: 0, relayBytes: 0, upstreamStreams: 0 });
  });

  it('CAN-11: at the very time a retry starts leaves no attempt behind', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry({ backoff: '0.001s' }) } });
    const calls = new Map<string, RawCall>();
    b.behave((stream) => {
      const name = stream.header('x-call') ?? '';
      const again = stream.header('grpc-previous-rpc-attempts') !== undefined;
      if (!again) stream.trailersOnly(14);
      // Half cancel as the first attempt fails, half as the second comes.
      if (again || Number(name) % 2 === 0) calls.get(name)?.reset();
    });
    for (let nth = 0; nth < 40; nth += 1) {
      calls.set(String(nth), c.call(method, { headers: [['x-call', String(nth)]] }));
      await proxy.call(nth);
    }
    expect(proxy.calls.map(({ reason }) => reason)).toEqual(Array.from({ length: 40 }, () => 'client_cancelled'));
    for (const stream of b.streams) {
      if (stream.header('grpc-previous-rpc-attempts') !== undefined) expect(await stream.whenReset()).toBe(cancelled);
    }
    expect(proxy.app.ledger()).toMatchObject({ calls: 0, upstreamStreams: 0 });
  });

  it.each([
    ['RST_STREAM', (call: RawCall) => call.reset()],
    ['the end of its connection', (call: RawCall) => call.raw.connection.kill()],
  ])('BR-58: by %s: the backend hears it at once', async (_, cancel) => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['m'] });
    const stream = await b.nextStream();
    await stream.whenEnded();
    const before = performance.now();
    cancel(call);
    expect(await stream.whenReset()).toBe(cancelled);
    expect(performance.now() - before).toBeLessThan(250);
  });
});

describe('A client’s connection that drops', () => {
  it('CAN-12: cancels its calls, whatever they were at: nothing of them is left, nor comes later', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry() },
    });
    b.behave((stream) => {
      switch (stream.header('x-state')) {
        case 'answering':
          stream.sendHeaders();
          void stream.sendData(pattern(2000));
          return;
        case 'backoff':
          stream.trailersOnly(14, [['grpc-retry-pushback-ms', '60000']]);
          return;
        default:
      }
    });
    const states = ['silent', 'answering', 'backoff', 'uploading'].flatMap((state) =>
      Array.from({ length: 5 }, () => state),
    );
    const calls = states.map((state) =>
      c.call(method, {
        headers: [
          ['x-state', state],
          ['grpc-timeout', '1H'],
        ],
        messages: [state === 'uploading' ? pattern(70_000) : 'm'],
        end: state !== 'uploading',
      }),
    );
    for (const [nth, state] of states.entries()) if (state === 'answering') await calls[nth]?.whenData(2000);
    await b.waitForStream(20);
    for (const stream of b.streams) if (stream.header('x-state') === 'uploading') await stream.whenData(firstWindow);
    await b.connections[0]?.ping();
    c.kill();
    await proxy.call(19);
    expect(proxy.calls.map(({ reason }) => reason)).toEqual(states.map(() => 'client_cancelled'));
    for (const stream of b.streams) {
      if (stream.header('x-state') === 'backoff') expect(stream.resetCode).toBeNull();
      else expect(await stream.whenReset()).toBe(cancelled);
    }
    expect(proxy.app.ledger()).toMatchObject({ calls: 0, clients: 0, replayBytes: 0, upstreamStreams: 0 });
  });

  it('CAN-12: stops a backoff: its time passes and no attempt comes', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry({ backoff: '0.2s' }) } });
    b.behave(behave.failAfterRequest(14));
    c.call(method, { headers: [['x-who', 'gone']] });
    const stream = await b.nextStream();
    await stream.whenEnded();
    await stream.connection.ping();
    c.kill();
    expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled' });
    const before = b.streams.length;
    // A later call's whole schedule, of the same backoffs, passes.
    const other = await client(proxy);
    expect((await other.call(method, { headers: [['x-who', 'later']] }).done()).status).toBe(14);
    expect(b.streams.slice(before).map((later) => later.header('x-who'))).toEqual(['later', 'later', 'later']);
  });
});
