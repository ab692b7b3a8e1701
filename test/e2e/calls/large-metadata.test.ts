import { describe, expect, it } from 'vitest';
import type { Line } from '../../support/frames.js';
import { Setting } from '../../support/raw-connection.js';
import { behave } from '../../support/raw-peer.js';
import { method, one, retry } from '../../support/rig.js';

describe('Metadata that is too large', () => {
  const huge: Line[] = [['x-huge', 'h'.repeat(20_000)]];
  const policy = retry({ codes: ['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'INTERNAL', 'UNKNOWN'] });

  it('from a client: RESOURCE_EXHAUSTED headers_too_large, no backend contacted, the connection lives', async () => {
    const { client: c, backend: b } = await one({ proxy: { serviceConfig: policy } });
    const call = await c.call(method, { headers: huge }).done();
    expect(call.status).toBe(8);
    expect(call.trailersOnly).toBe(true);
    expect(call.trailer('hedgerow-stop-reason')).toBe('headers_too_large');
    expect(b.streams).toHaveLength(0);
    expect((await c.call(method).done()).status).toBe(0);
  });

  it('as request trailers: the same, though a backend has the request', async () => {
    const { client: c, backend: b } = await one({ proxy: { serviceConfig: policy } });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['m'], end: false });
    const stream = await b.nextStream();
    await stream.whenMessages(1);
    call.raw.sendBlock(huge, true);
    await call.done();
    expect(call.status).toBe(8);
    expect(call.trailersOnly).toBe(true);
    expect(call.end).toEqual({ kind: 'ended' });
    expect(call.trailer('hedgerow-stop-reason')).toBe('headers_too_large');
    expect(await stream.whenReset()).toBe(8);
    expect(b.streams).toHaveLength(1);
  });

  it.each([
    ['headers', (stream: Parameters<typeof behave.echo>[0]) => void stream.sendHeaders(huge)],
    ['Trailers-Only', (stream: Parameters<typeof behave.echo>[0]) => stream.trailersOnly(14, huge)],
    [
      'trailers',
      (stream: Parameters<typeof behave.echo>[0]) => {
        stream.sendHeaders();
        stream.trailers(0, huge);
      },
    ],
  ])('CON-13: %s from a backend: RESOURCE_EXHAUSTED headers_too_large, no retry', async (_, answer) => {
    const { client: c, backend: b, proxy } = await one({ proxy: { serviceConfig: policy } });
    b.script([answer, behave.ok()]);
    const call = await c.call(method).done();
    expect(call.status).toBe(8);
    expect(call.trailer('hedgerow-stop-reason')).toBe('headers_too_large');
    expect(call.trailer('hedgerow-retries')).toBe('0');
    // It is that backend's answer that the client is told of.
    expect(call.trailer('hedgerow-backend')).toBe(b.name);
    expect(await proxy.call(0)).toMatchObject({ reason: 'headers_too_large', origin: 'proxy' });
    expect((await c.call(method).done()).status).toBe(0);
    expect(b.streams).toHaveLength(2);
    expect(b.connections).toHaveLength(1);
  });

  it('CON-13: more than a backend accepts: RESOURCE_EXHAUSTED headers_too_large, no retry, nothing sent', async () => {
    const { client: c, backend: b } = await one({
      backend: { settings: [[Setting.maxHeaderListSize, 2000]] },
      proxy: { serviceConfig: policy },
    });
    const call = await c.call(method, { headers: [['x-big', 'b'.repeat(3000)]] }).done();
    expect(call.status).toBe(8);
    expect(call.trailer('hedgerow-stop-reason')).toBe('headers_too_large');
    expect(call.trailer('hedgerow-retries')).toBe('0');
    expect(b.streams).toHaveLength(0);
    expect((await c.call(method).done()).status).toBe(0);
    expect(b.connections).toHaveLength(1);
  });

  it.each([
    ['headers', (stream: Parameters<typeof behave.echo>[0]) => void stream.sendHeaders([['x-big', 'b'.repeat(3000)]])],
    [
      'Trailers-Only',
      (stream: Parameters<typeof behave.echo>[0]) => stream.trailersOnly(5, [['x-big', 'b'.repeat(3000)]]),
    ],
    [
      'trailers',
      (stream: Parameters<typeof behave.echo>[0]) => {
        stream.sendHeaders();
        stream.trailers(0, [['x-big', 'b'.repeat(3000)]]);
      },
    ],
  ])('%s larger than the client accepts become a status, not a reset', async (_, answer) => {
    const {
      client: c,
      backend: b,
      proxy,
    } = await one({ client: { settings: [[Setting.maxHeaderListSize, 1000]] }, proxy: { serviceConfig: policy } });
    b.script([answer, behave.ok()]);
    const call = await c.call(method).done();
    expect(call.end).toEqual({ kind: 'ended' });
    expect(call.status).toBe(8);
    expect(call.trailer('hedgerow-stop-reason')).toBe('headers_too_large');
    expect(await proxy.call(0)).toMatchObject({ code: 8, reason: 'headers_too_large', retries: 0 });
    expect((await c.call(method).done()).status).toBe(0);
  });
});
