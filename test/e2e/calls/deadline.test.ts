import { describe, expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import { client, method, one, retry } from '../../support/rig.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const fail = behave.failAfterRequest(14);

/** Milliseconds of a grpc-timeout; fails where it is not well formed (gRPC PROTOCOL-HTTP2). */
function readTimeout(value: string | undefined): number {
  expect(value).toMatch(/^[0-9]{1,8}[HMSmun]$/);
  const text = value ?? '';
  const unit = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[text.slice(-1)] ?? Number.NaN;
  return Number(text.slice(0, -1)) * unit;
}

/** Keeps this process from doing anything for so long: what is due meanwhile is found at one moment afterwards. */
function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('A deadline between two looks at the clock', () => {
  it.each(Array.from({ length: 12 }, (_, index) => index + 1))(
    'CAN-04: passed at look %i while a place came free: ends the call, as nothing out of the ordinary',
    async (look) => {
      const virtual = createVirtualTime(1000);
      let left = Number.POSITIVE_INFINITY;
      const clock = {
        now(): number {
          left -= 1;
          return left === Number.POSITIVE_INFINITY ? 1000 : left >= 0 ? 1099 : 1101;
        },
      };
      const {
        proxy: p,
        backend: b,
        client: c,
      } = await one({
        backend: { settings: [[3, 1]] },
        proxy: { time: { clock, alarms: virtual.alarms }, flags: ['--backend-connections', '1'] },
      });
      b.behave(() => {});
      const first = c.call(method);
      const stream = await b.waitForStream(1);
      const second = c.call(method, { headers: [['grpc-timeout', '100m']], messages: ['m'] });
      await c.ping();
      b.behave(behave.ok());
      left = look;
      stream.trailersOnly(0);
      await first.done();
      await c.ping();
      // Whatever the alarm would have found.
      virtual.advance(200);
      expect([0, 4]).toContain((await second.done()).status);
      // PRX-02: none is started with nothing left.
      const told = b.streams.flatMap((seen) => seen.headerValues('grpc-timeout')).map(readTimeout);
      expect(told.filter((left) => left <= 0)).toEqual([]);
      expect(p.defects).toEqual([]);
    },
  );
});

describe('grpc-timeout to backends', () => {
  it('CAN-03, BR-56: is what is left: it falls over the attempts by each backoff at least, and is never 0', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry({ attempts: 4, backoff: '0.02s' }) } });
    b.script([fail, fail, fail, behave.ok()]);
    expect((await c.call(method, { headers: [['grpc-timeout', '20S']] }).done()).status).toBe(0);
    const left = b.streams.map((stream) => readTimeout(stream.header('grpc-timeout')));
    expect(left[0]).toBeLessThanOrEqual(20_000);
    expect(left[0]).toBeGreaterThan(15_000);
    for (let nth = 1; nth < 4; nth += 1) expect(left[nth]).toBeLessThanOrEqual((left[nth - 1] ?? 0) - 19);
    expect(left[3]).toBeGreaterThan(10_000);
  });

  it('CAN-03, BR-56: is absent where the client sent none', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, behave.ok()]);
    await c.call(method).done();
    expect(b.streams.map((stream) => stream.header('grpc-timeout'))).toEqual([undefined, undefined]);
  });

  it.each(['99999999H', '99999999S', '99999999m', '36000000u', '59M'])(
    'CAN-03: of %s has at most 8 digits and is not more than the client gave',
    async (timeout) => {
      const { backend: b, client: c } = await one();
      await c.call(method, { headers: [['grpc-timeout', timeout]] }).done();
      const left = readTimeout(b.streams[0]?.header('grpc-timeout'));
      expect(left).toBeLessThanOrEqual(readTimeout(timeout));
      // An hour is the coarsest unit; a test takes no more than ten seconds.
      expect(left).toBeGreaterThanOrEqual(readTimeout(timeout) - 3_600_000);
      expect(left).toBeGreaterThan(0);
    },
  );
});

