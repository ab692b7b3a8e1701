import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { frameMessage } from '../../support/grpc-lines.js';
import { behave } from '../../support/raw-peer.js';
import { client, method, one, pattern, retry, still } from '../../support/rig.js';

/** What a peer may send on a stream before it is given more (RFC 9113 6.9.2). */
const firstWindow = 65_535;
const message = 'a message';
const framed = frameMessage(message).length;

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describe('Replay', () => {
  it('BUF-01: sends all messages again, in order and byte for byte, and no half-close that has not come', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.behave(behave.silent);
    const sent = [pattern(10, 1), pattern(3000, 2), pattern(100, 3)];
    const call = c.call(method, { messages: sent, end: false });
    const first = await b.nextStream();
    await first.whenMessages(2);
    first.trailersOnly(14);
    const second = await b.nextStream();
    expect(await second.whenMessages(3)).toEqual(sent);
    expect(second.ended).toBe(false);
    await call.finish();
    await second.whenEnded();
    expect(second.data).toEqual(Buffer.concat(sent.map((bytes) => frameMessage(bytes))));
    await second.answer(['done']);
    expect((await call.done()).status).toBe(0);
    expect(call.messages.map(String)).toEqual(['done']);
  });

  it.each([0, 1, 3])('BUF-02: repeats the half-close after the last of %i messages', async (count) => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.failAfterRequest(14), behave.ok('done')]);
    const sent = Array.from({ length: count }, (_, i) => pattern(50 + i, i));
    const call = c.call(method, { messages: sent });
    expect((await call.done()).status).toBe(0);
    expect(b.streams).toHaveLength(2);
    expect(b.streams[1]?.messages).toEqual(sent);
    expect(b.streams[1]?.ended).toBe(true);
  });

  it('BUF-03: sends a message that came during the backoff once, after those sent again', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry({ backoff: '0.3s' }) } });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['one'], end: false });
    const first = await b.nextStream();
    await first.whenMessages(1);
    first.trailersOnly(14);
    await first.connection.ping();
    await call.sendMessage('two', true);
    await c.ping();
    expect(b.streams).toHaveLength(1);
    const second = await b.nextStream();
    await second.whenEnded();
    expect(second.messages.map(String)).toEqual(['one', 'two']);
    await second.answer([]);
    expect((await call.done()).status).toBe(0);
  });

  it('BUF-04: keeps the order of a message that comes while earlier ones are sent again', async () => {
    const { backend: b, client: c } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry() },
    });
    b.behave(behave.silent);
    const [early, late] = [pattern(100_000, 1), pattern(5000, 2)];
    const call = c.call(method, { messages: [early], end: false });
    const first = await b.nextStream();
    await first.whenData(firstWindow);
    first.trailersOnly(14);
    const second = await b.nextStream();
    await second.whenData(firstWindow);
    await call.sendMessage(late, true);
    await c.ping();
    expect(second.data).toHaveLength(firstWindow);
    second.raw.giveWindow(200_000);
    await second.whenEnded();
    expect(hash(second.data)).toBe(hash(Buffer.concat([frameMessage(early), frameMessage(late)])));
    await second.answer([]);
    expect((await call.done()).status).toBe(0);
  });

  it('BUF-13: commits on headers in the middle of the replay, frees as it sends on, and then sends what is new', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ backend: { windows: 'connection' }, proxy: { serviceConfig: retry() } });
    b.behave(behave.silent);
    const [early, late] = [pattern(120_000, 1), pattern(3000, 2)];
    const call = c.call(method, { messages: [early], end: false });
    const first = await b.nextStream();
    await first.whenData(firstWindow);
    first.trailersOnly(14);
    const second = await b.nextStream();
    await second.whenData(firstWindow);
    second.sendHeaders();
    await call.whenHeaders();
    await still(proxy, c, [b]);
    expect(proxy.app.ledger().replayBytes).toBe(120_005 - firstWindow);
    await call.sendMessage(late);
    second.raw.giveWindow(200_000);
    await second.whenMessages(2);
    await still(proxy, c, [b]);
    expect(proxy.app.ledger()).toMatchObject({ replayBytes: 0, relayBytes: 0 });
    await call.finish();
    await second.whenEnded();
    expect(hash(second.data)).toBe(hash(Buffer.concat([frameMessage(early), frameMessage(late)])));
    second.trailers(0);
    expect((await call.done()).status).toBe(0);
    expect(await proxy.call(0)).toMatchObject({ commit: 'headers', retries: 1, replayPeak: 120_005 });
  });

  it('BUF-14: begins anew for a third attempt when the second fails in the middle of its replay', async () => {
    const { backend: b, client: c } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry() },
    });
    b.behave(behave.silent);
    const sent = pattern(150_000, 7);
    const call = c.call(method, { messages: [sent] });
    for (let nth = 0; nth < 2; nth += 1) {
      const failing = await b.nextStream();
      await failing.whenData(firstWindow);
      failing.trailersOnly(14);
    }
    const third = await b.nextStream();
    third.raw.giveWindow(200_000);
    await third.whenEnded();
    expect(hash(third.data)).toBe(hash(frameMessage(sent)));
    await third.answer([]);
    expect((await call.done()).status).toBe(0);
    expect(call.trailer('hedgerow-retries')).toBe('2');
  });

  it.each([
    ['a status', (stream: Parameters<(typeof behave)['echo']>[0]) => stream.trailersOnly(14)],
    ['RST_STREAM REFUSED_STREAM', (stream: Parameters<(typeof behave)['echo']>[0]) => stream.reset(7)],
    ['a lost connection', (stream: Parameters<(typeof behave)['echo']>[0]) => stream.connection.kill()],
  ])('BUF-15: an attempt that ends by %s before it took all the data costs the client nothing', async (_, fail) => {
    const { backend: b, client: c } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry() },
    });
    b.behave(behave.silent);
    const sent = pattern(200_000, 3);
    const call = c.call(method, { messages: [sent], end: false });
    const first = await b.nextStream();
    await first.whenData(firstWindow);
    fail(first);
    const second = await b.nextStream();
    second.raw.giveWindow(300_000);
    await second.whenMessages(1);
    await call.finish();
    await second.whenEnded();
    expect(hash(second.data)).toBe(hash(frameMessage(sent)));
    await second.answer([]);
    await call.done();
    expect(call.end).toEqual({ kind: 'ended' });
    expect(call.status).toBe(0);
  });

  it('BUF-16: a client that cancels in the middle of the replay stops it', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ backend: { windows: 'connection' }, proxy: { serviceConfig: retry() } });
    b.behave(behave.silent);
    const call = c.call(method, { messages: [pattern(150_000)] });
    const first = await b.nextStream();
    await first.whenData(firstWindow);
    first.trailersOnly(14);
    const second = await b.nextStream();
    await second.whenData(firstWindow);
    call.reset();
    expect(await second.whenReset()).toBe(8);
    second.raw.giveWindow(200_000);
    await second.connection.ping();
    expect(second.data).toHaveLength(firstWindow);
    expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled', retries: 1 });
    expect(b.streams).toHaveLength(2);
  });

  it('BUF-18: sends compressed messages again bit for bit, with the same grpc-encoding', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.failAfterRequest(14), behave.echo]);
    const bytes = Buffer.concat([
      frameMessage(pattern(300), true),
      frameMessage('plain'),
      frameMessage(pattern(9), true),
    ]);
    const call = c.call(method, {
      headers: [
        ['grpc-encoding', 'gzip'],
        ['grpc-accept-encoding', 'identity,gzip'],
      ],
      end: false,
    });
    await call.sendData(bytes, true);
    expect((await call.done()).status).toBe(0);
    expect(call.data).toEqual(bytes);
    for (const stream of b.streams) {
      expect(stream.data).toEqual(bytes);
      expect(stream.header('grpc-encoding')).toBe('gzip');
      expect(stream.header('grpc-accept-encoding')).toBe('identity,gzip');
    }
  });

  it('BR-49: 100 KB in ten messages over a buffer of 64 KiB is never sent again in part', async () => {
    const { backend: b, client: c } = await one({
      proxy: { serviceConfig: retry({ attempts: 2 }), flags: ['--per-call-buffer-limit', '64KiB'] },
    });
    const sent = Array.from({ length: 10 }, (_, i) => pattern(10_240, i));
    const whole = hash(Buffer.concat(sent.map((bytes) => frameMessage(bytes))));
    b.script([behave.failAfterRequest(14)]);
    const late = await c.call(method, { messages: sent }).done();
    expect(late.status).toBe(14);
    expect(hash(b.streams[0]?.data ?? Buffer.alloc(0))).toBe(whole);

    // The same bytes, but the failure comes while all that was sent is still kept.
    b.behave(behave.silent);
    const call = c.call(method, { messages: sent.slice(0, 6), end: false });
    const first = await b.waitForStream(2);
    await first.whenMessages(6);
    first.trailersOnly(14);
    const second = await b.waitForStream(3);
    await second.whenMessages(6);
    for (const bytes of sent.slice(6)) await call.sendMessage(bytes);
    await call.finish();
    await second.whenEnded();
    expect(hash(second.data)).toBe(whole);
    await second.answer([]);
    expect((await call.done()).status).toBe(0);
  });
});

describe('The limit of one call', () => {
  const limit = ['--per-call-buffer-limit', '1000'];

  it('BUF-06: exactly as many bytes as the limit are kept and sent again', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry(), flags: limit } });
    b.script([behave.failAfterRequest(14), behave.ok()]);
    const call = await c.call(method, { messages: [pattern(995)] }).done();
    expect(call.status).toBe(0);
    expect(b.streams[1]?.messages).toEqual([pattern(995)]);
    expect(await proxy.call(0)).toMatchObject({ commit: 'headers', replayPeak: 1000, retries: 1 });
  });

  it('BUF-06, BUF-07: one byte more commits: the call goes on, a failure is final', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry(), flags: limit } });
    b.script([behave.ok('fine'), behave.failAfterRequest(14)]);
    const good = await c.call(method, { messages: [pattern(996)] }).done();
    expect(good.status).toBe(0);
    expect(good.messages.map(String)).toEqual(['fine']);
    expect(await proxy.call(0)).toMatchObject({ commit: 'buffer_call' });
    const bad = await c.call(method, { messages: [pattern(996)] }).done();
    expect(bad.status).toBe(14);
    expect(bad.trailer('hedgerow-stop-reason')).toBe('buffer_exceeded');
    expect(bad.trailer('hedgerow-retries')).toBe('0');
    expect(await proxy.call(1)).toMatchObject({ commit: 'buffer_call', reason: 'buffer_exceeded', retries: 0 });
    expect(b.streams).toHaveLength(2);
    expect(b.streams[1]?.messages).toEqual([pattern(996)]);
  });

  it('BUF-10: the limit is 256 KiB by default', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.failAfterRequest(14), behave.ok(), behave.failAfterRequest(14)]);
    const kept = await c.call(method, { messages: [pattern(262_139)] }).done();
    expect(kept.status).toBe(0);
    expect(hash(b.streams[1]?.data ?? Buffer.alloc(0))).toBe(hash(frameMessage(pattern(262_139))));
    const over = await c.call(method, { messages: [pattern(262_140)] }).done();
    expect(over.status).toBe(14);
    expect(await proxy.call(0)).toMatchObject({ retries: 1, replayPeak: 262_144 });
    expect(await proxy.call(1)).toMatchObject({ retries: 0, commit: 'buffer_call' });
  });

  it('BUF-11: messages count with their prefixes, metadata does not', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry(), flags: limit } });
    b.script([behave.failAfterRequest(14), behave.ok()]);
    const call = c.call(method, { headers: [['x-long', 'v'.repeat(5000)]], messages: ['abc', 'de', ''] });
    expect((await call.done()).status).toBe(0);
    expect(await proxy.call(0)).toMatchObject({ replayPeak: 3 * 5 + 5, retries: 1, commit: 'headers' });
  });

  it('BUF-23: empty messages count five bytes each', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { serviceConfig: retry(), flags: limit } });
    b.script([behave.failAfterRequest(14), behave.ok(), behave.failAfterRequest(14)]);
    const empty = Array.from({ length: 201 }, () => '');
    expect((await c.call(method, { messages: empty.slice(1) }).done()).status).toBe(0);
    expect(b.streams[1]?.messages).toHaveLength(200);
    expect((await c.call(method, { messages: empty }).done()).status).toBe(14);
    expect(await proxy.call(0)).toMatchObject({ replayPeak: 1000, retries: 1 });
    expect(await proxy.call(1)).toMatchObject({ replayPeak: 1000, retries: 0, commit: 'buffer_call' });
  });

  it('BUF-21: what does not fit waits, unkept, until the replay is through', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry(), flags: ['--per-call-buffer-limit', '100000'] },
    });
    b.behave(behave.silent);
    const [early, over] = [pattern(80_000, 1), pattern(50_000, 2)];
    const call = c.call(method, { messages: [early], end: false });
    const first = await b.nextStream();
    await first.whenData(firstWindow);
    first.trailersOnly(14);
    const second = await b.nextStream();
    await second.whenData(firstWindow);
    await call.sendMessage(over, true);
    await still(proxy, c, [b]);
    // By the byte (D25): 100 000 were kept, of which 65 535 have been passed on and freed; the rest waits uncounted.
    expect(proxy.app.ledger()).toMatchObject({ replayBytes: 100_000 - firstWindow, relayBytes: 30_010 });
    second.raw.giveWindow(200_000);
    await second.whenEnded();
    expect(hash(second.data)).toBe(hash(Buffer.concat([frameMessage(early), frameMessage(over)])));
    second.trailersOnly(14);
    expect((await call.done()).status).toBe(14);
    expect(await proxy.call(0)).toMatchObject({
      commit: 'buffer_call',
      reason: 'buffer_exceeded',
      replayPeak: 100_000,
      retries: 1,
    });
  });

  it('BUF-08, DIS-26, BR-47: an overflow in the backoff lets the next attempt run, committed', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      proxy: { serviceConfig: retry({ backoff: '0.3s' }), flags: ['--per-call-buffer-limit', '64KiB'] },
    });
    b.behave(behave.silent);
    const [early, late] = [pattern(40_960, 1), pattern(102_400, 2)];
    for (const code of [0, 14]) {
      const call = c.call(method, { messages: [early], end: false });
      const first = await b.nextStream();
      await first.whenMessages(1);
      first.trailersOnly(14);
      await first.connection.ping();
      await call.sendMessage(late, true);
      await still(proxy, c, [b]);
      // Still waiting; no more is kept than the limit.
      expect(b.streams.at(-1)).toBe(first);
      expect(proxy.app.ledger()).toMatchObject({ replayBytes: 65_536, relayBytes: 143_370 - 65_536 });
      const second = await b.nextStream();
      await second.whenEnded();
      expect(hash(second.data)).toBe(hash(Buffer.concat([frameMessage(early), frameMessage(late)])));
      second.trailersOnly(code);
      expect((await call.done()).status).toBe(code);
    }
    expect(await proxy.call(0)).toMatchObject({ commit: 'buffer_call', retries: 1, reason: 'ok' });
    expect(await proxy.call(1)).toMatchObject({ commit: 'buffer_call', retries: 1, reason: 'buffer_exceeded' });
    expect(b.streams).toHaveLength(4);
  });

  it('BR-51: tells that the buffer ended the retries', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ proxy: { serviceConfig: retry(), flags: ['--per-call-buffer-limit', '1MiB'] } });
    b.script([behave.failAfterRequest(14)]);
    const call = await c.call(method, { messages: Array.from({ length: 17 }, () => pattern(65_536)) }).done();
    expect(call.status).toBe(14);
    expect(call.trailer('hedgerow-stop-reason')).toBe('buffer_exceeded');
    expect(await proxy.call(0)).toMatchObject({ reason: 'buffer_exceeded', commit: 'buffer_call' });
  });
});