describe('The deadline', () => {
  it.each([false, true])(
    'CAN-04: ends a call in the middle of an attempt, which is reset; listed or not it is final (after headers: %s)',
    async (answered) => {
      const {
        backend: b,
        client: c,
        proxy,
      } = await one({
        proxy: { serviceConfig: retry({ codes: ['DEADLINE_EXCEEDED', 'CANCELLED'] }) },
      });
      b.behave((stream) => {
        if (answered) stream.sendHeaders();
      });
      // Far enough off for the attempt to have begun.
      const call = await c.call(method, { headers: [['grpc-timeout', '200m']] }).done();
      expect(call.status).toBe(4);
      expect(call.trailersOnly).toBe(!answered);
      expect(call.trailer('hedgerow-stop-reason')).toBe('deadline_exceeded');
      expect(call.trailer('hedgerow-retries')).toBe('0');
      expect(await b.streams[0]?.whenReset()).toBe(8);
      expect(b.streams).toHaveLength(1);
      expect(await proxy.call(0)).toMatchObject({ code: 4, reason: 'deadline_exceeded', origin: 'proxy' });
    },
  );

  it('CAN-05: a backend’s own DEADLINE_EXCEEDED, early and listed, is retried', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry({ codes: ['DEADLINE_EXCEEDED'] }) } });
    b.script([behave.failAfterRequest(4), behave.ok()]);
    const call = await c.call(method, { headers: [['grpc-timeout', '30S']] }).done();
    expect(call.status).toBe(0);
    expect(call.trailer('hedgerow-retries')).toBe('1');
  });

  it('CAN-06: CANCELLED that comes when the deadline has passed is told as DEADLINE_EXCEEDED', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry({ codes: ['CANCELLED'] }) } });
    b.behave((stream) => {
      // The proxy finds the answer and its own alarm due at the same time.
      stream.trailersOnly(1);
      hold(120);
    });
    const call = await c.call(method, { headers: [['grpc-timeout', '100m']] }).done();
    expect(call.status).toBe(4);
    expect(call.trailer('hedgerow-stop-reason')).toBe('deadline_exceeded');
    expect(await proxy.call(0)).toMatchObject({ code: 4, retries: 0 });
  });

  it('CAN-10: that has passed before a place came free starts no attempt', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { settings: [[3, 1]] },
      proxy: { serviceConfig: retry({ codes: ['DEADLINE_EXCEEDED'] }), flags: ['--backend-connections', '1'] },
    });
    b.behave(behave.silent);
    const holder = c.call(method);
    const stream = await b.nextStream();
    const late = await c.call(method, { headers: [['grpc-timeout', '50m']] }).done();
    expect(late.status).toBe(4);
    expect(late.trailer('hedgerow-stop-reason')).toBe('deadline_exceeded');
    expect(late.trailer('hedgerow-backend')).toBeUndefined();
    stream.trailersOnly(0);
    await holder.done();
    expect(b.streams).toHaveLength(1);
    expect((await proxy.call(0)).attempts.map(({ backend }) => backend)).toEqual([null]);
  });

  it('BR-55: runs from the request’s HEADERS, though the client never half-closes', async () => {
    const { backend: b, client: c, proxy } = await one();
    b.behave(behave.silent);
    const call = await c.call(method, { headers: [['grpc-timeout', '200m']], messages: ['m'], end: false }).done();
    expect(call.status).toBe(4);
    const { startedAt, endedAt } = await proxy.call(0);
    expect(endedAt - startedAt).toBeGreaterThanOrEqual(200);
    expect(endedAt - startedAt).toBeLessThan(1000);
    // The answer is whole; the client is told to stop sending (RFC 9113 8.1).
    expect(await call.whenReset()).toBe(0);
  });

  it.each([
    ['a backoff', '60s', []],
    ['a pushback', '0.005s', [['grpc-retry-pushback-ms', '60000']]],
  ] as const)(
    'CAN-15, BR-57: %s that would end past it ends the call now, with the real status',
    async (_, backoff, extra) => {
      const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry({ backoff }) } });
      b.script([behave.failAfterRequest(14, [['grpc-message', 'real'], ...extra])]);
      const call = await c.call(method, { headers: [['grpc-timeout', '10S']] }).done();
      expect(call.status).toBe(14);
      expect(call.message).toBe('real');
      expect(call.trailer('hedgerow-stop-reason')).toBe('backoff_beyond_deadline');
      const { startedAt, endedAt, retries } = await proxy.call(0);
      expect(retries).toBe(0);
      expect(endedAt - startedAt).toBeLessThan(5000);
    },
  );

  it('BR-57: a backoff that ends before it is waited for', async () => {
    const { backend: b, proxy } = await one({ proxy: { serviceConfig: retry({ backoff: '0.01s' }) } });
    const c = await client(proxy);
    b.script([fail, behave.ok()]);
    expect((await c.call(method, { headers: [['grpc-timeout', '10S']] }).done()).status).toBe(0);
  });
});