describe('The limits over calls', () => {
  it('BUF-09: the call that passes its client’s limit is committed; the others keep theirs, and room returns', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ proxy: { serviceConfig: retry(), flags: ['--client-buffer-limit', '1500'] } });
    b.behave(behave.silent);
    const kept = c.call(method, { messages: [pattern(795)], end: false });
    const keptFirst = await b.nextStream();
    await keptFirst.whenMessages(1);
    const tipping = c.call(method, { messages: [pattern(795)], end: false });
    const tippingFirst = await b.nextStream();
    await tippingFirst.whenMessages(1);
    await still(proxy, c, [b]);
    // What the committed call had kept is free again.
    expect(proxy.app.ledger().replayBytes).toBe(800);
    // Another client has a limit of its own.
    const other = await client(proxy);
    const apart = other.call(method, { messages: [pattern(1495)], end: false });
    const apartFirst = await b.nextStream();
    await apartFirst.whenMessages(1);
    const third = c.call(method, { messages: [pattern(695)], end: false });
    const thirdFirst = await b.nextStream();
    await thirdFirst.whenMessages(1);
    tippingFirst.trailersOnly(14);
    expect((await tipping.done()).status).toBe(14);
    expect(tipping.trailer('hedgerow-stop-reason')).toBe('buffer_exceeded');
    expect(await proxy.call(0)).toMatchObject({ commit: 'buffer_client', retries: 0 });
    for (const [call, first, size] of [
      [kept, keptFirst, 795],
      [apart, apartFirst, 1495],
      [third, thirdFirst, 695],
    ] as const) {
      first.trailersOnly(14);
      const again = await b.nextStream();
      expect(await again.whenMessages(1)).toEqual([pattern(size)]);
      again.trailersOnly(0);
      expect((await call.done()).status).toBe(0);
    }
  });

  it('BUF-09: over the limit for all it is the call that tips it, whichever client it comes from', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ proxy: { serviceConfig: retry(), flags: ['--buffer-limit', '1500'] } });
    const other = await client(proxy);
    b.behave(behave.silent);
    const kept = c.call(method, { messages: [pattern(795)], end: false });
    const keptFirst = await b.nextStream();
    await keptFirst.whenMessages(1);
    const tipping = other.call(method, { messages: [pattern(795)], end: false });
    const tippingFirst = await b.nextStream();
    await tippingFirst.whenMessages(1);
    tippingFirst.trailersOnly(14);
    expect((await tipping.done()).status).toBe(14);
    expect(await proxy.call(0)).toMatchObject({ commit: 'buffer_total', reason: 'buffer_exceeded' });
    keptFirst.trailersOnly(14);
    const again = await b.nextStream();
    expect(await again.whenMessages(1)).toEqual([pattern(795)]);
    again.trailersOnly(0);
    expect((await kept.done()).status).toBe(0);
  });

  it('BUF-09: without a policy a request passes the limits unharmed', async () => {
    const { backend: b, client: c, proxy } = await one({ proxy: { flags: ['--buffer-limit', '0'] } });
    b.behave(behave.echo);
    const call = await c.call(method, { messages: [message] }).done();
    expect(call.status).toBe(0);
    expect(call.messages.map(String)).toEqual([message]);
    expect(await proxy.call(0)).toMatchObject({ commit: 'buffer_total', replayPeak: 0 });
    expect(framed).toBe(call.data.length);
  });
});
